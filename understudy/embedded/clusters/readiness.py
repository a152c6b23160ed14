"""Waits until a cluster answers, its nodes are ready and what it brings along is there; takes nodes away that it no
longer has.
"""

import asyncio
import contextlib
from collections.abc import Iterable

import msgspec

from understudy.client import KubeClient, connect
from understudy.embedded.clusters.nodes import POOL
from understudy.embedded.clusters.processes import SUPERVISOR
from understudy.embedded.definitions import shipped
from understudy.embedded.folders import ClusterFolder
from understudy.embedded.provisions import provisions
from understudy.objects.meta import Condition, ObjectMeta, Part, holds
from understudy.objects.nodes import Node
from understudy.objects.resources import DEFINITIONS, NODES
from understudy.ports import ChangeType, Ref, Refused, Unreachable

_LOOK = 0.02


class NotReady(Exception):
    """What the cluster still lacks."""


class _DefinitionStatus(Part, frozen=True):
    conditions: tuple[Condition, ...] = ()


class _Definition(Part, frozen=True):
    metadata: ObjectMeta
    status: _DefinitionStatus = _DefinitionStatus()


async def until_ready(folder: ClusterFolder, seconds: float) -> None:
    """Raises NotReady after so many seconds."""
    wanted = {node["metadata"]["name"] for node in folder.read_settings().nodes}
    waiting, kinds, objects = set(wanted), set(shipped()), {ref: ref.name for ref, _ in provisions()}
    answered = False
    try:
        async with asyncio.timeout(seconds), connect(folder.access(SUPERVISOR)) as client:
            await _until_it_answers(client)
            answered = True
            await _until_nodes_are_ready(client, wanted, waiting)
            await _until_kinds_are_served(client, kinds)
            await _until_objects_are_there(client, objects)
    except TimeoutError:
        lacks = "the API does not answer"
        if answered:
            nodes = f"these nodes are not ready: {_some(waiting)}" if waiting else ""
            lacks = nodes or (f"not served: {_some(kinds)}" if kinds else f"not there: {_some(objects.values())}")
        raise NotReady(f"after {seconds:g} s {lacks}") from None


async def _until_it_answers(client: KubeClient) -> None:
    while True:
        try:
            await client.request("GET", "/readyz")
            return
        except (Unreachable, Refused):
            await asyncio.sleep(_LOOK)


async def _until_nodes_are_ready(client: KubeClient, wanted: set[str], waiting: set[str]) -> None:
    """Empties `waiting`."""
    synced = False
    async for change in client.follow(NODES):
        match change.type:
            case ChangeType.SYNCED:
                synced = True
            case ChangeType.ADDED | ChangeType.MODIFIED:
                node = _decode(change.raw)
                if node.metadata.name in wanted:
                    (waiting.discard if _is_ready(node) else waiting.add)(node.metadata.name)
                elif POOL in node.metadata.labels:
                    await _retire(client, node)
        if synced and not waiting:
            return


async def _until_kinds_are_served(client: KubeClient, waiting: set[str]) -> None:
    """Empties `waiting`: the definitions that the cluster brings along by itself."""
    async for change in client.follow(DEFINITIONS):
        if change.raw:
            definition = msgspec.json.decode(change.raw, type=_Definition)
            if holds(definition.status.conditions, "Established"):
                waiting.discard(definition.metadata.name)
        if not waiting:
            return


async def _until_objects_are_there(client: KubeClient, waiting: dict[Ref, str]) -> None:
    """Empties `waiting`: the objects that the cluster brings along by itself."""
    for ref in list(waiting):
        while ref in waiting:
            try:
                await client.get(ref)
                del waiting[ref]
            except Refused as error:
                if error.code != 404:
                    raise
                await asyncio.sleep(_LOOK)


async def _retire(client: KubeClient, node: Node) -> None:
    """A node of an earlier cluster file."""
    with contextlib.suppress(Refused, Unreachable):
        await client.delete(Ref(NODES, name=node.metadata.name), uid=node.metadata.uid)


def _is_ready(node: Node) -> bool:
    return any(condition.type == "Ready" and condition.status == "True" for condition in node.status.conditions)


def _decode(raw: bytes) -> Node:
    return msgspec.json.decode(raw, type=Node)


def _some(names: Iterable[str], most: int = 5) -> str:
    known = sorted(names)
    return ", ".join(known[:most]) + (f" and {len(known) - most} more" if len(known) > most else "")
