"""`understudy why` after a drain: where the pods of the job went."""

import pytest

from tests.cli.queries.documents import NOW, event, job, pod, summary
from understudy.cli.queries.objects import EventInfo, PodInfo
from understudy.cli.views.evictions import DRAINED, EVICTED, drain_message
from understudy.cli.views.reasons import reason_sentences

BY_API = "Evicted from node node-0 by the Eviction API"


def drained(name: str, node: str = "node-0", age: float = 4) -> EventInfo:
    return event(f"Pod/{name}", DRAINED, drain_message(node), age=age)


def told(kind: str, pods: list[PodInfo], events: list[EventInfo]) -> list[str]:
    said = reason_sentences(summary(job(kind), *pods), events, NOW)
    return [words for words in said if "drained" in words or "evicted" in words]


def test_after_a_drain_each_pod_is_told_with_its_new_node() -> None:
    pods = [pod("train-master-0", node="node-1"), pod("train-worker-0", "Pending", node="")]
    events = [drained("train-master-0"), drained("train-worker-0")]
    assert told("PyTorchJob", pods, events) == [
        "node-0 was drained 4s ago: train-master-0 moved to node-1; train-worker-0 has no seat yet."
    ]


def test_a_pod_that_comes_back_under_another_name_is_found() -> None:
    pods = [pod("train-klmno", node="node-1")]
    assert told("Job", pods, [drained("train-abcde")]) == [
        "node-0 was drained 4s ago: train-abcde moved to node-1 as train-klmno."
    ]


def test_a_pod_that_nothing_replaced_had_to_leave() -> None:
    assert told("Job", [], [drained("train-abcde")]) == ["node-0 was drained 4s ago: train-abcde had to leave."]


def test_a_pod_that_still_leaves_is_not_its_own_successor() -> None:
    leaving = pod("train-master-0", node="node-0", leaving=True)
    assert told("PyTorchJob", [leaving], [drained("train-master-0")]) == [
        "node-0 was drained 4s ago: train-master-0 had to leave."
    ]


@pytest.mark.parametrize("both", [False, True])
def test_an_eviction_without_the_drain_verb_is_told_as_one(both: bool) -> None:
    events = [event("Pod/train-master-0", EVICTED, BY_API, age=4)]
    events += [drained("train-master-0")] if both else []
    beginning = "node-0 was drained 4s ago" if both else "Its pods were evicted from node-0 4s ago"
    said = told("PyTorchJob", [pod("train-master-0", node="node-1")], events)
    assert said == [f"{beginning}: train-master-0 moved to node-1."]


def test_only_the_last_drain_is_told() -> None:
    events = [drained("train-master-0", "node-9", age=500), drained("train-master-0", age=4)]
    assert told("PyTorchJob", [pod("train-master-0", node="node-1")], events) == [
        "node-0 was drained 4s ago: train-master-0 moved to node-1."
    ]


def test_of_many_pods_a_few_are_named() -> None:
    names = [f"train-worker-{number}" for number in range(5)]
    said = told("PyTorchJob", [pod(name, node="node-1") for name in names], [drained(name) for name in names])
    assert said[0].endswith("train-worker-2 moved to node-1; 2 more of its pods had to leave.")


def test_what_a_kubelet_evicted_is_no_drain() -> None:
    low = event("Pod/train-master-0", EVICTED, "The node was low on resource: memory.")
    assert told("PyTorchJob", [pod("train-master-0")], [low]) == []
