"""batch/v1 Jobs into gangs."""

from typing import Any

import pytest

from tests.kinds.gangs import gang, layout, made, names
from tests.objects.documents import MADE, MADE_AT, Document, job, owner, pod, template
from understudy.model.gangs import Gang, Suspension, Topology, TopologyMode


def job_pod(suffix: str, node: str = "", index: int | None = None, **fields: Any) -> Document:
    labels = {"batch.kubernetes.io/job-name": "train"}
    if index is not None:
        labels["batch.kubernetes.io/job-completion-index"] = str(index)
    name = f"train-{suffix}" if index is None else f"train-{index}-{suffix}"
    return pod(
        name, node, {"labels": labels, "ownerReferences": owner("Job", "train"), **fields.pop("meta", {})}, **fields
    )


def test_a_job_is_one_island() -> None:
    found = gang(job("train", parallelism=3, completions=3))
    assert (found.key, found.kind, found.namespace, found.name) == ("Job/default/train", "Job", "default", "train")
    assert layout(found) == {"train": ["train-0", "train-1", "train-2"]}
    assert found.queued_at == MADE_AT
    assert not any(member.exists or member.node for member in found.members())


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        ({}, {}, 1),
        ({"parallelism": 4}, {}, 4),
        ({"completions": 5}, {}, 1),
        ({"parallelism": 4, "completions": 2}, {}, 2),
        ({"parallelism": 4, "completions": 10}, {"succeeded": 8}, 2),
        ({"parallelism": 4, "completions": 10}, {"succeeded": 3}, 4),
    ],
)
def test_how_many_pods_a_job_wants(spec: Document, status: Document, expected: int) -> None:
    assert gang(job("train", status=status, **spec)).size == expected


@pytest.mark.parametrize(
    ("spec", "status"),
    [
        ({"parallelism": 0}, {}),
        ({"parallelism": 2, "completions": 2}, {"succeeded": 2}),
        ({"parallelism": 2}, {"succeeded": 1}),
        ({}, {"conditions": [{"type": "Complete", "status": "True"}]}),
        ({}, {"conditions": [{"type": "Failed", "status": "True"}]}),
    ],
)
def test_jobs_that_want_nothing(spec: Document, status: Document) -> None:
    assert made(job("train", status=status, **spec)) is None


def test_indexes_that_succeeded_are_not_wanted_again() -> None:
    spec: Document = {"parallelism": 3, "completions": 8, "completionMode": "Indexed"}
    found = gang(job("train", status={"succeeded": 4, "completedIndexes": "0,2-4"}, **spec))
    assert names(found) == ["train-1", "train-5", "train-6"]


def test_members_carry_the_labels_they_will_have() -> None:
    found = gang(job("train", completions=1, completionMode="Indexed", template=template(labels={"app": "x"})))
    (member,) = found.members()
    assert member.labels == {
        "app": "x",
        "job-name": "train",
        "batch.kubernetes.io/job-name": "train",
        "batch.kubernetes.io/job-completion-index": "0",
    }


def seats(found: Gang) -> dict[str, str]:
    return {member.name: member.node for member in found.members()}


def test_pods_take_the_places_of_their_indexes() -> None:
    spec: Document = {"parallelism": 3, "completions": 3, "completionMode": "Indexed"}
    found = gang(job("train", **spec), [job_pod("zz", "n2", 2), job_pod("aa", "n0", 0)])
    assert seats(found) == {"train-0-aa": "n0", "train-1": "", "train-2-zz": "n2"}
    assert names(found) == ["train-0-aa", "train-1", "train-2-zz"]


def test_pods_without_an_index_take_any_place() -> None:
    found = gang(job("train", parallelism=3), [job_pod("b", "n1"), job_pod("a")])
    assert seats(found) == {"train-b": "n1", "train-a": "", "train-2": ""}
    assert [member.exists for member in found.members()] == [True, True, False]


def test_more_pods_than_wanted_all_count() -> None:
    found = gang(job("train", parallelism=1), [job_pod("a", "n1"), job_pod("b", "n2")])
    assert seats(found) == {"train-a": "n1", "train-b": "n2"}


def test_an_unexpected_pod_leaves_one_pod_less_to_create() -> None:
    spec: Document = {"parallelism": 2, "completions": 9, "completionMode": "Indexed"}
    assert seats(gang(job("train", **spec), [job_pod("a", "n", 7)])) == {"train-0": "", "train-7-a": "n"}


def test_succeeded_pods_leave_their_places() -> None:
    done = {"phase": "Succeeded"}
    indexed: Document = {"parallelism": 2, "completions": 2, "completionMode": "Indexed"}
    assert names(gang(job("train", **indexed), [job_pod("a", "n", 0, status=done)])) == ["train-1"]
    assert names(gang(job("train", parallelism=3, completions=3), [job_pod("a", "n", status=done)])) == [
        "train-0",
        "train-1",
    ]
    counted = job("train", status={"succeeded": 1}, parallelism=3, completions=3)
    assert names(gang(counted, [job_pod("a", "n", status=done)])) == ["train-0", "train-1"]


