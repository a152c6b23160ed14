"""How each kind is suspended, resumed, and made to fail."""

import pytest

from tests.objects.documents import Document, job, jobset, pod_spec, replicated_job, training_job
from understudy.kinds.decoding import decode
from understudy.kinds.job_control import JobControl, JobFailure, failure_patch, suspend_patch
from understudy.kinds.registry import control_of, job_resource
from understudy.objects.jobs import Workload
from understudy.objects.meta import Condition
from understudy.objects.resources import MPI_JOBS_V1

ENDING = JobFailure("Preempted", "for another job", "2026-01-01T00:00:00Z")


def lever(document: Document) -> JobControl:
    found = decode(document)
    assert isinstance(found, Workload)
    return control_of(found)


def mpijob(version: str, **spec: object) -> Document:
    return {"apiVersion": f"kubeflow.org/{version}", "kind": "MPIJob", "metadata": {"name": "m"}, "spec": spec}


MPI_REPLICAS = {"Worker": {"replicas": 1, "template": {"spec": pod_spec()}}}


@pytest.mark.parametrize(
    ("document", "field"),
    [
        pytest.param(job("j"), ["spec", "suspend"], id="Job"),
        pytest.param(jobset("js", replicated_job("w", 1, 1)), ["spec", "suspend"], id="JobSet"),
        pytest.param(
            training_job("PyTorchJob", "pytorchReplicaSpecs", {"Worker": 1}),
            ["spec", "runPolicy", "suspend"],
            id="PyTorchJob",
        ),
        pytest.param(mpijob("v2beta1", mpiReplicaSpecs=MPI_REPLICAS), ["spec", "runPolicy", "suspend"], id="MPIJob"),
    ],
)
def test_a_job_is_paused_and_let_go_on_by_its_own_switch(document: Document, field: list[str]) -> None:
    for wanted in (True, False):
        patch: object = suspend_patch(lever(document), wanted)
        for step in field:
            assert isinstance(patch, dict)
            assert list(patch) == [step]
            patch = patch[step]
        assert patch is wanted


def test_the_first_mpijob_cannot_be_paused() -> None:
    first = lever(mpijob("v1alpha1", replicas=1, template={"spec": pod_spec()}))
    assert suspend_patch(first, True) == {}
    assert failure_patch(first, (), ENDING) == {"status": {"launcherStatus": "Failed"}}


def test_a_job_fails_by_the_condition_its_controller_acts_on() -> None:
    patch = failure_patch(lever(job("j")), (), ENDING)
    assert isinstance(patch, dict)
    (condition,) = patch["status"]["conditions"]
    assert (condition["type"], condition["reason"], condition["message"]) == (
        "FailureTarget",
        "Preempted",
        "for another job",
    )


def test_conditions_that_are_there_are_left_as_they_are() -> None:
    patch = failure_patch(lever(jobset("js", replicated_job("w", 1, 1))), (Condition("Suspended", "False"),), ENDING)
    assert isinstance(patch, list)
    (operation,) = patch
    assert (operation["op"], operation["path"]) == ("add", "/status/conditions/-")
    assert operation["value"]["type"] == "Failed"


def test_a_job_lives_in_the_version_it_was_read_in() -> None:
    assert job_resource("kubeflow.org/v1", "MPIJob") == MPI_JOBS_V1
