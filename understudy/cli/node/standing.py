"""Nodes, their leases and their pods into what people want to know of each node."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from understudy.cli.jobs.gathering import pods_on
from understudy.cli.jobs.instances import natural
from understudy.cli.jobs.nodes import Usage, node_figures, usage_of
from understudy.cli.jobs.seen import SeenNode
from understudy.control.fences import FenceBook
from understudy.control.health import HealthLimits, examined, heartbeat, is_silent
from understudy.control.scheduling import LoopSettings
from understudy.decide.describe import until_clause
from understudy.decide.guards import failed_lately, lemon
from understudy.decide.policy import Policy
from understudy.kinds.annotations import read_times
from understudy.kinds.decoding import decode
from understudy.model import nodes as model
from understudy.model.nodes import Verdict, is_accelerator
from understudy.model.quantity import format_quantity
from understudy.objects.errors import BadObject
from understudy.objects.meta import seconds
from understudy.objects.nodes import LEASE_NAMESPACE, Lease, Node
from understudy.objects.resources import LEASES, NODES, Resource
from understudy.ports import Ref, Refused

if TYPE_CHECKING:
    from understudy.client import KubeClient
    from understudy.client.config import Config

# By which label a node says what it belongs to: the first that it has.
POOLS = (
    "understudy.dev/pool",
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "kubernetes.azure.com/agentpool",
    "karpenter.sh/nodepool",
    "node.kubernetes.io/instance-type",
)
SLICES = ("cloud.google.com/gke-nodepool", "nvidia.com/gpu.clique", "topology.kubernetes.io/rack")
SPARE = "understudy.dev/spare"

Document = dict[str, Any]


class Standing(msgspec.Struct, frozen=True):
    """A node as a whole."""

    usage: Usage
    verdict: Verdict
    reason: str  # why it is not healthy
    pool: str
    slice: str
    spare: str
    age: float

    @property
    def status(self) -> str:
        words = ["Ready" if self.usage.ready else "NotReady"]
        words += [self.verdict.value.capitalize()] if self.verdict is not Verdict.HEALTHY else []
        words += [] if self.usage.schedulable else ["SchedulingDisabled"]
        return ",".join(words)

    @property
    def accelerators(self) -> Mapping[str, str]:
        return {name: format_quantity(n, name) for name, n in self.usage.offers.items() if is_accelerator(name) and n}


class Judge(msgspec.Struct, frozen=True):
    """Says how a node is, as the scheduler would."""

    leases: Mapping[str, Lease]
    now: float
    limits: HealthLimits
    policy: Policy = Policy()

    def of(self, document: Document) -> tuple[Verdict, str]:
        try:
            node = decode(document)
            assert isinstance(node, Node)
            beat = heartbeat(self.leases.get(node.metadata.name))
            found = examined(node, beat, self.now, self.limits)
            silent = is_silent(node, beat, self.now, self.limits)
            health = FenceBook(self.limits.return_margin).judged(node, found, silent, self.now).health
            failures = read_times(node.metadata.annotations, "failed-at", node)
        except BadObject as error:
            return Verdict.SUSPECT, str(error)
        return health.verdict, health.cause or self._past(failures)

    def _past(self, failures: tuple[float, ...]) -> str:
        """What a healthy node is made to pay for."""
        node = model.Node("", failures=failures)
        if (guard := lemon(node, self.policy, self.now)) is not None:
            return f"{guard.guard}: {guard.detail}{until_clause(guard.until)}"
        if failed_lately(node, self.policy, self.now):
            return f"failed lately: the last choice{until_clause(failures[-1] + self.policy.node_cooldown)}"
        return ""


async def standings(client: "KubeClient") -> list[Standing]:
    nodes, leases, pods = await asyncio.gather(_items(client, NODES), _leases(client), pods_on(client, ()))
    usages = usage_of([msgspec.convert(node, SeenNode) for node in nodes], pods)
    judge = Judge(leases, time_there(list(leases.values()), time.time()), *_settings(client.config))
    found = [_standing(node, usage, judge) for node, usage in zip(nodes, usages, strict=True)]
    return sorted(found, key=lambda one: natural(one.usage.name))


def time_there(leases: Sequence[Lease], here: float) -> float:
    """The time in the cluster: as here, unless its newest lease tells that the clocks disagree."""
    renewed = [(at, lease.spec.lease_duration_seconds) for lease in leases if (at := seconds(lease.spec.renew_time))]
    newest, lasts = max(renewed, default=(here, 0))
    return here if newest <= here <= newest + lasts else newest


def _settings(config: "Config") -> tuple[HealthLimits, Policy]:
    """Those that the scheduler of an embedded cluster of this machine judges by; the defaults for any other."""
    from understudy.cli.clusters import at_server
    from understudy.embedded.loop_settings import loop_settings

    cluster = at_server(config)
    loop = loop_settings(cluster.settings.loop) if cluster else LoopSettings()
    return loop.limits, loop.policy


def _standing(document: Document, usage: Usage, judge: Judge) -> Standing:
    labels = document["metadata"].get("labels") or {}
    state, why = judge.of(document)
    created = msgspec.convert(document, SeenNode).metadata.creation_timestamp
    return Standing(
        usage=usage,
        verdict=state,
        reason=why,
        pool=first_of(labels, POOLS),
        slice=first_of(labels, SLICES),
        spare=labels.get(SPARE, ""),
        age=max(0.0, time.time() - created.timestamp()) if created else 0.0,
    )


def first_of(labels: Mapping[str, str], keys: Sequence[str]) -> str:
    return next((labels[key] for key in keys if key in labels), "")


async def _items(client: "KubeClient", resource: Resource, namespace: str = "") -> list[Document]:
    listed = msgspec.json.decode(await client.get(Ref(resource, namespace)))
    head = {"apiVersion": resource.api_version, "kind": resource.kind}
    return [{**head, **item} for item in listed["items"]]


async def _leases(client: "KubeClient") -> dict[str, Lease]:
    """Not everybody may see them, and not every cluster has them."""
    try:
        documents = await _items(client, LEASES, LEASE_NAMESPACE)
    except Refused as error:
        if error.code not in (403, 404):
            raise
        return {}
    return {lease.metadata.name: lease for lease in map(decode, documents) if isinstance(lease, Lease)}


def figures(one: Standing) -> Document:
    """The keys are a promise to scripts; docs/reference/cli.md lists them."""
    known = {key: value for key, value in node_figures(one.usage).items() if key != "spare"}
    return {
        **known,
        "status": one.status,
        "health": one.verdict.value,
        "reason": one.reason,
        "pool": one.pool,
        "slice": one.slice,
        "spare": one.spare,
        "ageSeconds": int(one.age),
    }
