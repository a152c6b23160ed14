"""A node goes under a running job: how long until the pod that takes the place of the lost one is bound elsewhere."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from bench.kube.binding_watch import BindingWatch, Seen
from bench.kube.measures import Scheduler
from bench.kube.workload import LOW, NAMESPACE, PER_NODE, TPU
from tests.kube.cluster.kwok import Nodes
from understudy.client import KubeClient
from understudy.objects.resources import JOBS
from understudy.ports import Ref

MEMBERS = 4
SETTLED = 60.0
PATIENCE = 45.0  # for schedulers that have to detect a death themselves
DEFAULT_SECONDS = 350.0  # 50 s until a node counts as unreachable, 300 s that pods tolerate that


class Replaced(msgspec.Struct, frozen=True):
    manner: str
    seconds: float  # from the blow to the replacement bound


def _taint(nodes: Nodes, name: str) -> None:
    taint = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}
    nodes.die(name)
    nodes.api.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": [taint]}})


def _condition(nodes: Nodes, name: str) -> None:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    bad = {"type": "GPUUnhealthy", "status": "True", "reason": "XidErrors", "lastTransitionTime": now}
    known = nodes.get(name)["status"]["conditions"]
    nodes.api.patch(f"/api/v1/nodes/{name}/status", {"status": {"conditions": [*known, bad]}})


def _deletion(nodes: Nodes, name: str) -> None:
    nodes.die(name)
    nodes.api.delete(f"/api/v1/nodes/{name}")


MANNERS: dict[str, Callable[[Nodes, str], None]] = {
    "silence": lambda nodes, name: nodes.die(name),
    "taint": _taint,
    "condition": _condition,
    "deletion": _deletion,
}


async def replace(client: KubeClient, seen: BindingWatch, nodes: Nodes, contender: Scheduler, manner: str) -> Replaced:
    name = f"{contender.scheduler}-{manner}"
    await client.create(Ref(JOBS, NAMESPACE), _job(name, contender.scheduler))
    await seen.until(lambda: len(seen.bound(name)) == MEMBERS, SETTLED, f"{name} is seated")
    victim, before = seen.bound(name)[0], {pod.name for pod in seen.bound(name)}

    def fresh() -> list[Seen]:
        return [pod for pod in seen.bound(name) if pod.name not in before]

    began = asyncio.get_running_loop().time()
    await asyncio.to_thread(MANNERS[manner], nodes, victim.node)
    patience = PATIENCE if contender.grouped else DEFAULT_SECONDS + 100
    await seen.until(lambda: bool(fresh()), patience, f"{name}: a replacement is bound")
    return Replaced(manner, fresh()[0].bound_at - began)


def _job(name: str, scheduler: str) -> dict[str, Any]:
    asked = {TPU: str(PER_NODE)}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "completionMode": "Indexed",
            "completions": MEMBERS,
            "parallelism": MEMBERS,
            "template": {
                "metadata": {"labels": {"gang": name}},
                "spec": {
                    "schedulerName": scheduler,
                    "priorityClassName": LOW,
                    "restartPolicy": "Never",
                    "containers": [{"name": "main", "image": "train", "resources": {"limits": asked}}],
                },
            },
        },
    }
