"""Jobs of all kinds for a chaos run: a seeded choice of kind, size, priority and manners, into objects to submit."""

import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from tests.chaos import member
from understudy.kinds.annotations import PREFIX
from understudy.kinds.training_operator.pytorchjob import PYTORCH_JOBS
from understudy.objects.resources import (
    CLAIMS,
    CLUSTER_TRAINING_RUNTIMES,
    JOB_SETS,
    JOBS,
    MPI_JOBS,
    MPI_JOBS_V1ALPHA1,
    PRIORITY_CLASSES,
    TRAIN_JOBS,
    Resource,
)

Document = dict[str, Any]

GPU = "nvidia.com/gpu"
SLICE = "cloud.google.com/gke-nodepool"
EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
PRIORITIES = {"low": 100, "middle": 1000, "high": 10_000}
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
GRACE = 2  # terminationGracePeriodSeconds; some processes need all of it
WITH_CLAIM = 0.4  # of the jobs whose kinds can name one
MANY = 1_000_000  # retries: losses that are not the job's fault must not cost any, and this run is about other things


class Shape(msgspec.Struct, frozen=True):
    """Of the cluster: what jobs are cut to."""

    slices: int
    nodes: int  # of a slice
    gpus: int  # of a node


class Workload(msgspec.Struct, frozen=True):
    name: str
    kind: str  # as the run calls it
    resource: Resource
    document: Document
    size: int  # pods over all its stages
    priority: int
    pause: tuple[str, ...]  # the field that suspends it; none: it cannot be suspended
    later: int = 0  # pods that are made when others run or are done
    exclusive: bool = False  # each of its islands has its domain to itself
    claims: tuple[str, ...] = ()  # that its pods name

    @property
    def first_stage(self) -> int:
        return self.size - self.later

    def paused(self, yes: bool) -> Document:
        value: Any = yes
        for field in reversed(self.pause):
            value = {field: value}
        return dict(value)


class Draft(msgspec.Struct, frozen=True):
    """What all kinds are made of."""

    name: str
    priority: str
    folder: Path  # where the processes write
    seconds: float
    manner: str
    claim: str = ""  # that its pods name

    def pod(self, gpus: int, container: str = "main", seconds: float | None = None) -> Document:
        named = {"priorityClassName": self.priority}
        spec = {"restartPolicy": "Never", "terminationGracePeriodSeconds": GRACE}
        claim = {"name": "data", "persistentVolumeClaim": {"claimName": self.claim}}
        volumes = {"volumes": [claim]} if self.claim else {}
        return {**spec, **named, **volumes, "containers": [self.container(gpus, container, seconds)]}

    def container(self, gpus: int, name: str = "main", seconds: float | None = None) -> Document:
        limits = {GPU: str(gpus)} if gpus else {}
        run = {"command": self.command(seconds), "env": environment(), "resources": {"limits": limits}}
        return {"name": name, "image": "none", **run}

    def command(self, seconds: float | None = None) -> list[str]:
        lasting = str(self.seconds if seconds is None else seconds)
        return [sys.executable, "-I", "-S", member.__file__, str(self.folder), self.name, lasting, self.manner]


