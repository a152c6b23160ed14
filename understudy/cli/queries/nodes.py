"""Nodes with their leases and pods: what each offers and holds, and how healthy the scheduler takes it to be."""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from understudy.cli.errors import BadInput, suggestion
from understudy.cli.queries.instances import natural_key
from understudy.cli.queries.job_status import true_condition
from understudy.cli.queries.lists import pods_on_nodes
from understudy.cli.queries.names import check_node_name
from understudy.cli.queries.node_health import NodeHealthReader, node_health_reader, node_leases
from understudy.cli.queries.node_states import list_documents
from understudy.cli.queries.objects import NodeInfo, NodeState, PodInfo
from understudy.client import KubeClient
from understudy.kinds.roles import accelerators, amounts_of
from understudy.model.nodes import Verdict, is_accelerator
from understudy.model.quantity import format_quantity, parse_quantity
from understudy.objects.resources import NODES
from understudy.ports import Ref, Refused

# The labels that name the pool of a node; the first that it has counts.
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


class PodUsage(msgspec.Struct, frozen=True):
    """A pod and the resources it takes of its node."""

    namespace: str
    name: str
    requests: Mapping[str, int]
    limit: int  # of accelerators

    @property
    def gpus(self) -> int:
        return accelerators(self.requests)


class NodeUsage(msgspec.Struct, frozen=True):
    name: str
    address: str
    role: str
    ready: bool
    schedulable: bool
    spare: bool
    offers: Mapping[str, int]
    holdings: tuple[PodUsage, ...]

    @property
    def total(self) -> int:
        return accelerators(self.offers)

    @property
    def allocated(self) -> int:
        return sum(holding.gpus for holding in self.holdings)

    @property
    def status(self) -> str:
        return "ready" if self.ready else "notReady"

    def taken(self, resource: str) -> int:
        return sum(holding.requests.get(resource, 0) for holding in self.holdings)


class NodeSummary(msgspec.Struct, frozen=True):
    """A node with its usage, health, pool, slice, spare rule and age."""

    usage: NodeUsage
    state: NodeState
    pool: str
    slice: str
    spare: str
    age: float

    @property
    def verdict(self) -> Verdict:
        return self.state.health.verdict

    @property
    def reason(self) -> str:
        """Why the node is not healthy, or why the scheduler avoids a healthy one."""
        return self.state.health.cause

    @property
    def status(self) -> str:
        words = ["Ready" if self.usage.ready else "NotReady"]
        words += [self.verdict.value.capitalize()] if self.verdict is not Verdict.HEALTHY else []
        words += [] if self.usage.schedulable else ["SchedulingDisabled"]
        return ",".join(words)

    @property
    def accelerators(self) -> Mapping[str, str]:
        return {name: format_quantity(n, name) for name, n in self.usage.offers.items() if is_accelerator(name) and n}


async def node_summaries(client: KubeClient, names: Sequence[str] = ()) -> list[NodeSummary]:
    """Summaries of all nodes. The nodes in `names` are sure to have their pods."""
    listed = asyncio.gather(list_documents(client, NODES), node_leases(client), pods_on_nodes(client, names))
    nodes, leases, pods = await listed
    usages = node_usages([msgspec.convert(node, NodeInfo) for node in nodes], pods)
    reader = await node_health_reader(client, leases)
    found = [_summary(node, usage, reader) for node, usage in zip(nodes, usages, strict=True)]
    return sorted(found, key=lambda one: natural_key(one.usage.name))


def _summary(document: Document, usage: NodeUsage, reader: NodeHealthReader) -> NodeSummary:
    labels = document["metadata"].get("labels") or {}
    created = msgspec.convert(document, NodeInfo).metadata.creation_timestamp
    return NodeSummary(
        usage=usage,
        state=reader.of(document),
        pool=first_label(labels, POOLS),
        slice=first_label(labels, SLICES),
        spare=labels.get(SPARE, ""),
        age=max(0.0, time.time() - created.timestamp()) if created else 0.0,
    )


def first_label(labels: Mapping[str, str], keys: Sequence[str]) -> str:
    return next((labels[key] for key in keys if key in labels), "")


async def find_nodes(client: KubeClient, names: Iterable[str]) -> list[Document]:
    """The Node documents of these names, in their order. Raises BadInput where one does not exist."""
    wanted = list(dict.fromkeys(names))
    try:
        found = await asyncio.gather(*(client.get(Ref(NODES, name=name)) for name in wanted))
    except Refused as error:
        if error.code != HTTPStatus.NOT_FOUND:
            raise
        listed = msgspec.json.decode(await client.get(Ref(NODES)))
        known = [item["metadata"]["name"] for item in listed["items"]]
        for name in wanted:
            check_node_name(name, known, "NODE")
        raise
    return [msgspec.json.decode(raw) for raw in found]


_ROLE, _OLD_ROLE = "node-role.kubernetes.io/", "kubernetes.io/role"
_SPARE = "understudy.dev/spare"


def select_nodes(nodes: Sequence[NodeUsage], names: Sequence[str]) -> list[NodeUsage]:
    """The named nodes, else all nodes; sorted by name, with the numbers in names compared as numbers."""
    known = {node.name: node for node in nodes}
    for name in names:
        if name not in known:
            raise BadInput(f"top node: no node {name!r}; {suggestion(name, known, 'there are')}")
    return [known[name] for name in dict.fromkeys(names or sorted(known, key=natural_key))]


def node_usages(nodes: Iterable[NodeInfo], pods: Iterable[PodInfo]) -> list[NodeUsage]:
    on: dict[str, list[PodInfo]] = {}
    for pod in pods:
        if pod.spec.node_name and not pod.finished:
            on.setdefault(pod.spec.node_name, []).append(pod)
    return [_usage(node, on.get(node.metadata.name, ())) for node in nodes]


def _usage(node: NodeInfo, pods: Sequence[PodInfo]) -> NodeUsage:
    labels = node.metadata.labels
    addresses = {one.type: one.address for one in node.status.addresses}
    roles = sorted(label.removeprefix(_ROLE) for label in labels if label.startswith(_ROLE))
    return NodeUsage(
        name=node.metadata.name,
        address=addresses.get("InternalIP") or "unknown",
        role=",".join(filter(None, roles)) or labels.get(_OLD_ROLE) or "<none>",
        ready=true_condition(node.status.conditions, "Ready") is not None,
        schedulable=not node.spec.unschedulable,
        spare=_SPARE in labels,
        offers={name: parse_quantity(amount, name) for name, amount in node.status.allocatable.items()},
        holdings=tuple(
            sorted((_pod_usage(pod) for pod in pods), key=lambda one: (one.namespace, natural_key(one.name)))
        ),
    )


def _pod_usage(pod: PodInfo) -> PodUsage:
    limits: dict[str, int] = {}
    for container in pod.spec.containers:
        for name, amount in container.resources.limits.items():
            limits[name] = limits.get(name, 0) + parse_quantity(amount, name)
    meta = pod.metadata
    return PodUsage(meta.namespace, meta.name, amounts_of(pod.spec), accelerators(limits))
