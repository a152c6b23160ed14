"""One user's mistake beside other users' jobs: how soon a small job starts beside a gang far too large for the cluster.

The gang is a PyTorchJob, so that every pod comes with a Service. Small jobs are started on the empty cluster, while the
pods of the gang are created, beside all of them, and on the cluster that is empty again after the gang was deleted.
"""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import uvloop

from bench.embedded.api_measures import Figures
from bench.embedded.cluster_measures import Cluster, cluster
from understudy.client import KubeClient, connect
from understudy.kinds.training_operator.pytorchjob import PYTORCH_JOBS
from understudy.objects.meta import KubeObject
from understudy.objects.pods import Pod
from understudy.objects.resources import JOBS, NAMESPACES, PODS, SERVICES, Resource
from understudy.ports import ChangeType, Ref

CLUSTER = """\
pools:
  - {name: node, count: 2, cpu: 64, memory: 256Gi, pods: 1000, accelerators: {nvidia.com/gpu: 4}}
"""
GANG, CROWDED, SMALL = "crowd", "default", "small"
JOB_NAME = "training.kubeflow.org/job-name"
LONGEST_WAIT = 900.0  # seconds for the gang to be created or deleted


def crowd(pods: int, starts: int) -> Figures:
    with cluster(CLUSTER) as made:
        return uvloop.run(_crowd(made, pods, starts))


async def _crowd(made: Cluster, pods: int, starts: int) -> Figures:
    async with connect(made.kubeconfig) as client, _Population.followed(client) as there:
        await client.create(Ref(NAMESPACES), {"metadata": {"name": SMALL}})
        await _start(client, "warm-up")
        alone = [await _start(client, f"alone-{number}") for number in range(starts)]
        began = time.perf_counter()
        await client.create(Ref(PYTORCH_JOBS, CROWDED), _gang(pods))
        during: list[float] = []
        while there.pods < pods or there.services < pods:
            there.check(began)
            during.append(await _start(client, f"during-{len(during)}"))
        created = time.perf_counter() - began
        beside = [await _start(client, f"beside-{number}") for number in range(starts)]
        deleted = await _deleted(client, there)
        after = [await _start(client, f"after-{number}") for number in range(starts)]
    return _figures(alone, after, {"during_creation": during, "beside": beside}) | {
        "gang_created_seconds": created,
        "gang_deleted_seconds": deleted,
        **{f"{part}_resident_mb": size / 1e6 for part, size in made.resident_bytes().items()},
    }


def _figures(before: list[float], after: list[float], crowded: dict[str, list[float]]) -> Figures:
    """Medians, and their ratios to the empty cluster: to the starts before and after the gang together, since other
    work on the machine comes and goes in the minutes between."""
    usual = statistics.median([*before, *after])
    figures = {
        "start_alone_ms": statistics.median(before) * 1e3,
        "start_after_deletion_ms": statistics.median(after) * 1e3,
    }
    for when, seconds in crowded.items():
        figures |= {
            f"start_{when}_ms": statistics.median(seconds) * 1e3,
            f"start_{when}_worst_ms": max(seconds) * 1e3,
            f"start_{when}_ratio": statistics.median(seconds) / usual,
        }
    return figures


class _Population:
    """Counts the pods and Services in the namespace of the gang, as watches show them."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._names: dict[str, set[str]] = {PODS.key: set(), SERVICES.key: set()}

    @classmethod
    @asynccontextmanager
    async def followed(cls, client: KubeClient) -> AsyncIterator["_Population"]:
        there = cls()
        tasks = [asyncio.create_task(there._follow(client, resource)) for resource in (PODS, SERVICES)]
        try:
            yield there
        finally:
            for task in tasks:
                task.cancel()

    async def _follow(self, client: KubeClient, resource: Resource) -> None:
        names = self._names[resource.key]
        async for change in client.follow(resource, namespace=CROWDED, labels=f"{JOB_NAME}={GANG}"):
            if change.type is not ChangeType.SYNCED:
                name = msgspec.json.decode(change.raw, type=KubeObject).metadata.name
                (names.discard if change.type is ChangeType.DELETED else names.add)(name)

    @property
    def pods(self) -> int:
        return len(self._names[PODS.key])

    @property
    def services(self) -> int:
        return len(self._names[SERVICES.key])

    def check(self, began: float) -> None:
        if time.perf_counter() - began > LONGEST_WAIT:
            raise RuntimeError(f"after {LONGEST_WAIT:.0f} s there are {self.pods} pods and {self.services} Services")


async def _start(client: KubeClient, name: str) -> float:
    """Seconds from the request to the pod of the job being seen to run."""
    began = time.perf_counter()
    await client.create(Ref(JOBS, SMALL), _small_job(name))
    async for change in client.follow(PODS, namespace=SMALL, labels=f"job-name={name}"):
        if change.raw and msgspec.json.decode(change.raw, type=Pod).status.phase in ("Running", "Succeeded"):
            break
    seconds = time.perf_counter() - began
    await client.delete(Ref(JOBS, SMALL, name), propagation="Background")
    return seconds


async def _deleted(client: KubeClient, there: _Population) -> float:
    """Seconds until nothing of the gang is left."""
    began = time.perf_counter()
    await client.delete(Ref(PYTORCH_JOBS, CROWDED, GANG), propagation="Background")
    while there.pods or there.services:
        there.check(began)
        await asyncio.sleep(0.01)
    return time.perf_counter() - began


def _small_job(name: str) -> dict[str, Any]:
    container = {"name": "main", "image": "none", "command": ["sleep", "600"]}
    template = {"spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container]}}
    return {"metadata": {"name": name}, "spec": {"template": template}}


def _gang(pods: int) -> dict[str, Any]:
    container = {
        "name": "pytorch",
        "image": "none",
        "command": ["sleep", "600"],
        "resources": {"limits": {"nvidia.com/gpu": 1}},
    }
    template = {"spec": {"containers": [container]}}
    replicas = {"Master": 1, "Worker": pods - 1}
    specs = {role: {"replicas": count, "template": template} for role, count in replicas.items()}
    return {"metadata": {"name": GANG}, "spec": {"pytorchReplicaSpecs": specs}}
