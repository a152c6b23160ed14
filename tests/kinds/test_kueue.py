"""Beside Kueue: its suspend is left alone, and its topology annotations are read."""

import pytest

from tests.kinds.gangs import gang, layout
from tests.objects.documents import Document, job, jobset, jobset_pod, pod, replicated_job, template, training_job
from understudy.kinds import kueue
from understudy.kinds.decoding import decode
from understudy.kinds.job_control import suspend_patch
from understudy.kinds.registry import control_of
from understudy.model.gangs import Suspension, Topology, TopologyMode
from understudy.objects.jobs import Job
from understudy.objects.meta import ObjectMeta

QUEUED = {"labels": {"kueue.x-k8s.io/queue-name": "team-a"}}
REQUEUED = {"understudy.dev/requeued-at": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("meta", "owned"),
    [
        (ObjectMeta(labels={"kueue.x-k8s.io/queue-name": "q"}), True),
        (ObjectMeta(annotations={"kueue.x-k8s.io/queue-name": "q"}), True),
        (ObjectMeta(labels={"kueue.x-k8s.io/prebuilt-workload-name": "w"}), True),
        (ObjectMeta(labels={"kueue.x-k8s.io/managed": "true"}), True),
        (ObjectMeta(labels={"kueue.x-k8s.io/managed": "false"}), False),
        (ObjectMeta(labels={"kueue.x-k8s.io/priority-class": "high"}), False),
        (ObjectMeta(), False),
    ],
)
def test_whose_suspend_it_is(meta: ObjectMeta, owned: bool) -> None:
    assert kueue.manages_suspend(meta) is owned


def test_a_suspended_job_of_kueue_is_suspended_by_its_owner_whatever_is_written_on_it() -> None:
    both = {**QUEUED, "annotations": REQUEUED}
    assert gang(job("train", both, suspend=True)).suspension is Suspension.BY_OWNER
    assert gang(job("train", {"annotations": REQUEUED}, suspend=True)).suspension is Suspension.REQUEUED


def test_a_job_of_kueue_cannot_be_paused_nor_let_go_on() -> None:
    queued, own = decode(job("train", QUEUED)), decode(job("train"))
    assert isinstance(queued, Job)
    assert isinstance(own, Job)
    assert suspend_patch(control_of(queued), True) == suspend_patch(control_of(queued), False) == {}
    assert suspend_patch(control_of(own), True) == {"spec": {"suspend": True}}
    assert control_of(queued).end == control_of(own).end


def annotated(**notes: str) -> Document:
    found = template({"cpu": "1"})
    found["metadata"]["annotations"] = {f"kueue.x-k8s.io/podset-{k.replace('_', '-')}": v for k, v in notes.items()}
    return found


@pytest.mark.parametrize(
    ("notes", "topology"),
    [
        ({"required_topology": "rack"}, Topology("rack", TopologyMode.REQUIRED)),
        ({"preferred_topology": "rack"}, Topology("rack", TopologyMode.PREFERRED)),
        ({"slice_required_topology": "rack", "slice_size": "2"}, Topology("rack", TopologyMode.REQUIRED)),
        ({"unconstrained_topology": "true"}, None),
        ({}, None),
    ],
)
def test_where_kueue_wants_the_pods_of_a_template(notes: dict[str, str], topology: Topology | None) -> None:
    found = gang(job("train", parallelism=2, template=annotated(**notes)))
    assert [island.topology for island in found.islands] == [topology]


def test_our_own_annotation_goes_first() -> None:
    meta = {"annotations": {"understudy.dev/preferred-topology": "block"}}
    found = gang(job("train", meta, template=annotated(required_topology="rack")))
    assert found.islands[0].topology == Topology("block", TopologyMode.PREFERRED)


def test_what_is_required_of_a_template_binds_all_islands_made_from_it() -> None:
    parts = [replicated_job(name, 2, 2) for name in ("driver", "worker")]
    parts[1]["template"]["spec"]["template"] = annotated(required_topology="rack")
    found = gang(jobset("js", *parts), [jobset_pod("js", "worker", 1, 0, "n")])
    assert {name: len(members) for name, members in layout(found).items()} == {
        "js-driver-0": 2,
        "js-driver-1": 2,
        "js-worker-0": 4,
    }
    assert found.islands[2].topology == Topology("rack", TopologyMode.REQUIRED)
    assert [m.node for m in found.members() if m.exists] == ["n"]


def test_slices_of_a_template_are_its_islands() -> None:
    part = replicated_job("worker", 2, 2)
    part["template"]["spec"]["template"] = annotated(slice_required_topology="rack", slice_size="2")
    found = gang(jobset("js", part))
    assert {name: len(members) for name, members in layout(found).items()} == {"js-worker-0": 2, "js-worker-1": 2}
    assert {island.topology for island in found.islands} == {Topology("rack", TopologyMode.REQUIRED)}


def test_roles_of_a_training_job_are_bound_each_by_its_own_template() -> None:
    torch = training_job("PyTorchJob", "pytorchReplicaSpecs", {"Master": 1, "Worker": 2})
    torch["spec"]["pytorchReplicaSpecs"]["Worker"]["template"] = annotated(required_topology="rack")
    labels = {"training.kubeflow.org/job-name": "train", "training.kubeflow.org/operator-name": "pytorchjob-controller"}
    found = gang(torch, [pod("train-worker-1", "n", {"labels": labels})])
    assert layout(found) == {"train": ["train-master-0"], "train-worker-0": ["train-worker-0", "train-worker-1"]}
    assert [island.topology for island in found.islands] == [None, Topology("rack", TopologyMode.REQUIRED)]
