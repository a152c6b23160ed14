"""Waits until a cluster answers, its nodes are ready and its bundled objects exist. Deletes nodes that are no longer in
its settings.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from http import HTTPStatus
from pathlib import Path

import msgspec

from understudy.client import Config, KubeClient, connect
from understudy.client.kubeconfig import read_kubeconfig
from understudy.embedded import failed_nodes
from understudy.embedded.cluster_folder import ClusterFolder
from understudy.embedded.clusters.nodes import POOL
from understudy.embedded.clusters.process_lock import SUPERVISOR
from understudy.embedded.manifests.definitions import bundled_definitions
from understudy.embedded.manifests.objects import bundled_objects
from understudy.objects.meta import Condition, ObjectMeta, Part, has_condition
from understudy.objects.nodes import Node
from understudy.objects.resources import DEFINITIONS, NODES
from understudy.ports import ChangeType, Ref, Refused, Unreachable

_LOOK = 0.02
_PAUSE = 0.5
UNREGISTERED = "it has not registered"


class NotReady(Exception):
    """The cluster is not ready in time; the message says what is missing."""


class Readiness(msgspec.Struct):
    """What a starting cluster still lacks."""

    failed: set[str]  # nodes that were failed on purpose, which are not waited for
    waiting: dict[str, str]  # other nodes that are not ready, with the reason
    kinds: set[str]  # bundled definitions that are not served yet
    objects: dict[Ref, str]  # bundled objects that do not exist yet, with their names
    answers: bool = False
    is_port_lost: bool = False  # another program has the port that the user asked for
    is_synced: bool = False  # all existing nodes were seen
    ready_nodes: int = 0

    @property
    def is_complete(self) -> bool:
        return self.answers and not (self.failed or self.waiting or self.kinds or self.objects)

    @property
    def lacks(self) -> str:
        """In words."""
        if self.is_port_lost:
            return "another program has its port"
        if not self.answers:
            return "the API does not answer"
        if nodes := self.failed | set(self.waiting):
            return f"these nodes are not ready: {some(nodes)}"
        return f"not served: {some(self.kinds)}" if self.kinds else f"not there: {some(self.objects.values())}"


class _DefinitionStatus(Part, frozen=True):
    conditions: tuple[Condition, ...] = ()


class _Definition(Part, frozen=True):
    metadata: ObjectMeta
    status: _DefinitionStatus = _DefinitionStatus()


async def wait_until_ready(folder: ClusterFolder, seconds: float) -> None:
    """Raises NotReady after so many seconds."""
    found = await readiness(folder, seconds)
    if not found.is_complete:
        raise NotReady(f"after {seconds:g} s {found.lacks}")


async def readiness(folder: ClusterFolder, seconds: float | None) -> Readiness:
    """Returns when everything but failed nodes is ready, or after `seconds`; None waits without a limit."""
    wanted = {node["metadata"]["name"] for node in folder.read_settings().nodes}
    found = Readiness(
        failed=set(),
        waiting=dict.fromkeys(wanted, UNREGISTERED),
        kinds=set(bundled_definitions()),
        objects={ref: ref.name for ref, _ in bundled_objects()},
    )
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds), _answering(folder) as client:
            found.answers = True
            async with asyncio.TaskGroup() as group:
                looks = (_note_nodes, _until_kinds_are_served, _until_objects_are_there)
                nodes, *others = [group.create_task(_persistently(look, client, found)) for look in looks]
                await _until_nodes_are_ready(folder, found)
                await asyncio.gather(*others)
                nodes.cancel()
    _note_failed(folder, found)
    found.ready_nodes = len(wanted - found.failed - found.waiting.keys())
    return found


@contextlib.asynccontextmanager
async def _answering(folder: ClusterFolder) -> AsyncIterator[KubeClient]:
    """Yields a client once the API answers. Its port may change until then."""
    access = folder.access(SUPERVISOR)
    while True:
        while not access.exists():  # another `understudy up` may be writing it
            await asyncio.sleep(_LOOK)
        known = access.read_bytes()
        async with connect(_without_retries(access)) as client:
            if await _answers(client, access, known):
                break
    async with connect(access) as client:
        yield client


def _without_retries(access: Path) -> Config:
    return msgspec.structs.replace(read_kubeconfig(access), connect_retry=0.0)


async def _answers(client: KubeClient, access: Path, known: bytes) -> bool:
    """False if the kubeconfig has changed, and the API must be looked for elsewhere."""
    while access.read_bytes() == known:
        try:
            await client.request("GET", "/readyz")
            return True
        except (Unreachable, Refused):
            await asyncio.sleep(_LOOK)
    return False


async def _persistently(
    look: Callable[[KubeClient, Readiness], Awaitable[None]], client: KubeClient, found: Readiness
) -> None:
    """Asks again while the server fails or restarts."""
    while True:
        try:
            return await look(client, found)
        except (Refused, Unreachable):
            await asyncio.sleep(_PAUSE)


async def _until_nodes_are_ready(folder: ClusterFolder, found: Readiness) -> None:
    while True:
        _note_failed(folder, found)
        if found.is_synced and not found.waiting:
            return
        await asyncio.sleep(_LOOK)


def _note_failed(folder: ClusterFolder, found: Readiness) -> None:
    """An agent that starts may find frozen nodes, and adds them to the failed ones."""
    known = {node["metadata"]["name"] for node in folder.read_settings().nodes}
    found.failed |= failed_nodes.load(folder.path).names & known
    for name in found.failed:
        found.waiting.pop(name, None)


async def _note_nodes(client: KubeClient, found: Readiness) -> None:
    """Runs for ever. Removes nodes that become ready from `waiting`."""
    wanted = found.failed | found.waiting.keys()
    async for change in client.follow(NODES):
        match change.type:
            case ChangeType.SYNCED:
                found.is_synced = True
            case ChangeType.ADDED | ChangeType.MODIFIED:
                node = _decode(change.raw)
                if node.metadata.name in wanted:
                    _note(node, found)
                elif POOL in node.metadata.labels:
                    await _retire(client, node)


def _note(node: Node, found: Readiness) -> None:
    name = node.metadata.name
    ready = next((one for one in node.status.conditions if one.type == "Ready"), None)
    if name in found.failed:
        return
    if ready is not None and ready.status == "True":
        found.waiting.pop(name, None)
    else:
        found.waiting[name] = UNREGISTERED if ready is None else f"{ready.reason}: {ready.message}".strip(": ")


async def _until_kinds_are_served(client: KubeClient, found: Readiness) -> None:
    """Empties `kinds`."""
    async for change in client.follow(DEFINITIONS):
        if change.raw:
            definition = msgspec.json.decode(change.raw, type=_Definition)
            if has_condition(definition.status.conditions, "Established"):
                found.kinds.discard(definition.metadata.name)
        if not found.kinds:
            return


async def _until_objects_are_there(client: KubeClient, found: Readiness) -> None:
    """Empties `objects`."""
    for ref in list(found.objects):
        while ref in found.objects:
            try:
                await client.get(ref)
                del found.objects[ref]
            except Refused as error:
                if error.code != HTTPStatus.NOT_FOUND:
                    raise
                await asyncio.sleep(_LOOK)


async def _retire(client: KubeClient, node: Node) -> None:
    """Deletes a node of an earlier cluster file."""
    with contextlib.suppress(Refused, Unreachable):
        await client.delete(Ref(NODES, name=node.metadata.name), uid=node.metadata.uid)


def _decode(raw: bytes) -> Node:
    return msgspec.json.decode(raw, type=Node)


def some(names: Iterable[str], most: int = 5) -> str:
    known = sorted(names)
    return ", ".join(known[:most]) + (f" and {len(known) - most} more" if len(known) > most else "")
