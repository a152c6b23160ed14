"""Nodes as the tables of jobs show them: which kind of capacity they are, and whether they have announced their end.

Without leases, and on an embedded cluster without the planner, which takes its time to load."""

import asyncio
import time
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

import msgspec

from understudy.cli.clusters.selection import local_cluster_at
from understudy.cli.queries.objects import NodeState
from understudy.client import KubeClient
from understudy.control.view.node_capacity import capacity_of
from understudy.control.view.node_health import HealthLimits, examine_node
from understudy.kinds.decoding import decode
from understudy.model.nodes import Health, Verdict
from understudy.objects.errors import BadObject
from understudy.objects.nodes import Node
from understudy.objects.resources import NODES, Resource
from understudy.ports import Ref, Refused

ONE_BY_ONE = 16  # nodes that are read one by one; of more, the list of all nodes is read
Document = dict[str, Any]


async def node_states(client: KubeClient, names: Iterable[str]) -> dict[str, NodeState]:
    """Node states by the Node objects alone, without leases. Nodes that are gone, or that the user may not see, are
    left out."""
    wanted = set(names)
    if len(wanted) <= ONE_BY_ONE:
        found = [one for one in await asyncio.gather(*(_node(client, name) for name in sorted(wanted))) if one]
    else:
        found = [one for one in await _visible(client) if one["metadata"]["name"] in wanted]
    limits, now = await _limits(client), time.time()
    return {document["metadata"]["name"]: _state(document, limits, now) for document in found}


async def _limits(client: KubeClient) -> HealthLimits:
    if (cluster := local_cluster_at(client.config)) is not None:
        return msgspec.convert(cluster.settings.loop.get("health", {}), HealthLimits)
    from understudy.cli.queries.scheduler_state import settings_in_force  # with the planner

    return (await settings_in_force(client, None)).settings.health


def _state(document: Document, limits: HealthLimits, now: float) -> NodeState:
    capacity = capacity_of(document["metadata"].get("labels") or {}, limits.spot_labels)
    try:
        node = decode(document)
        assert isinstance(node, Node)
        return NodeState(capacity, examine_node(node, None, now, limits).health)
    except BadObject as error:
        return NodeState(capacity, Health(Verdict.SUSPECT, str(error)))


async def _node(client: KubeClient, name: str) -> Document | None:
    try:
        return {**_head(NODES), **msgspec.json.decode(await client.get(Ref(NODES, name=name)))}
    except Refused as error:
        if error.code not in (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND):
            raise
        return None


async def _visible(client: KubeClient) -> list[Document]:
    try:
        return await list_documents(client, NODES)
    except Refused as error:
        if error.code != HTTPStatus.FORBIDDEN:
            raise
        return []


async def list_documents(client: KubeClient, resource: Resource, namespace: str = "") -> list[Document]:
    listed = msgspec.json.decode(await client.get(Ref(resource, namespace)))
    return [{**_head(resource), **item} for item in listed["items"]]


def _head(resource: Resource) -> Document:
    return {"apiVersion": resource.api_version, "kind": resource.kind}
