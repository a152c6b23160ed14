"""Kubernetes objects as plain JSON documents, shaped as an API server would send them."""

from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec

Document = dict[str, object]

NOW = 1_767_312_000.0  # 2026-01-02T00:00:00Z: every age in the benchmarks is counted back from here
GPUS_PER_NODE = 8
SLICE = "cloud.example.com/slice"  # the topology label of the benchmarks' domains
EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
LOW, HIGH = ("low", 100), ("high", 10_000)

_JOBSET = "jobset.sigs.k8s.io"


def stamp(age: float) -> str:
    """The moment `age` seconds before NOW, as Kubernetes writes it."""
    return datetime.fromtimestamp(NOW - age, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def priority_class(name: str, value: int) -> Document:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name, "uid": f"uid-pc-{name}", "creationTimestamp": stamp(1e6)},
        "value": value,
        "preemptionPolicy": "PreemptLowerPriority",
    }


def node(name: str, slice_name: str = "", failed: bool = False, suspect: bool = False) -> Document:
    labels = {"kubernetes.io/hostname": name, "node.kubernetes.io/instance-type": "gpu-8x"}
    if slice_name:
        labels[SLICE] = slice_name
    out_of_service = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": labels, "creationTimestamp": stamp(1e6)},
        "spec": {"taints": [out_of_service] if failed else []},
        "status": {
            "allocatable": {"cpu": "192", "memory": "2113416Mi", "pods": "110", "nvidia.com/gpu": str(GPUS_PER_NODE)},
            "conditions": [
                {
                    "type": "Ready",
                    "status": "Unknown" if failed else "False" if suspect else "True",
                    "reason": "NodeStatusUnknown" if failed else "KubeletNotReady" if suspect else "KubeletReady",
                    "lastHeartbeatTime": stamp(120 if failed else 5),
                    "lastTransitionTime": stamp(60 if failed else 5 if suspect else 1e6),
                }
            ],
        },
    }


class Run(msgspec.Struct, frozen=True):
    """A running job: its name, its priority, its age, and the GPUs of each pod."""

    name: str
    age: float
    priority: tuple[str, int] = LOW
    gpus: int = GPUS_PER_NODE


def lone_pod(name: str, node_name: str, age: float) -> Iterator[Document]:
    """A one-GPU job of low priority that is nothing but a pod: a gang of one, running for `age` seconds."""
    yield _pod(name, node_name, {}, None, Run(name, age, gpus=1))


def lone_job(name: str, node_name: str, age: float) -> Iterator[Document]:
    """A one-GPU Job of low priority, and its pod, running for `age` seconds."""
    run = Run(name, age, gpus=1)
    labels = {"job-name": name, "batch.kubernetes.io/job-name": name}
    yield _job(name, 1, run)
    yield _pod(f"{name}-x7k2p", node_name, labels, _owner("batch/v1", "Job", name), run)


def spread_job(name: str, nodes: list[str], age: float) -> Iterator[Document]:
    """A Job of low priority with a small pod without accelerators on each of these nodes."""
    run = Run(name, age, gpus=0)
    labels = {"job-name": name, "batch.kubernetes.io/job-name": name}
    yield _job(name, len(nodes), run)
    for index, node_name in enumerate(nodes):
        indexed = labels | {"batch.kubernetes.io/job-completion-index": str(index)}
        yield _pod(f"{name}-{index}-x7k2p", node_name, indexed, _owner("batch/v1", "Job", name), run)


def daemon_pod(name: str, node_name: str) -> Document:
    """A pod of the DaemonSet `name`."""
    owner = _owner("apps/v1", "DaemonSet", name)
    return _pod(f"{name}-{node_name}", node_name, {}, owner, Run(name, 1e6, ("system-node-critical", 2_000_001_000), 0))


def jobset(name: str, shape: tuple[int, int], priority: str, topology: str = "", age: float = 60.0) -> Document:
    """A JobSet of `shape` = (replicas, pods a replica), eight GPUs a pod, one exclusive domain a replica if asked."""
    replicas, pods = shape
    template = {"parallelism": pods, "completions": pods, "template": _template(GPUS_PER_NODE, priority)}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {**_metadata(name, age), "annotations": {EXCLUSIVE: topology} if topology else {}},
        "spec": {"replicatedJobs": [{"name": "w", "replicas": replicas, "template": {"spec": template}}]},
    }


def running_jobset(run: Run, domains: list[list[str]], topology: str = "") -> Iterator[Document]:
    """A running JobSet with its child Jobs and pods: one replica for each list of nodes."""
    yield jobset(run.name, (len(domains), len(domains[0])), run.priority[0], topology, run.age + 60)
    parent = _owner("jobset.x-k8s.io/v1alpha2", "JobSet", run.name)
    for replica, nodes in enumerate(domains):
        job = f"{run.name}-w-{replica}"
        labels = {f"{_JOBSET}/jobset-name": run.name, f"{_JOBSET}/replicatedjob-name": "w"}
        labels |= {f"{_JOBSET}/job-index": str(replica), "batch.kubernetes.io/job-name": job}
        yield _job(job, len(nodes), run, labels, parent)
        for index, node_name in enumerate(nodes):
            indexed = labels | {"batch.kubernetes.io/job-completion-index": str(index)}
            yield _pod(f"{job}-{index}-x7k2p", node_name, indexed, _owner("batch/v1", "Job", job), run)


def _job(
    name: str, pods: int, run: Run, labels: dict[str, str] | None = None, owner: Document | None = None
) -> Document:
    template = _template(run.gpus, run.priority[0])
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _metadata(name, run.age + 30, labels, owner),
        "spec": {"parallelism": pods, "completions": pods, "completionMode": "Indexed", "template": template},
        "status": {"active": pods, "startTime": stamp(run.age)},
    }


def _pod(name: str, node_name: str, labels: dict[str, str], owner: Document | None, run: Run) -> Document:
    priority, value = run.priority
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(name, run.age + 10, {"app": "trainer", **labels}, owner),
        "spec": {**_pod_spec(run.gpus, priority), "priority": value, "nodeName": node_name},
        "status": {
            "phase": "Running",
            "startTime": stamp(run.age),
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": stamp(run.age)}],
        },
    }


def _metadata(name: str, age: float, labels: dict[str, str] | None = None, owner: Document | None = None) -> Document:
    return {
        "name": name,
        "namespace": "default",
        "uid": f"uid-{name}",
        "labels": labels or {},
        "ownerReferences": [owner] if owner else [],
        "creationTimestamp": stamp(age),
    }


def _owner(api_version: str, kind: str, name: str) -> Document:
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}


def _template(gpus: int, priority: str) -> Document:
    return {"metadata": {"labels": {"app": "trainer"}}, "spec": _pod_spec(gpus, priority)}


def _pod_spec(gpus: int, priority: str) -> Document:
    requests = {"cpu": str(20 * gpus or 1), "memory": f"{200 * gpus or 4}Gi"}
    requests |= {"nvidia.com/gpu": str(gpus)} if gpus else {}
    container = {"name": "train", "image": "trainer:1", "resources": {"requests": requests, "limits": requests}}
    return {
        "schedulerName": "understudy",
        "priorityClassName": priority,
        "restartPolicy": "Never",
        "containers": [container],
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
    }
