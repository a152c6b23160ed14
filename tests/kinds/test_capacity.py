"""On which kind of capacity members may sit: from annotations of jobs, templates and pods, and from the settings."""

import pytest

from tests.kinds.gangs import CLASSES, context_of, gang
from tests.objects.documents import (
    MADE_AT,
    Document,
    job,
    jobset,
    owner,
    pod,
    pod_spec,
    replicated_job,
    training_job,
)
from understudy.decide.policy import CapacityRule, Policy
from understudy.kinds.context import Context
from understudy.kinds.decoding import decode
from understudy.kinds.gangs.lone_pod import gang_of_one, lone_gang
from understudy.kinds.ownership import owner_of
from understudy.model.gangs import Gang
from understudy.model.nodes import CapacityPolicy
from understudy.objects.errors import BadObject
from understudy.objects.pods import Pod

CAPACITY = "understudy.dev/capacity"


def annotated(**notes: str) -> Document:
    return {"annotations": {f"understudy.dev/{name.replace('_', '-')}": text for name, text in notes.items()}}


def capacities(found: Gang) -> dict[str, str]:
    return {m.name: str(m.shape.capacity) for m in found.members()}


def pytorch(meta: Document, launcher: str = "", workers: int = 2) -> Document:
    document = training_job("PyTorchJob", "pytorchReplicaSpecs", {"Master": 1, "Worker": workers}, meta)
    if launcher:
        template = document["spec"]["pytorchReplicaSpecs"]["Master"]["template"]
        template["metadata"] = {**template["metadata"], "annotations": {CAPACITY: launcher}}
    return document


@pytest.mark.parametrize("capacity", list(CapacityPolicy))
def test_the_annotation_of_a_job_holds_for_all_its_members(capacity: CapacityPolicy) -> None:
    assert set(capacities(gang(job("j", annotated(capacity=capacity), parallelism=3))).values()) == {capacity}


def test_members_of_a_job_that_says_nothing_may_sit_anywhere() -> None:
    assert set(capacities(gang(job("j", parallelism=2))).values()) == {"any"}


def test_the_template_goes_before_the_job() -> None:
    found = gang(pytorch(annotated(capacity="spot"), launcher="on-demand"))
    assert capacities(found) == {"train-master-0": "on-demand", "train-worker-0": "spot", "train-worker-1": "spot"}


def test_a_replicated_job_has_a_template_of_its_own() -> None:
    driver = replicated_job("driver", 1, 1)
    driver["template"]["spec"]["template"]["metadata"]["annotations"] = {CAPACITY: "on-demand"}
    found = gang(jobset("js", driver, replicated_job("w", 1, 2), meta=annotated(capacity="prefer-spot")))
    assert list(capacities(found).values()) == ["on-demand", "prefer-spot", "prefer-spot"]


def test_a_pod_says_what_holds_for_it() -> None:
    labels = {"batch.kubernetes.io/job-name": "j", "batch.kubernetes.io/job-completion-index": "0"}
    meta = {"labels": labels, "ownerReferences": owner("Job", "j"), "annotations": {CAPACITY: "on-demand"}}
    document = job("j", annotated(capacity="spot"), parallelism=2, completionMode="Indexed", completions=2)
    assert capacities(gang(document, [pod("j-0-x", meta=meta)])) == {"j-0-x": "on-demand", "j-1": "spot"}


def test_pods_of_one_template_share_a_shape() -> None:
    one, other, *_ = gang(job("j", annotated(capacity="spot"), parallelism=3)).members()
    assert one.shape is other.shape


def test_critical_members_stay_off_spot() -> None:
    found = gang(pytorch(annotated(capacity="spot", critical_members="2")))
    assert capacities(found) == {"train-master-0": "on-demand", "train-worker-0": "on-demand", "train-worker-1": "spot"}


@pytest.mark.parametrize(("text", "expected"), [("0", 0), ("3", 3), ("50%", 2), ("100%", 5), ("0%", 0)])
def test_the_number_of_members_on_spot(text: str, expected: int) -> None:
    assert gang(job("j", annotated(max_spot_members=text), parallelism=5)).max_spot_members == expected


def test_rules_of_the_whole_gang() -> None:
    found = gang(job("j", annotated(capacity_mix="one-kind", preemption_delay="1h5m10s")))
    assert (found.one_capacity_kind, found.preemption_delay) == (True, 3910.0)
    plain = gang(job("j", annotated(capacity_mix="allow", preemption_delay="0")))
    assert (plain.one_capacity_kind, plain.preemption_delay, plain.max_spot_members) == (False, 0.0, None)
    assert gang(job("j")).preemption_delay is None


