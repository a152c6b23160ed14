"""`understudy list`: all jobs, of whatever kind."""

import re
from typing import Any

from tests.cli.commands import shows
from tests.cli.queries.documents import NOW, conditions, job, pod, spec_of, summary
from tests.embedded.cluster_monitor import Document
from tests.embedded.real_cluster import RealCluster, node
from tests.embedded.shared_cluster import SharedClusters
from understudy.cli.verbs.jobs.list_jobs import list_lines, shortened, wide_list_lines
from understudy.cli.verbs.jobs.top import instance_usage_lines, job_usage_lines
from understudy.kinds.registry import JOB_RESOURCES
from understudy.objects.resources import MPI_JOBS_V1, MPI_JOBS_V1ALPHA1, PODS, Resource

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
KINDS = (*JOB_RESOURCES, MPI_JOBS_V1, MPI_JOBS_V1ALPHA1)


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


def test_every_kind_is_listed_shown_and_read_alike(shared: SharedClusters) -> None:
    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        assert await shows(cluster, "list") == ["NAME  STATUS  TRAINER  AGE  NODE"]
        assert await shows(cluster, "events") == ["No events."]
        manifests = [manifest(resource) for resource in KINDS]
        await cluster.create(*manifests)
        await monitor.until("all run", lambda: _running(monitor.all(PODS)) == 2 * len(KINDS))
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

    shared.play([node("n-0")], scenario)


def _running(pods: list[Document]) -> int:
    return sum(1 for pod in pods if pod.get("status", {}).get("phase") == "Running")


RUNS = summary(
    job("Job", "medium", spec=spec_of("Job", gpus=1, priority="medium"), status={}, age=720),
    pod("medium-abcde", node="192.168.0.23", address="192.168.0.23", gpus=1, age=700),
)
WAITS = summary(
    job("JobSet", "big", spec=spec_of("JobSet", gpus=4, workers=2), age=58),
    pod("big-workers-0-0-abcde", "Pending", node="", gpus=4, waits="needs 2 pods with 4 nvidia.com/gpu each"),
)
DONE = summary(job("PyTorchJob", "old", status=conditions(Succeeded="True"), age=3 * 86400 + 5))


def test_every_job_has_a_line() -> None:
    assert list_lines([RUNS, WAITS, DONE], NOW) == [
        "NAME    STATUS     TRAINER     AGE  NODE",
        "medium  RUNNING    JOB         12m  192.168.0.23",
        "big     PENDING    JOBSET      58s  N/A",
        "old     SUCCEEDED  PYTORCHJOB  3d   N/A",
    ]
    assert list_lines([RUNS], NOW, everywhere=True)[1] == "default    medium  RUNNING  JOB      12m  192.168.0.23"
    assert list_lines([], NOW) == ["NAME  STATUS  TRAINER  AGE  NODE"]


def test_the_wide_form_adds_gpus_preemptions_and_reasons() -> None:
    shown = wide_list_lines([RUNS, WAITS], {"uid-medium": 2}, NOW)
    assert shown[0].split()[:6] == ["NAMESPACE", "NAME", "STATUS", "TRAINER", "AGE", "NODE"]
    assert shown[0].split()[9:] == ["GPU(Requested)", "GPU(Allocated)", "PREEMPTIONS", "REASON"]
    assert " ".join(shown[1].split()) == "default medium RUNNING JOB 12m 192.168.0.23 medium 11m 1/1 1 1 2"
    assert " ".join(shown[2].split()) == (
        "default big PENDING JOBSET 58s N/A N/A 0s 0/1 8 0 0 needs 2 pods with 4 nvidia.com/gpu each"
    )


def test_a_long_reason_is_cut() -> None:
    assert shortened("a " * 100) == "a " * 39 + "a…"


def test_what_jobs_asked_for_and_have() -> None:
    assert job_usage_lines([RUNS, WAITS, DONE], NOW) == [
        "NAME    GPU(Requests)  GPU(Allocated)  STATUS     TRAINER     AGE  NODE",
        "medium  1              1               RUNNING    JOB         12m  192.168.0.23",
        "big     8              0               PENDING    JOBSET      58s  N/A",
        "old     0              0               SUCCEEDED  PYTORCHJOB  3d   N/A",
        "",
        "Total Allocated GPUs of Training Job:",
        "1",
        "",
        "Total Requested GPUs of Training Job:",
        "9",
    ]


def test_the_instances_of_one_job_with_cpu_and_memory() -> None:
    assert instance_usage_lines(RUNS, NOW)[:2] == [
        "INSTANCE      GPU(Requests)  GPU(Allocated)  CPU  MEMORY  STATUS   AGE  NODE",
        "medium-abcde  1              1               0    0       RUNNING  11m  192.168.0.23",
    ]
