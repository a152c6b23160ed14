"""Priority classes: what a job or pod is worth, and who schedules it."""

from typing import Any

import pytest

from tests.kinds.gangs import CLASSES, context_of, gang
from tests.objects.documents import Document, job, owner, pod, priority_class, template
from understudy.model.gangs import Gang
from understudy.objects.errors import BadObject


def with_template(*classes: Document, **spec: Any) -> Gang:
    return gang(job("train", template=template(**spec)), context=context_of(*(classes or CLASSES)))


@pytest.mark.parametrize(
    ("spec", "priority", "preempts"),
    [
        ({}, 0, True),
        ({"priorityClassName": "high"}, 1000, True),
        ({"priorityClassName": "meek"}, 50, False),
        ({"priorityClassName": "high", "preemptionPolicy": "Never"}, 1000, False),
        ({"priorityClassName": "high", "priority": 7}, 7, True),
        ({"priority": 7}, 7, True),
        ({"priority": 7, "priorityClassName": "was-deleted"}, 7, True),
        ({"priority": 7, "priorityClassName": "meek"}, 7, False),
        ({"priorityClassName": "system-cluster-critical"}, 2_000_000_000, True),
        ({"priorityClassName": "system-node-critical"}, 2_000_001_000, True),
    ],
)
def test_standing(spec: Document, priority: int, preempts: bool) -> None:
    found = with_template(**spec)
    assert (found.priority, found.preempts) == (priority, preempts)


def test_the_default_class_is_the_least_of_those_that_call_themselves_that() -> None:
    defaults = [priority_class(n, v, globalDefault=True, preemptionPolicy="Never") for n, v in (("a", 20), ("b", 10))]
    found = with_template(*defaults)
    assert (found.priority, found.preempts) == (10, False)
    assert with_template(*defaults, priority=0).priority == 0


def test_a_class_that_does_not_exist_is_named() -> None:
    with pytest.raises(BadObject) as caught:
        with_template(priorityClassName="hihg")
    assert str(caught.value) == (
        "Job default/train: spec.template.spec.priorityClassName: "
        "there is no PriorityClass 'hihg'; there are: high, low, meek"
    )


def train_pod(name: str, **spec: Any) -> Document:
    meta = {"labels": {"job-name": "train"}, "ownerReferences": owner("Job", "train")}
    return pod(name, "n", meta, **spec)


def test_a_gang_is_as_important_as_its_most_important_pod() -> None:
    pods = [train_pod("a", priority=5), train_pod("b", priority=70, preemptionPolicy="Never")]
    found = gang(job("train", parallelism=2, template=template(priorityClassName="high")), pods)
    assert (found.priority, found.preempts) == (70, False)


def test_who_schedules_it() -> None:
    context = context_of(scheduler_name="understudy")
    ours, theirs = template(schedulerName="understudy"), template()
    assert gang(job("train", template=ours), context=context).managed
    assert not gang(job("train", template=theirs), context=context).managed
    one = train_pod("a", schedulerName="understudy")
    assert gang(job("train", template=theirs), [one], context).managed
    assert gang(job("train", template=theirs, parallelism=2), [one], context).managed  # opted in when it was admitted
    assert not gang(job("train", template=ours, parallelism=2), [train_pod("a")], context).managed
    assert gang(job("train", template=theirs)).managed


def namespace(name: str, **labels: str) -> Document:
    labelled = {key.replace("_", "/"): value for key, value in labels.items()}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labelled}}


def test_in_a_namespace_that_is_opted_in_pods_that_are_still_to_come_will_be_ours() -> None:
    opted = context_of(namespace("default", **{"understudy.dev_schedule": "true"}), scheduler_name="understudy")
    plain, another = template(), template(schedulerName="volcano")
    assert gang(job("train", template=plain), context=opted).managed
    assert gang(job("train", template=plain, suspend=True), context=opted).managed
    assert not gang(job("train", template=another), context=opted).managed
    stays_out = {**template(), "metadata": {"labels": {"understudy.dev/schedule": "false"}}}
    assert not gang(job("train", template=stays_out), context=opted).managed
    one = train_pod("a", schedulerName="understudy")
    assert gang(job("train", template=plain, parallelism=2), [one], opted).managed
    # A pod that is there is whose it says it is: it was made before, or the policy let it pass.
    assert not gang(job("train", template=plain, parallelism=2), [one, train_pod("b")], opted).managed
    for labels in ({}, {"understudy.dev_schedule": "false"}):
        context = context_of(namespace("default", **labels), scheduler_name="understudy")
        assert not gang(job("train", template=plain), context=context).managed


@pytest.mark.parametrize(
    ("named", "notes", "managed"),
    [
        ("", {"requeued-at": "2026-01-01T00:00:00Z"}, True),
        ("", {"last-seats": "train-0=n"}, True),
        ("", {}, False),
        ("volcano", {"requeued-at": "2026-01-01T00:00:00Z"}, False),
        ("understudy", {}, True),
    ],
)
def test_whose_a_job_without_pods_is_where_a_policy_gives_pods_their_scheduler(
    named: str, notes: dict[str, str], managed: bool
) -> None:
    meta = {"annotations": {f"understudy.dev/{name}": value for name, value in notes.items()}}
    document = job("train", meta, template=template(schedulerName=named) if named else template(), suspend=bool(notes))
    assert gang(document, context=context_of(scheduler_name="understudy")).managed is managed


def test_a_pod_on_its_way_out_tells_whose_its_job_is() -> None:
    context = context_of(scheduler_name="understudy")
    going = train_pod("a", schedulerName="understudy")
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert gang(job("train"), [going], context).managed
