"""How a job of each kind stands, and the patch by which its owner pauses it or lets it go on."""

from typing import Any

import pytest

from tests.objects.documents import pod_spec
from understudy.cli.complaint import BadInput
from understudy.cli.finding import Found
from understudy.cli.pausing import Stand, all_run, resumption, stand_of, suspension
from understudy.kinds.annotations import HOLDS, REQUEUED_AT
from understudy.kinds.decoding import decode
from understudy.objects.pods import Pod
from understudy.objects.resources import JOBS, MPI_JOBS, PYTORCH_JOBS, Resource

WHEN = "2026-01-01T00:00:00Z"
TEMPLATE = {"spec": pod_spec({})}
TORCH = {"pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": TEMPLATE}}}


def found(resource: Resource, spec: dict[str, Any], notes: dict[str, str] | None = None, **status: Any) -> Found:
    metadata = {"name": "x", "namespace": "default", "uid": "u", "annotations": notes or {}}
    head = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
    return Found(resource, {**head, "spec": spec, "status": status})


def torch(suspend: bool | None, notes: dict[str, str] | None = None, **status: Any) -> Found:
    policy = {} if suspend is None else {"runPolicy": {"suspend": suspend}}
    return found(PYTORCH_JOBS, {**TORCH, **policy}, notes, **status)


@pytest.mark.parametrize(
    ("job", "stand"),
    [
        (torch(None), Stand.ACTIVE),
        (torch(False, {REQUEUED_AT: WHEN}), Stand.ACTIVE),
        (torch(True), Stand.SUSPENDED),
        (torch(True, {REQUEUED_AT: WHEN}), Stand.REQUEUED),
        (torch(True, conditions=[{"type": "Failed", "status": "True", "lastTransitionTime": WHEN}]), Stand.ENDED),
        (found(JOBS, {"template": TEMPLATE, "suspend": True}), Stand.SUSPENDED),
    ],
)
def test_a_job_that_understudy_paused_is_told_from_one_that_its_owner_did(job: Found, stand: Stand) -> None:
    assert stand_of(job) is stand


def test_a_suspension_takes_away_what_would_bring_the_job_back() -> None:
    assert suspension(torch(True, {REQUEUED_AT: WHEN})) == {
        "spec": {"runPolicy": {"suspend": True}},
        "metadata": {"uid": "u", "annotations": {REQUEUED_AT: None, HOLDS: None}},
    }


def test_a_resumption_only_lets_it_go_on() -> None:
    job = found(JOBS, {"template": TEMPLATE, "suspend": True})
    assert resumption(job) == {"spec": {"suspend": False}, "metadata": {"uid": "u"}}


@pytest.mark.parametrize("suspended", [True, False])
def test_a_job_that_kueue_queues_is_left_to_kueue(suspended: bool) -> None:
    job = found(JOBS, {"template": TEMPLATE, "suspend": suspended}, {REQUEUED_AT: WHEN})
    job.document["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team-a"}
    with pytest.raises(BadInput, match=r"job.batch/x is queued by Kueue.*spec.active of its Workload"):
        stand_of(job)


def test_a_kind_without_such_a_field_is_refused_in_words() -> None:
    job = found(MPI_JOBS, {"replicas": 2, "template": TEMPLATE})
    with pytest.raises(
        BadInput, match=r"mpijob.kubeflow.org/x cannot be suspended: the MPIJob of kubeflow.org/v1alpha1"
    ):
        stand_of(job)


def pod(name: str, phase: str, **meta: str) -> Pod:
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **meta}}
    made = decode({**body, "spec": pod_spec({}), "status": {"phase": phase}})
    assert isinstance(made, Pod)
    return made


@pytest.mark.parametrize(
    ("pods", "running"),
    [
        pytest.param([], False, id="none yet"),
        pytest.param([pod("a", "Running")], False, id="one of two"),
        pytest.param([pod("a", "Running"), pod("b", "Pending")], False, id="one waits"),
        pytest.param([pod("a", "Running"), pod("b", "Running")], True, id="both"),
        pytest.param([pod("a", "Running"), pod("b", "Running", deletionTimestamp=WHEN)], False, id="an old one goes"),
    ],
)
def test_a_job_runs_again_when_all_that_it_needs_do(pods: list[Pod], running: bool) -> None:
    assert all_run(torch(False), {one.metadata.name: one for one in pods}) is running
