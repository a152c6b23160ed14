"""The real operators create the pods of their kinds, through their webhooks, for the scheduler that is named."""

import pytest

from tests.kube.cluster.api import Api, ApiError
from tests.kube.jobs import create_with_runtime, jobset, mpijob, pytorchjob, training_runtime, trainjob, wait_for_pods

KINDS = {
    "JobSet": (jobset("made"), 4),
    "PyTorchJob": (pytorchjob("made"), 3),
    "MPIJob": (mpijob("made"), 3),
    "TrainJob": (trainjob("made"), 2),
}


@pytest.mark.parametrize("kind", KINDS)
def test_pods_are_made_and_wait_for_their_scheduler(api: Api, namespace: str, kind: str) -> None:
    job, count = KINDS[kind]
    create_with_runtime(api, job, namespace, training_runtime("runtime"))
    made = wait_for_pods(api, namespace, count)
    assert len(made) == count
    assert {pod["spec"]["schedulerName"] for pod in made} == {"understudy"}
    assert {pod["status"]["phase"] for pod in made} == {"Pending"}


def test_jobsets_webhooks_fill_in_what_was_left_out(api: Api, namespace: str) -> None:
    made = api.create(jobset("defaults"), namespace)
    assert made["spec"]["network"]["enableDNSHostnames"] is True
    assert made["spec"]["successPolicy"]["operator"] == "All"


REFUSED = {
    "a JobSet whose pods' names would be too long": (jobset("j" * 60), "vjobset.kb.io"),
    "a TrainJob whose runtime is not there": (trainjob("t", runtime="none"), "validator.trainjob"),
    "a PyTorchJob without its container": (pytorchjob("p", container="main"), "validator.pytorchjob"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_webhooks_refuse(api: Api, namespace: str, case: str) -> None:
    job, webhook = REFUSED[case]
    with pytest.raises(ApiError, match=webhook):
        api.create(job, namespace)