@pytest.mark.parametrize(
    ("note", "text", "problem"),
    [
        ("capacity", "cheap", "'cheap' is no kind of capacity; write spot, on-demand, any or prefer-spot"),
        ("capacity", "", "'' is no kind of capacity; write spot, on-demand, any or prefer-spot"),
        ("capacity-mix", "both", "'both' is neither allow nor one-kind"),
        ("max-spot-members", "-1", "'-1' is not a number of members; write 0 or more, or a share such as 50%"),
        ("max-spot-members", "101%", "'101%' is not a number of members; write 0 or more, or a share such as 50%"),
        ("max-spot-members", "", "'' is not a number of members; write 0 or more, or a share such as 50%"),
        ("critical-members", "first", "'first' is not a number of members; write 1 or more"),
        ("preemption-delay", "5", "'5' is not a length of time; write it like 90s, 5m or 1h30m"),
        ("preemption-delay", "soon", "'soon' is not a length of time; write it like 90s, 5m or 1h30m"),
    ],
)
def test_values_that_make_no_sense(note: str, text: str, problem: str) -> None:
    with pytest.raises(BadObject) as caught:
        gang(job("j", {"annotations": {f"understudy.dev/{note}": text}}))
    assert str(caught.value) == f"Job default/j: metadata.annotations[understudy.dev/{note}]: {problem}"


def test_a_mistake_in_a_template_or_a_pod_is_named_there() -> None:
    with pytest.raises(
        BadObject, match=r"PyTorchJob default/train: spec\..*Master.*metadata\.annotations\[.*capacity\]"
    ):
        gang(pytorch({}, launcher="never"))
    meta = {"ownerReferences": owner("Job", "j"), "annotations": {CAPACITY: "never"}}
    meta["labels"] = {"batch.kubernetes.io/job-name": "j"}
    with pytest.raises(BadObject, match=r"Pod default/j-x: metadata\.annotations"):
        gang(job("j"), [pod("j-x", meta=meta)])


# The default of a priority

RULES = Policy(
    capacity_by_priority=(CapacityRule(0, CapacityPolicy.SPOT), CapacityRule(100, CapacityPolicy.PREFER_SPOT))
)


def context() -> Context:
    made = context_of(*CLASSES)
    made.default_capacity = RULES.default_capacity
    return made


@pytest.mark.parametrize(
    ("priority", "expected"), [(-1, "spot"), (0, "prefer-spot"), (99, "prefer-spot"), (100, "any")]
)
def test_the_first_rule_that_matches_the_priority_decides(priority: int, expected: str) -> None:
    template = {"metadata": {}, "spec": pod_spec(priority=priority)}
    assert set(capacities(gang(job("j", template=template), context=context())).values()) == {expected}
    document = pod("p", priority=priority)
    assert capacities(alone(document, context())) == {"p": expected}


def test_what_a_job_says_goes_before_the_default_of_its_priority() -> None:
    assert set(capacities(gang(job("j", annotated(capacity="any")), context=context())).values()) == {"any"}
    assert capacities(alone(pod("p", meta=annotated(capacity="on-demand")), context())) == {"p": "on-demand"}


def alone(document: Document, around: Context) -> Gang:
    found = decode(document)
    assert isinstance(found, Pod)
    made = lone_gang(found, owner_of(found), around)
    assert made is not None
    return made


def test_a_job_of_one_pod_reads_the_annotation_of_its_pod() -> None:
    found = decode(pod("j-x", meta={"annotations": {CAPACITY: "spot"}}))
    assert isinstance(found, Pod)
    assert capacities(gang_of_one(found, owner_of(found), 0.0, context_of())) == {"j-x": "spot"}


# Since when a gang waits


def test_a_gang_waits_since_it_was_queued_or_lost_its_place() -> None:
    assert gang(job("j")).unseated_since == MADE_AT
    lost = gang(job("j", annotated(displaced_at="2026-01-01T01:00:00Z", queued_at="2026-01-01T00:30:00Z")))
    assert lost.unseated_since == MADE_AT + 3600
    victim = gang(job("j", annotated(requeued_at="2026-01-01T02:00:00Z", displaced_at="2026-01-01T01:00:00Z")))
    assert victim.unseated_since == MADE_AT + 7200


def test_a_running_gang_waits_since_its_new_pod_was_created() -> None:
    labels = {"batch.kubernetes.io/job-name": "j"}

    def made(name: str, node: str, at: str) -> Document:
        meta = {"labels": labels, "ownerReferences": owner("Job", "j"), "creationTimestamp": at}
        return pod(name, node, meta)

    old, new = made("j-a", "n", "2026-01-01T00:00:00Z"), made("j-b", "", "2026-01-01T03:00:00Z")
    notes = annotated(preemption_delay="5m")
    assert gang(job("j", notes, parallelism=2), [old, new]).unseated_since == MADE_AT + 10_800
    assert gang(job("j", notes, parallelism=1), [old]).unseated_since == 0.0
