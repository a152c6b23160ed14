"""Three versions of MPIJob into one shape."""

from typing import Any

import pytest

from tests.kinds.children.mpijob.documents import VERSIONS, mpijob, template
from tests.kinds.gangs import gang
from tests.objects.documents import Document
from understudy.kinds.children.mpijob.pods import launcher_job, launcher_pod, worker
from understudy.kinds.children.mpijob.spec import read


@pytest.mark.parametrize("version", VERSIONS)
def test_what_all_versions_say(version: str) -> None:
    job = read(mpijob(version, 3, slotsPerWorker=2, backoffLimit=4))
    assert (job.version, job.workers, job.slots, job.policy.backoff_limit) == (version, 3, 2, 4)


@pytest.mark.parametrize("role", ["worker", "WORKER", "Worker"])
def test_roles_in_any_case(role: str) -> None:
    document = mpijob("v1")
    document["spec"]["mpiReplicaSpecs"] = {role: {"replicas": 3, "template": template()}}
    job = read(document)
    assert (job.workers, job.launcher) == (3, None)


@pytest.mark.parametrize(
    ("spec", "workers", "slots", "gpus"),
    [
        ({"replicas": 2}, 2, 3, 3),
        ({"replicas": 2, "slotsPerWorker": 1}, 2, 1, 3),
        ({"gpus": 16, "gpusPerNode": 8}, 2, 8, 8),
        ({"gpus": 4, "gpusPerNode": 8}, 1, 4, 4),
        ({"processingUnits": 8, "processingUnitsPerNode": 4, "processingResourceType": "gpu"}, 2, 4, 4),
    ],
)
def test_the_first_version_counts(spec: Document, workers: int, slots: int, gpus: int) -> None:
    document = mpijob("v1alpha1")
    document["spec"] = {"template": template(resources={"limits": {"nvidia.com/gpu": 3}}), **spec}
    job = read(document)
    assert (job.workers, job.slots) == (workers, slots)
    assert job.worker is not None
    assert int(job.worker["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"]) == gpus


@pytest.mark.parametrize(
    ("given", "asked"), [({}, {}), ({"launcherResources": {"requests": {"cpu": "2"}}}, {"requests": {"cpu": "2"}})]
)
def test_the_first_launcher_has_none_of_the_resources_of_the_workers(given: Document, asked: Document) -> None:
    document = mpijob("v1alpha1", **given)
    document["spec"]["template"] = template(resources={"limits": {"nvidia.com/gpu": 1}})
    job = read(document)
    assert job.launcher is not None
    assert job.launcher["spec"]["containers"][0]["resources"] == asked


@pytest.mark.parametrize("version", VERSIONS)
def test_pods_are_those_the_scheduler_expects(version: str) -> None:
    """Names and labels as it reads them from the job before there are any pods."""
    document = mpijob(version)
    job = read(document)
    members = {member.name: dict(member.labels) for member in gang(document).members()}
    made: dict[str, Any] = {}
    for index in range(2):
        pod = worker(job, index).document
        made[pod["metadata"]["name"]] = pod["metadata"]["labels"]
    if version == "v1":
        pod = launcher_pod(job).document
        made[pod["metadata"]["name"]] = pod["metadata"]["labels"]
    else:
        made["train-launcher"] = launcher_job(job).document["spec"]["template"]["metadata"]["labels"]
    assert members.keys() == made.keys()
    for name, labels in members.items():
        wanted = {key: value for key, value in labels.items() if not key.endswith("replica-index") or "worker" in name}
        assert made[name].items() >= wanted.items()
