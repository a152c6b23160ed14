"""Whether a job runs, is suspended or has ended, and the patches that suspend and resume it."""

from typing import Any

import pytest

from tests.objects.documents import pod_spec
from understudy.cli.errors import BadInput
from understudy.cli.queries.job_objects import JobObject
from understudy.cli.queries.suspension import (
    SuspendState,
    all_pods_run,
    ended_at,
    resumption_patch,
    suspend_state,
    suspension_patch,
)
from understudy.kinds.annotations import HOLDS, REQUEUED_AT
from understudy.kinds.decoding import decode
from understudy.kinds.training_operator.pytorchjob import PYTORCH_JOBS
from understudy.objects.pods import Pod
from understudy.objects.resources import JOBS, MPI_JOBS, Resource

WHEN = "2026-01-01T00:00:00Z"
TEMPLATE = {"spec": pod_spec({})}
TORCH = {"pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": TEMPLATE}}}


def found(resource: Resource, spec: dict[str, Any], notes: dict[str, str] | None = None, **status: Any) -> JobObject:
    metadata = {"name": "x", "namespace": "default", "uid": "u", "annotations": notes or {}}
    head = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
    return JobObject(resource, {**head, "spec": spec, "status": status})


def torch(suspend: bool | None, notes: dict[str, str] | None = None, **status: Any) -> JobObject:
    policy = {} if suspend is None else {"runPolicy": {"suspend": suspend}}
    return found(PYTORCH_JOBS, {**TORCH, **policy}, notes, **status)


@pytest.mark.parametrize(
    ("job", "stand"),
    [
        (torch(None), SuspendState.ACTIVE),
        (torch(False, {REQUEUED_AT: WHEN}), SuspendState.ACTIVE),
        (torch(True), SuspendState.SUSPENDED),
        (torch(True, {REQUEUED_AT: WHEN}), SuspendState.REQUEUED),
        (
            torch(True, conditions=[{"type": "Failed", "status": "True", "lastTransitionTime": WHEN}]),
            SuspendState.ENDED,
        ),
        (found(JOBS, {"template": TEMPLATE, "suspend": True}), SuspendState.SUSPENDED),
    ],
)
def test_a_job_that_understudy_paused_is_told_from_one_that_its_owner_did(job: JobObject, stand: SuspendState) -> None:
    assert suspend_state(job) is stand


def test_a_suspension_takes_away_what_would_bring_the_job_back() -> None:
    assert suspension_patch(torch(True, {REQUEUED_AT: WHEN})) == {
        "spec": {"runPolicy": {"suspend": True}},
        "metadata": {"uid": "u", "annotations": {REQUEUED_AT: None, HOLDS: None}},
    }


def test_a_resumption_only_lets_it_go_on() -> None:
    job = found(JOBS, {"template": TEMPLATE, "suspend": True})
    assert resumption_patch(job) == {"spec": {"suspend": False}, "metadata": {"uid": "u"}}


@pytest.mark.parametrize("suspended", [True, False])
def test_a_job_that_kueue_queues_is_left_to_kueue(suspended: bool) -> None:
    job = found(JOBS, {"template": TEMPLATE, "suspend": suspended}, {REQUEUED_AT: WHEN})
    job.document["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team-a"}
    with pytest.raises(BadInput, match=r"job.batch/x is queued by Kueue.*spec.active of its Workload"):
        suspend_state(job)


def test_a_kind_without_such_a_field_is_refused_in_words() -> None:
    job = found(MPI_JOBS, {"replicas": 2, "template": TEMPLATE})
    with pytest.raises(
        BadInput, match=r"mpijob.kubeflow.org/x cannot be suspended: the MPIJob of kubeflow.org/v1alpha1"
    ):
        suspend_state(job)


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
    assert all_pods_run(torch(False), {one.metadata.name: one for one in pods}) is running


CREATED, ENDED = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
A_DAY = 86_400


def job(**status: Any) -> dict[str, Any]:
    return {"metadata": {"name": "x", "creationTimestamp": CREATED}, "status": status}


def condition(kind: str, status: str = "True") -> dict[str, str]:
    return {"type": kind, "status": status, "lastTransitionTime": ENDED}


@pytest.mark.parametrize(
    "status",
    [
        pytest.param({}, id="nothing said yet"),
        pytest.param({"conditions": [condition("Running")]}, id="runs"),
        pytest.param({"conditions": [condition("Failed", "False")]}, id="failed no longer"),
        pytest.param({"conditions": [condition("Suspended")]}, id="suspended"),
        pytest.param({"launcherStatus": "Active"}, id="the launcher of the first MPIJob runs"),
    ],
)
def test_jobs_that_go_on_have_no_end(status: dict[str, Any]) -> None:
    assert ended_at("MPIJob", job(**status)) is None


@pytest.mark.parametrize(
    ("kind", "status", "after"),
    [
        ("Job", {"conditions": [condition("Complete")]}, A_DAY),
        ("TrainJob", {"conditions": [condition("Complete")]}, A_DAY),
        ("JobSet", {"conditions": [condition("Completed")]}, A_DAY),
        ("TFJob", {"conditions": [condition("Created"), condition("Succeeded")]}, A_DAY),
        ("Job", {"conditions": [condition("Failed")], "completionTime": "2026-01-03T00:00:00Z"}, 2 * A_DAY),
        ("MPIJob", {"launcherStatus": "Succeeded"}, 0),  # the first MPIJob, which writes down no time
    ],
)
def test_jobs_that_ended_tell_when(kind: str, status: dict[str, Any], after: float) -> None:
    created = ended_at("MPIJob", job(launcherStatus="Failed"))
    assert created is not None
    assert ended_at(kind, job(**status)) == created + after
