"""Jobs of all kinds side by side in one cluster, each with its real processes."""

import re
from pathlib import Path
from typing import Any

from tests.cli.commands import shows
from tests.embedded.real_cluster import RealCluster, node, play
from tests.embedded.witness import Document
from understudy.objects.resources import JOB_KINDS, MPI_JOBS_V1, MPI_JOBS_V1ALPHA1, PODS, Resource

CONTAINERS = {"PyTorchJob": "pytorch", "TFJob": "tensorflow", "XGBoostJob": "xgboost", "PaddleJob": "paddle"}
REPLICAS = {"PyTorchJob": "pytorch", "TFJob": "tf", "XGBoostJob": "xgb", "PaddleJob": "paddle", "JAXJob": "jax"}
LEADERS = {"PyTorchJob": "Master", "XGBoostJob": "Master", "PaddleJob": "Master", "TFJob": "Chief"}
FIRST = {
    "Job": r"job-0-\w{5}",
    "JobSet": r"jobset-w-0-0-\w{5}",
    "PyTorchJob": "pytorchjob-master-0",
    "TFJob": "tfjob-chief-0",
    "XGBoostJob": "xgboostjob-master-0",
    "PaddleJob": "paddlejob-master-0",
    "JAXJob": "jaxjob-worker-0",
    "MPIJob": r"mpijob\w*-launcher(-\w{5})?",
    "TrainJob": r"trainjob-node-0-0-\w{5}",
}
KINDS = (*JOB_KINDS, MPI_JOBS_V1, MPI_JOBS_V1ALPHA1)


def manifest(resource: Resource) -> Document:
    version = resource.version if resource in (MPI_JOBS_V1, MPI_JOBS_V1ALPHA1) else ""
    name = resource.kind.lower() + version
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name},
        "spec": _spec(resource, f"echo I am {name}; sleep 1000000"),
    }


def _spec(resource: Resource, program: str) -> Document:
    kind, command = resource.kind, ["sh", "-c", program]
    container = {
        "name": CONTAINERS.get(kind, "jax" if kind == "JAXJob" else "main"),
        "image": "any",
        "command": command,
    }
    template: dict[str, Any] = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    batch = {"parallelism": 2, "completions": 2, "completionMode": "Indexed", "template": template}
    match kind:
        case "Job":
            return batch
        case "JobSet":
            return {"replicatedJobs": [{"name": "w", "replicas": 1, "template": {"spec": batch}}]}
        case "TrainJob":
            return {"runtimeRef": {"name": "torch-distributed"}, "trainer": {"numNodes": 2, "command": command}}
        case "MPIJob" if resource.version == "v1alpha1":
            return {"replicas": 1, "template": template}
        case "MPIJob":
            roles = {"Launcher": {"replicas": 1, "template": template}, "Worker": {"replicas": 1, "template": template}}
            return {"mpiReplicaSpecs": roles}
    one = {"replicas": 1, "template": template}
    roles = {**({LEADERS[kind]: one} if kind in LEADERS else {}), "Worker": {**one, "replicas": 1 + (kind == "JAXJob")}}
    return {f"{REPLICAS[kind]}ReplicaSpecs": roles}


def test_every_kind_is_listed_shown_and_read_alike(tmp_path: Path) -> None:
    async def scene(cluster: RealCluster) -> None:
        witness = cluster.witness
        assert await shows(cluster, "list") == ["NAME  STATUS  TRAINER  AGE  NODE"]
        assert await shows(cluster, "events") == ["No events."]
        manifests = [manifest(resource) for resource in KINDS]
        await cluster.create(*manifests)
        await witness.until("all run", lambda: _running(witness.all(PODS)) == 2 * len(KINDS))
        names = {one["metadata"]["name"]: one["kind"] for one in manifests}
        rows = [line.split() for line in (await shows(cluster, "list"))[1:]]
        assert {row[0]: row[2] for row in rows} == {name: kind.upper() for name, kind in names.items()}
        for name, kind in names.items():
            shown = await shows(cluster, "get", name)
            assert shown[0] in ("STATUS: RUNNING", "STATUS: PENDING")
            assert len(shown) == 8, shown
            assert re.fullmatch(FIRST[kind], shown[6].split()[4]), shown
            assert await shows(cluster, "logs", name) == [f"I am {name}"]
            assert (await shows(cluster, "why", name))[0].startswith(f"{kind} default/{name} ")
            assert len(await shows(cluster, "events", name)) > 4

    play(tmp_path, [node("n-0")], scene)


def _running(pods: list[Document]) -> int:
    return sum(1 for pod in pods if pod.get("status", {}).get("phase") == "Running")
