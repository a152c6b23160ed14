"""The understudy.dev annotations, on any kind of job."""

from pathlib import Path

import pytest

from tests.kinds.gangs import gang
from tests.objects.documents import MADE_AT, Document, job, owner, pod
from understudy.kinds import annotations
from understudy.model.gangs import Gang, OnPreemption, Topology, TopologyMode
from understudy.objects.errors import BadObject

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "annotations.md"


def noted(pods: list[Document] | None = None, parallelism: int = 4, **notes: str) -> Gang:
    annotations = {f"understudy.dev/{name.replace('_', '-')}": text for name, text in notes.items()}
    return gang(job("train", {"annotations": annotations}, parallelism=parallelism), pods or [])


@pytest.mark.parametrize("mode", list(TopologyMode))
def test_topologies(mode: TopologyMode) -> None:
    note: Document = {f"{mode}_topology": "rack"}
    (island,) = noted(**note).islands
    assert island.topology == Topology("rack", mode)


def test_what_annotations_say() -> None:
    found = noted(
        min_members="2",
        on_preemption="fail",
        last_checkpoint="2026-01-01T01:00:00+01:00",
        queued_at="2025-12-31T23:00:00Z",
        preempted_for="2026-01-01T00:00:02Z, 2026-01-01T00:00:01.5Z",
        failed_at="2026-01-01T00:00:00Z",
    )
    assert found.min_members == 2
    assert found.on_preemption is OnPreemption.FAIL
    assert found.checkpoint_at == MADE_AT
    assert found.queued_at == MADE_AT - 3600
    assert found.preempted_for_it == (MADE_AT + 1.5, MADE_AT + 2)
    assert found.failures == (MADE_AT,)


def test_defaults() -> None:
    found = noted()
    assert (found.min_members, found.on_preemption, found.checkpoint_at) == (None, OnPreemption.REQUEUE, None)
    assert (found.preempted_for_it, found.failures, found.holds, found.islands[0].topology) == ((), (), (), None)


def train_pod(index: int, suffix: str, node: str = "") -> Document:
    labels = {"batch.kubernetes.io/job-name": "train", "batch.kubernetes.io/job-completion-index": str(index)}
    return pod(f"train-{index}-{suffix}", node, {"labels": labels, "ownerReferences": owner("Job", "train")})


def test_holds_are_found_by_place_by_pod_and_by_earlier_pod() -> None:
    pods = [train_pod(0, "new"), train_pod(1, "new"), train_pod(3, "new", "n3")]
    found = noted(pods, holds="train-0-new=a, train-1-old=b,train-2=c,train-3-new=d,stranger=e")
    assert found.holds == (("train-0-new", "a"), ("train-1-new", "b"), ("train-2", "c"), ("train-3-new", "d"))


def test_last_seats_are_remembered_for_members_without_one() -> None:
    found = noted([train_pod(0, "new"), train_pod(1, "new", "here")], 2, last_seats="train-0=a,train-1=b")
    assert [member.last_node for member in found.members()] == ["a", ""]


@pytest.mark.parametrize(
    ("note", "text", "problem"),
    [
        ("on_preemption", "retry", "'retry' is neither requeue nor fail"),
        ("last_checkpoint", "noon", "'noon' is not a time"),
        ("last_checkpoint", "2026-01-01", "'2026-01-01' is not a time"),
        ("preempted_for", "2026-01-01T00:00:00Z,x", "'x' is not a time"),
        ("failed_at", "x", "'x' is not a time"),
        ("queued_at", "x", "'x' is not a time"),
        ("min_members", "0", "'0' is not a number of members"),
        ("min_members", "all", "'all' is not a number of members"),
        ("min_members", "", "'' is not a number of members"),
        ("holds", "a", "'a' is not of the form member=node"),
        ("last_seats", "a=", "'a=' is not of the form member=node"),
        ("exclusive_topology", "", "is empty; name a node label"),
    ],
)
def test_annotations_that_make_no_sense(note: str, text: str, problem: str) -> None:
    written: Document = {note: text}
    with pytest.raises(BadObject) as caught:
        noted(**written)
    field = f"metadata.annotations[understudy.dev/{note.replace('_', '-')}]"
    assert str(caught.value).startswith(f"Job default/train: {field}: {problem}")


def test_two_topologies_are_one_too_many() -> None:
    with pytest.raises(BadObject, match="keep one of them"):
        noted(exclusive_topology="rack", preferred_topology="zone")


def test_the_reference_describes_every_annotation() -> None:
    constants = {value for name, value in vars(annotations).items() if name.isupper() and isinstance(value, str)}
    text = REFERENCE.read_text()
    missing = {name for name in constants - {annotations.PREFIX} if f"`{name}`" not in text and f"`{name}=" not in text}
    assert not missing


@pytest.mark.parametrize(
    ("text", "by"), [("2026-01-31T12:00:00Z", 1769860800.0), ("soon", 0.0), ("", 0.0), (None, None)]
)
def test_a_request_to_save_that_is_no_time_counts_as_one_long_ago(text: str | None, by: float | None) -> None:
    given = {} if text is None else {annotations.CHECKPOINT_BY: text}
    assert annotations.checkpoint_request(given) == by