def test_failed_pods_free_their_places_and_are_remembered() -> None:
    spec: Document = {"parallelism": 1, "completions": 1, "completionMode": "Indexed"}
    (member,) = gang(job("train", **spec), [job_pod("a", "n", 0, status={"phase": "Failed"})]).members()
    assert (member.node, member.last_node, member.exists) == ("", "n", False)


LEAVING: Document = {"deletionTimestamp": "2026-01-01T01:00:00Z"}


def test_pods_that_are_deleted_are_leaving() -> None:
    spec: Document = {"parallelism": 1, "completions": 1, "completionMode": "Indexed"}
    found = gang(job("train", **spec), [job_pod("a", "n", 0, meta=LEAVING)])
    assert [(member.name, member.node) for member in found.leaving] == [("train-0-a", "n")]
    (member,) = found.members()
    assert (member.name, member.node, member.last_node, member.exists) == ("train-0", "", "n", False)
    again = gang(job("train", **spec), [job_pod("a", "n", 0, meta=LEAVING), job_pod("b", "", 0)])
    (member,) = again.members()
    assert (member.name, member.last_node, member.exists) == ("train-0-b", "n", True)


def test_a_deleted_pod_without_a_seat_is_gone() -> None:
    assert gang(job("train"), [job_pod("a", meta=LEAVING)]).leaving == ()


def test_a_finished_job_is_what_is_left_of_it() -> None:
    over = job("train", status={"conditions": [{"type": "Failed", "status": "True"}]}, parallelism=2)
    assert names(gang(over, [job_pod("a", "n")])) == ["train-a"]
    assert made(over, [job_pod("a", "n", status={"phase": "Failed"})]) is None


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [({}, Suspension.BY_OWNER), ({"understudy.dev/requeued-at": "2026-01-02T00:00:00Z"}, Suspension.REQUEUED)],
)
def test_suspended_jobs(annotations: Document, expected: Suspension) -> None:
    assert gang(job("train", {"annotations": annotations}, suspend=True)).suspension is expected
    assert gang(job("train", {"annotations": annotations})).suspension is Suspension.NONE


def test_when_it_started_and_what_is_nominated_and_gated() -> None:
    pods = [
        job_pod("a", "n", status={"startTime": "2026-01-01T00:10:00Z"}),
        job_pod("b", "n", status={"startTime": "2026-01-01T00:05:00Z"}),
        job_pod("c", status={"nominatedNodeName": "m"}),
        job_pod("d", schedulingGates=[{"name": "quota"}]),
    ]
    found = gang(job("train", parallelism=4), pods)
    assert found.started_at == MADE_AT + 300
    assert found.holds == (("train-c", "m"),)
    assert found.gates == ("quota",)


def test_gates_of_the_template_count_while_it_is_used() -> None:
    gated = template(schedulingGates=[{"name": "quota"}])
    assert gang(job("train", template=gated)).gates == ("quota",)
    assert gang(job("train", template=gated), [job_pod("a", "n")]).gates == ()


@pytest.mark.parametrize("annotations", [{}, {"understudy.dev/requeued-at": MADE}])
def test_pods_of_a_suspended_job_are_on_their_way_out(annotations: Document) -> None:
    pods = [job_pod("x", "n0", 0), job_pod("x", "", 1)]
    counts: Document = {"completions": 2, "parallelism": 2, "completionMode": "Indexed"}
    found = gang(job("train", {"annotations": annotations}, suspend=True, **counts), pods)
    assert [(m.name, m.node, m.exists) for m in found.members()] == [("train-0", "", False), ("train-1", "", False)]
    assert [(m.name, m.node) for m in found.leaving] == [("train-0-x", "n0")]
    assert [m.last_node for m in found.members()] == ["n0", ""]


@pytest.mark.parametrize("condition", ["FailureTarget", "SuccessCriteriaMet"])
def test_a_job_that_is_about_to_end_wants_no_more_pods(condition: str) -> None:
    ending = {"conditions": [{"type": condition, "status": "True"}]}
    assert made(job("train", {}, ending)) is None


def test_seats_written_down_for_pods_without_a_number_are_shared_out_among_them() -> None:
    notes = {"understudy.dev/holds": "train-gone=n1,train-x=n2", "understudy.dev/last-seats": "train-gone=n3"}
    pods = [pod(f"train-{end}", "", {"labels": {"job-name": "train"}}) for end in ("x", "y")]
    found = gang(job("train", {"annotations": notes}, parallelism=2, completions=2), pods)
    assert found.holds == (("train-x", "n2"), ("train-y", "n1"))
    assert [m.last_node for m in found.members()] == ["n3", ""]


def test_the_island_of_pods_on_their_way_out_is_known_when_the_job_has_ended() -> None:
    notes = {"understudy.dev/exclusive-topology": "rack"}
    leaving = pod("train-x", "n", {"labels": {"job-name": "train"}, "deletionTimestamp": MADE})
    failed = {"conditions": [{"type": "Failed", "status": "True"}]}
    found = gang(job("train", {"annotations": notes}, failed), [leaving])
    (island,) = found.islands
    assert (island.members, island.topology) == ((), Topology("rack", TopologyMode.EXCLUSIVE))
