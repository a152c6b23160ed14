"""Jobs of every kind, their pods and events, as an API server has them: what a test is about is named."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from understudy.cli.queries.job_objects import JobObject
from understudy.cli.queries.jobs import JobSummary, summarize
from understudy.cli.queries.objects import EventInfo, NodeInfo, PodInfo
from understudy.kinds.registry import KINDS
from understudy.objects import resources
from understudy.objects.resources import Resource

Document = dict[str, Any]

NOW = 1_767_268_800.0  # 2026-01-01T12:00:00Z
GPU = "nvidia.com/gpu"
RESOURCES = {
    "Job": resources.JOBS,
    "JobSet": resources.JOB_SETS,
    "PyTorchJob": KINDS["PyTorchJob"].resource,
    "TFJob": KINDS["TFJob"].resource,
    "XGBoostJob": KINDS["XGBoostJob"].resource,
    "PaddleJob": KINDS["PaddleJob"].resource,
    "JAXJob": KINDS["JAXJob"].resource,
    "MPIJob": resources.MPI_JOBS,
    "TrainJob": resources.TRAIN_JOBS,
}
REPLICAS = {
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
    "JAXJob": "jaxReplicaSpecs",
    "MPIJob": "mpiReplicaSpecs",
}


def ago(seconds: float) -> str:
    return datetime.fromtimestamp(NOW - seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def template(gpus: int = 0, priority: str = "", resource: str = GPU) -> Document:
    limits = {resource: str(gpus)} if gpus else {}
    named = {"priorityClassName": priority} if priority else {}
    return {"spec": {"containers": [{"name": "main", "image": "any", "resources": {"limits": limits}}], **named}}


def spec_of(kind: str, gpus: int = 0, priority: str = "", workers: int = 1) -> Document:
    """The smallest spec of this kind that has a role which leads, if the kind has one, and so many workers."""
    pods = template(gpus, priority)
    match kind:
        case "Job":
            return {"parallelism": workers, "completions": workers, "template": pods}
        case "JobSet":
            job = {"spec": {"parallelism": workers, "completions": workers, "template": pods}}
            return {"replicatedJobs": [{"name": "workers", "replicas": 1, "template": job}]}
        case "TrainJob":
            trainer = {"numNodes": workers, "resourcesPerNode": {"limits": {GPU: gpus}} if gpus else {}}
            return {"runtimeRef": {"name": "torch"}, "trainer": trainer}
        case "MPIJob":
            return {REPLICAS[kind]: {"Launcher": {"template": template(0, priority)}, "Worker": _role(workers, pods)}}
        case "JAXJob":
            return {REPLICAS[kind]: {"Worker": _role(workers, pods)}}
        case "TFJob":
            return {REPLICAS[kind]: {"Worker": _role(workers, pods), "Chief": _role(1, pods)}}
        case _:
            return {REPLICAS[kind]: {"Worker": _role(workers, pods), "Master": _role(1, pods)}}


def _role(count: int, pods: Document) -> Document:
    return {"replicas": count, "template": pods}


def job(
    kind: str,
    name: str = "train",
    *,
    spec: Document | None = None,
    status: Document | None = None,
    age: float = 60,
    resource: Resource | None = None,
    **notes: str,
) -> JobObject:
    where = resource or RESOURCES[kind]
    document = {
        "apiVersion": where.api_version,
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "creationTimestamp": ago(age),
            "annotations": {f"understudy.dev/{note.replace('_', '-')}": value for note, value in notes.items()},
        },
        "spec": spec_of(kind) if spec is None else spec,
        "status": status or {},
    }
    return JobObject(where, document)


def conditions(**given: str) -> Document:
    """`conditions(Running="True")`: with reasons and messages named after their types."""
    return {
        "conditions": [
            {"type": kind, "status": value, "reason": f"Job{kind}", "message": f"It is {kind.lower()}."}
            for kind, value in given.items()
        ]
    }


def pod(name: str, phase: str = "Running", node: str = "node-a", address: str = "10.0.0.1", **more: Any) -> PodInfo:
    """`more`: gpus, labels, age, generate_name, exit_code, restarts, leaving, waits, priority."""
    gpus, age = more.get("gpus", 0), more.get("age", 60)
    meta: Document = {
        "name": name,
        "namespace": "default",
        "uid": f"uid-{name}",
        "creationTimestamp": ago(age),
        "labels": more.get("labels", {}),
        "generateName": more.get("generate_name", ""),
    }
    if more.get("leaving"):
        meta["deletionTimestamp"] = ago(0)
    spec = template(gpus, more.get("priority", ""))["spec"]
    status: Document = {"phase": phase, "conditions": [], "containerStatuses": [_container(phase, more)]}
    if node:
        spec["nodeName"] = node
        status |= {"hostIP": address, "startTime": ago(age)}
    if "waits" in more:
        said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": more["waits"]}
        status["conditions"].append(said)
    return msgspec.convert({"metadata": meta, "spec": spec, "status": status}, PodInfo)


def _container(phase: str, more: Document) -> Document:
    state: Document = {}
    if phase in ("Succeeded", "Failed"):
        code = more.get("exit_code", 0 if phase == "Succeeded" else 1)
        state = {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed", "finishedAt": ago(5)}}
    elif phase == "Pending" and more.get("waiting"):
        state = {"waiting": {"reason": more["waiting"]}}
    return {"name": "main", "restartCount": more.get("restarts", 0), "state": state}


def event(about: str, reason: str, message: str = "", *, age: float = 10, **more: Any) -> EventInfo:
    """`about` is Kind/name."""
    kind, _, name = about.partition("/")
    document = {
        "metadata": {
            "name": f"{name}.{reason}.{age}",
            "namespace": "default",
            "resourceVersion": more.get("version", "1"),
        },
        "involvedObject": {"kind": kind, "name": name, "namespace": "default", "uid": more.get("uid", "")},
        "reason": reason,
        "message": message,
        "type": more.get("type", "Normal"),
        "count": more.get("count", 1),
        "firstTimestamp": ago(age),
        "lastTimestamp": ago(age),
        "source": {"component": more.get("source", "understudy")},
    }
    return msgspec.convert(document, EventInfo)


def node(
    name: str,
    address: str,
    *,
    gpus: int = 0,
    ready: bool = True,
    resource: str = GPU,
    labels: dict[str, str] | None = None,
) -> NodeInfo:
    offers = {"cpu": "32", "memory": "128Gi", "pods": "110", **({resource: str(gpus)} if gpus else {})}
    document = {
        "metadata": {"name": name, "labels": labels or {}},
        "status": {
            "addresses": [{"type": "InternalIP", "address": address}],
            "allocatable": offers,
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        },
    }
    return msgspec.convert(document, NodeInfo)


def summary(found: JobObject, *pods: PodInfo) -> JobSummary:
    return summarize(found, pods)