def environment() -> list[Document]:
    fields = {"POD_UID": "metadata.uid", "POD_NAME": "metadata.name", "NODE_NAME": "spec.nodeName"}
    return [{"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in fields.items()]


def draw(chance: random.Random, number: int, shape: Shape, folder: Path) -> Workload:
    kind = chance.choices(list(KINDS), [weight for weight, _ in KINDS.values()])[0]
    return make(kind, chance, number, shape, folder)


def make(kind: str, chance: random.Random, number: int, shape: Shape, folder: Path) -> Workload:
    small, name = kind == "small", f"{kind}-{number}"
    draft = Draft(
        name=name,
        priority=chance.choices(list(PRIORITIES), [3, 2, 1])[0],
        folder=folder,
        seconds=round(chance.uniform(0.5, 3.0) if small else chance.uniform(3.0, 20.0), 1),
        manner=chance.choices(["0", "0.5", "1.5", "deaf"], [6, 2, 1, 1])[0],
        claim=f"{name}-data" if kind not in WITHOUT_CLAIMS and chance.random() < WITH_CLAIM else "",
    )
    return KINDS[kind][1](draft, chance, shape)


def _workload(
    draft: Draft, resource: Resource, spec: Document, size: int, pause: tuple[str, ...] = ("spec", "suspend")
) -> Workload:
    meta = {"name": draft.name, "namespace": "default", **spec.pop("metadata", {})}
    document = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta, "spec": spec}
    kind, claims = draft.name.rpartition("-")[0], (draft.claim,) if draft.claim else ()
    return Workload(
        draft.name,
        kind,
        resource,
        document,
        size,
        PRIORITIES[draft.priority],
        pause,
        exclusive=not {EXCLUSIVE, f"{PREFIX}exclusive-topology"}.isdisjoint(meta.get("annotations", {})),
        claims=claims,
    )


def _indexed(pods: int, spec: Document) -> Document:
    counts = {"parallelism": pods, "completions": pods, "completionMode": "Indexed", "backoffLimit": MANY}
    return {**counts, "template": {"spec": spec}}


def small(draft: Draft, chance: random.Random, _shape: Shape) -> Workload:
    return _workload(draft, JOBS, _indexed(1, draft.pod(chance.choice([0, 1]))), 1)


def job(draft: Draft, chance: random.Random, shape: Shape) -> Workload:
    pods = chance.randint(2, 2 * shape.nodes)
    return _workload(draft, JOBS, _indexed(pods, draft.pod(1)), pods)


def _replicated(name: str, jobs: int, pods: int, spec: Document, **more: Any) -> Document:
    return {"name": name, "replicas": jobs, "template": {"spec": _indexed(pods, spec)}, **more}


def _jobset(draft: Draft, jobs: list[Document], **spec: Any) -> Workload:
    size = sum(job["replicas"] * job["template"]["spec"]["parallelism"] for job in jobs)
    return _workload(draft, JOB_SETS, {"replicatedJobs": jobs, "failurePolicy": {"maxRestarts": MANY}, **spec}, size)


def _with_later(workload: Workload, pods: int) -> Workload:
    """The last pods are made when the ones before them run, or are done."""
    return msgspec.structs.replace(workload, later=pods)


def exclusive(draft: Draft, chance: random.Random, shape: Shape) -> Workload:
    jobs = _replicated("worker", chance.randint(1, shape.slices - 1), shape.nodes, draft.pod(shape.gpus))
    return _jobset(draft, [jobs], metadata={"annotations": {EXCLUSIVE: SLICE}})


def exclusive_in_order(draft: Draft, _chance: random.Random, shape: Shape) -> Workload:
    """The driver has a domain, and later each of the workers."""
    jobs = [_replicated("driver", 1, 1, draft.pod(1)), _replicated("worker", 1, shape.nodes, draft.pod(1))]
    order = {"startupPolicy": {"startupPolicyOrder": "InOrder"}}
    return _with_later(_jobset(draft, jobs, metadata={"annotations": {EXCLUSIVE: SLICE}}, **order), shape.nodes)


def in_order(draft: Draft, chance: random.Random, shape: Shape) -> Workload:
    jobs = [
        _replicated("driver", 1, 1, draft.pod(1)),
        _replicated("worker", chance.randint(1, 2), shape.nodes, draft.pod(1)),
    ]
    workload = _jobset(draft, jobs, startupPolicy={"startupPolicyOrder": "InOrder"})
    return _with_later(workload, workload.size - 1)


def depends_on(draft: Draft, chance: random.Random, shape: Shape) -> Workload:
    """The first stage is over before the second begins, or runs beside it."""
    status = chance.choice(["Complete", "Ready"])
    first = draft.pod(1, seconds=1.0 if status == "Complete" else None)
    later = {"dependsOn": [{"name": "prepare", "status": status}]}
    jobs = [_replicated("prepare", 1, 1, first), _replicated("train", 1, 2 * shape.nodes - 1, draft.pod(1), **later)]
    return _with_later(_jobset(draft, jobs), 2 * shape.nodes - 1)


def pytorch(draft: Draft, chance: random.Random, shape: Shape) -> Workload:
    return _pytorch(draft, chance.randint(1, shape.nodes), chance.choice([1, shape.gpus]))


def exclusive_pytorch(draft: Draft, chance: random.Random, shape: Shape) -> Workload:
    """All its pods are one island."""
    note = {"annotations": {f"{PREFIX}exclusive-topology": SLICE}}
    return _pytorch(draft, chance.randint(1, shape.nodes - 1), shape.gpus, metadata=note)


def _pytorch(draft: Draft, workers: int, gpus: int, **spec: Any) -> Workload:
    def role(replicas: int) -> Document:
        pod = _without_restart(draft.pod(gpus, "pytorch"))
        return {"replicas": replicas, "restartPolicy": "OnFailure", "template": {"spec": pod}}

    roles = {"Master": role(1), "Worker": role(workers)}
    policy = {"backoffLimit": MANY, "cleanPodPolicy": "All"}
    spec |= {"pytorchReplicaSpecs": roles, "runPolicy": policy}
    return _workload(draft, PYTORCH_JOBS, spec, workers + 1, ("spec", "runPolicy", "suspend"))


def mpi(draft: Draft, chance: random.Random, shape: Shape) -> Workload:
    """The launcher is made when all workers are ready, or at once."""
    workers = chance.randint(1, shape.nodes)
    roles = {
        "Launcher": {"replicas": 1, "template": {"spec": _without_restart(draft.pod(0, "mpi"))}},
        "Worker": {"replicas": workers, "template": {"spec": _without_restart(draft.pod(1, "mpi", seconds=-1))}},
    }
    policy = chance.choice(["WaitForWorkersReady", "AtStartup"])
    run = {"backoffLimit": MANY, "cleanPodPolicy": "Running"}
    spec = {"mpiReplicaSpecs": roles, "runPolicy": run, "launcherCreationPolicy": policy}
    workload = _workload(draft, MPI_JOBS, spec, workers + 1, ("spec", "runPolicy", "suspend"))
    return _with_later(workload, 1 if policy == "WaitForWorkersReady" else 0)


def old_mpi(draft: Draft, chance: random.Random, shape: Shape) -> Workload:
    """v1alpha1: one template for launcher and workers; workers only wait."""
    workers = chance.randint(1, shape.nodes)
    spec = {"replicas": workers, "backoffLimit": MANY, "template": {"spec": _without_restart(draft.pod(1, "mpi"))}}
    return _with_later(_workload(draft, MPI_JOBS_V1ALPHA1, spec, workers + 1, ()), 1)


def train(draft: Draft, chance: random.Random, shape: Shape) -> Workload:
    nodes = chance.randint(1, shape.nodes)
    return _train_job(draft, f"chaos-{draft.priority}", nodes, nodes)


def train_with_data(draft: Draft, chance: random.Random, shape: Shape) -> Workload:
    """An initializer ends before the trainer begins."""
    nodes = chance.randint(1, shape.nodes)
    return _train_job(draft, f"chaos-data-{draft.priority}", nodes, nodes + 1)


def _train_job(draft: Draft, runtime: str, nodes: int, size: int) -> Workload:
    trainer = {"command": draft.command(), "env": environment(), "numNodes": nodes}
    trainer["resourcesPerNode"] = {"limits": {GPU: "1"}}
    spec: Document = {"runtimeRef": {"name": runtime}, "trainer": trainer}
    if size > nodes:
        spec["initializer"] = {"dataset": {"storageUri": "file://none"}}
    return _with_later(_workload(draft, TRAIN_JOBS, spec, size), nodes if size > nodes else 0)


def _without_restart(pod: Document) -> Document:
    return {key: value for key, value in pod.items() if key != "restartPolicy"}


def provisions(folder: Path) -> list[tuple[Resource, Document]]:
    """PriorityClasses, and runtimes for TrainJobs, which have their priorities from them."""
    found: list[tuple[Resource, Document]] = []
    for name, value in PRIORITIES.items():
        meta = {"apiVersion": PRIORITY_CLASSES.api_version, "kind": PRIORITY_CLASSES.kind, "metadata": {"name": name}}
        found.append((PRIORITY_CLASSES, {**meta, "value": value}))
        found.append((CLUSTER_TRAINING_RUNTIMES, _runtime(f"chaos-{name}", [_trainer(name)])))
        order = [{"name": "dataset-initializer", "status": "Complete"}]
        stages = [_initializer(name, folder), _trainer(name, dependsOn=order)]
        found.append((CLUSTER_TRAINING_RUNTIMES, _runtime(f"chaos-data-{name}", stages)))
    return found


def _runtime(name: str, jobs: list[Document]) -> Document:
    spec = {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": jobs}}}
    api, kind = CLUSTER_TRAINING_RUNTIMES.api_version, CLUSTER_TRAINING_RUNTIMES.kind
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _trainer(priority: str, **more: Any) -> Document:
    pod = {**_plain_pod(priority), "containers": [{"name": "node", "image": "none"}]}
    return _stage("node", "trainer", pod, **more)


def _initializer(priority: str, folder: Path) -> Document:
    draft = Draft("initializer", priority, folder, 1.0, "0")
    pod = {**_plain_pod(priority), "containers": [draft.container(0, "dataset-initializer")]}
    return _stage("dataset-initializer", "dataset-initializer", pod)


def _plain_pod(priority: str) -> Document:
    return {"restartPolicy": "Never", "priorityClassName": priority, "terminationGracePeriodSeconds": GRACE}


def _stage(name: str, step: str, pod: Document, **more: Any) -> Document:
    template = {"metadata": {"labels": {STEP: step}}, "spec": {"backoffLimit": MANY, "template": {"spec": pod}}}
    return {"name": name, "template": template, **more}


def claim(name: str) -> tuple[Resource, Document]:
    meta = {"name": name, "namespace": "default"}
    spec = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Mi"}}}
    return CLAIMS, {"apiVersion": CLAIMS.api_version, "kind": CLAIMS.kind, "metadata": meta, "spec": spec}


Maker = Callable[[Draft, random.Random, Shape], Workload]
KINDS: dict[str, tuple[int, Maker]] = {
    "small": (4, small),
    "job": (4, job),
    "exclusive": (6, exclusive),
    "exclusive-in-order": (3, exclusive_in_order),
    "exclusive-pytorch": (3, exclusive_pytorch),
    "in-order": (4, in_order),
    "depends-on": (4, depends_on),
    "pytorch": (3, pytorch),
    "mpi": (3, mpi),
    "old-mpi": (2, old_mpi),
    "train": (2, train),
    "train-data": (3, train_with_data),
}
WITHOUT_CLAIMS = ("small", "train", "train-data")  # the pods of a TrainJob are those of its runtime
