"""MPIJobs of all three versions into gangs: a launcher and its workers."""

from typing import Any

import pytest

from tests.kinds.gangs import CLASSES, context_of, gang, made, names
from tests.objects.documents import Document, container, metadata, owner, pod, template
from understudy.kinds.decoding import decode
from understudy.kinds.registry import control_of
from understudy.model.gangs import Suspension
from understudy.objects.jobs import MPIJob


def mpijob(version: str, **spec: Any) -> Document:
    return {"apiVersion": f"kubeflow.org/{version}", "kind": "MPIJob", "metadata": metadata("mpi"), "spec": spec}


def replicas(workers: int = 2) -> Document:
    return {
        "Worker": {"replicas": workers, "template": template({"nvidia.com/gpu": 1}, priorityClassName="high")},
        "Launcher": {"replicas": 1, "template": template({"cpu": "1"}, priorityClassName="high")},
    }


GANG = ["mpi-launcher", "mpi-worker-0", "mpi-worker-1"]


@pytest.mark.parametrize("version", ["v1", "v2beta1"])
def test_replica_specs(version: str) -> None:
    found = gang(mpijob(version, mpiReplicaSpecs=replicas(), runPolicy={"suspend": True}))
    assert found.key == "MPIJob/default/mpi"
    assert names(found) == GANG
    assert found.priority == 1000
    assert found.suspension is Suspension.BY_OWNER
    assert [member.shape.accelerators for member in found.members()] == [0, 1, 1]


@pytest.mark.parametrize("version", ["v1", "v2beta1"])
def test_minimum(version: str) -> None:
    policy = {"schedulingPolicy": {"minAvailable": 2}}
    assert gang(mpijob(version, mpiReplicaSpecs=replicas(), runPolicy=policy)).min_members == 2


@pytest.mark.parametrize(
    ("spec", "workers", "gpus"),
    [
        ({"replicas": 2}, 2, 3),
        ({"gpus": 16, "gpusPerNode": 8}, 2, 8),
        ({"gpus": 4, "gpusPerNode": 8}, 1, 4),
        ({"gpus": 2}, 2, 1),
        ({"processingUnits": 8, "processingUnitsPerNode": 4}, 2, 4),
        ({"processingUnits": 8, "processingUnitsPerNode": 4, "processingResourceType": "gpu"}, 2, 4),
    ],
)
def test_the_first_version(spec: Document, workers: int, gpus: int) -> None:
    worker = {"spec": {"containers": [container(resources={"limits": {"nvidia.com/gpu": 3}})]}}
    launcher, *others = gang(mpijob("v1alpha1", template=worker, **spec)).members()
    assert launcher.name == "mpi-launcher"
    assert launcher.shape.accelerators == 0
    assert [other.name for other in others] == [f"mpi-worker-{i}" for i in range(workers)]
    assert {other.shape.accelerators for other in others} == {gpus}


def test_the_first_version_may_count_cpus() -> None:
    found = gang(
        mpijob(
            "v1alpha1", template=template(), processingUnits=4, processingUnitsPerNode=2, processingResourceType="cpu"
        )
    )
    assert dict(list(found.members())[1].shape.requests)["cpu"] == 2000


def test_resources_of_the_first_launcher() -> None:
    spec = {"replicas": 1, "launcherResources": {"requests": {"cpu": "2"}}}
    launcher = next(gang(mpijob("v1alpha1", template=template({"cpu": "8"}), **spec)).members())
    assert dict(launcher.shape.requests)["cpu"] == 2000


def test_a_launcher_on_the_master_is_refused_in_words() -> None:
    launcher, worker = gang(mpijob("v1alpha1", template=template(), replicas=1, launcherOnMaster=True)).members()
    assert "launcherOnMaster" in launcher.shape.unsupported[0]
    assert not worker.shape.unsupported


VERSIONS = ("v1alpha1", "v1", "v2beta1")


def labels_of(version: str, role: str, index: int) -> dict[str, str]:
    """What the operator of each version puts on its pods."""
    prefix = "training.kubeflow.org"
    numbered = {f"{prefix}/job-name": "mpi", f"{prefix}/replica-index": str(index)}
    return {
        "v1alpha1": {"mpi_job_name": "mpi", "mpi_role_type": role, "group_name": "kubeflow.org"},
        "v1": {f"{prefix}/operator-name": "mpijob-controller", f"{prefix}/replica-type": role, **numbered},
        "v2beta1": {f"{prefix}/operator-name": "mpi-operator", f"{prefix}/job-role": role, **numbered},
    }[version]


@pytest.mark.parametrize("version", VERSIONS)
def test_pods_of_every_version_take_their_places(version: str) -> None:
    old = version == "v1alpha1"
    document = mpijob(version, template=template(), replicas=2) if old else mpijob(version, mpiReplicaSpecs=replicas())
    launcher_name = "mpi-launcher" if version == "v1" else "mpi-launcher-sz5xj"
    by_job = {"batch.kubernetes.io/job-name": "mpi-launcher"} if version == "v2beta1" else {}
    launcher_labels = {**labels_of(version, "launcher", 0), **by_job}
    launcher = pod(launcher_name, "n0", {"labels": launcher_labels, "ownerReferences": owner("Job", "mpi-launcher")})
    worker = pod(
        "mpi-worker-1", "n1", {"labels": labels_of(version, "worker", 1), "ownerReferences": owner("StatefulSet", "w")}
    )
    found = gang(document, [worker, launcher], context_of(*CLASSES))
    assert [(m.name, m.node) for m in found.members()] == [
        (launcher_name, "n0"),
        ("mpi-worker-0", ""),
        ("mpi-worker-1", "n1"),
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_planned_members_carry_the_labels_of_their_version(version: str) -> None:
    old = version == "v1alpha1"
    document = mpijob(version, template=template(), replicas=1) if old else mpijob(version, mpiReplicaSpecs=replicas(1))
    launcher, worker = gang(document).members()
    assert dict(launcher.labels) == labels_of(version, "launcher", 0)
    assert dict(worker.labels) == labels_of(version, "worker", 0)


def test_finished_jobs_are_no_gang() -> None:
    first = mpijob("v1alpha1", template=template(), replicas=1)
    assert made({**first, "status": {"launcherStatus": "Failed"}}) is None
    assert made({**first, "status": {"launcherStatus": "Active"}}) is not None
    later = mpijob("v2beta1", mpiReplicaSpecs=replicas())
    assert made({**later, "status": {"conditions": [{"type": "Succeeded", "status": "True"}]}}) is None


@pytest.mark.parametrize(
    ("version", "label"),
    [
        ("v1alpha1", "mpi_role_type"),
        ("v1", "training.kubeflow.org/replica-type"),
        ("v2beta1", "training.kubeflow.org/job-role"),
    ],
)
def test_a_job_that_is_made_to_fail_spares_its_launcher(version: str, label: str) -> None:
    spec = {"template": template(), "replicas": 1} if version == "v1alpha1" else {"mpiReplicaSpecs": replicas()}
    job = decode(mpijob(version, **spec))
    assert isinstance(job, MPIJob)
    assert control_of(job).spared == {label: "launcher"}
