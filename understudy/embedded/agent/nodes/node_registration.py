"""Node registration: registers the nodes of this machine, renews their leases, and brings back recovered ones."""

import asyncio
import contextlib
import logging
import shutil
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec

from understudy.embedded import failed_nodes
from understudy.embedded.agent.nodes import node_lease, node_status
from understudy.embedded.agent.nodes.node_lease import NodeLeases
from understudy.embedded.failed_nodes import FailedNodes
from understudy.objects.resources import NODES
from understudy.ports import Change, ChangeType, Cluster, PatchForm, Ref, Refused, Unreachable

RETURN_AFTER = 60.0  # seconds after which a deleted node registers again, as a repaired machine would
_AT_A_TIME = 8
_FIRST_PAUSE, _PAUSE = 0.02, 1.0

log = logging.getLogger(__name__)


class _NodeMetadata(msgspec.Struct, frozen=True):
    name: str = ""


class _NodeStatus(msgspec.Struct, frozen=True):
    conditions: list[dict[str, Any]] = []


class _Node(msgspec.Struct, frozen=True):
    metadata: _NodeMetadata
    status: _NodeStatus = _NodeStatus()


class NodeRegistry:
    def __init__(
        self,
        cluster: Cluster,
        documents: Sequence[Mapping[str, Any]],
        folder: Path,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`folder` is on the disk whose capacity the nodes offer; the list of failed nodes is kept in it."""
        self._cluster = cluster
        self._documents = {node["metadata"]["name"]: node for node in documents}
        self._storage = shutil.disk_usage(folder).total
        self._folder = folder
        known = failed_nodes.load(folder)
        self._save_timer: asyncio.TimerHandle | None = None
        self.failed: set[str] = known.dead & set(self._documents)
        self.unplugged: set[str] = known.unplugged & set(self._documents)  # they run, but write no leases or statuses
        self.has_heartbeats: Callable[[str], bool] = lambda _: False  # whether the node's process sends heartbeats
        self._now = now
        self._leases = NodeLeases(cluster, len(self._documents), now)
        self._heartbeats: dict[str, float] = {}  # the newest heartbeat of each node whose lease is being renewed
        self._limit = asyncio.Semaphore(_AT_A_TIME)
        self._returning: dict[str, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._documents)

    @property
    def documents(self) -> Iterable[Mapping[str, Any]]:
        return self._documents.values()

    # Registration

    async def register_all(self) -> None:
        """Returns when every node is registered; retried until the API is up."""

        async def one(name: str) -> None:
            async with self._limit:
                await self._register_until_done(name)

        for name in self.failed:
            self._begin(self._report_late(name))
        await asyncio.gather(*(one(name) for name in self._documents if not self._is_silenced(name)))

    async def _register_until_done(self, name: str) -> None:
        while True:
            try:
                await self._renew(name)
                await self._register(name)
                return
            except Unreachable:
                pass
            except Refused as refusal:
                log.warning("node %s cannot be registered: %s", name, refusal)
            await asyncio.sleep(_PAUSE)

    async def _register(self, name: str) -> None:
        node = self._documents[name]
        wanted = node_status.node_document(node, self._storage, self._now())
        try:
            made = _decoded(await self._cluster.create(Ref(NODES), wanted))
            if _is_ready(made):
                return
            known = made
        except Refused as refusal:
            if refusal.code != HTTPStatus.CONFLICT:
                raise
            known = _decoded(await self._cluster.get(Ref(NODES, name=name)))
            meta = {key: wanted["metadata"].get(key, {}) for key in ("labels", "annotations")}
            await self._cluster.patch(Ref(NODES, name=name), {"metadata": meta}, form=PatchForm.MERGE)
        if self._is_silenced(name):  # it failed while the requests above were under way
            return
        status = node_status.node_status(node, self._storage, self._now(), known.status.conditions)
        await self._cluster.patch(Ref(NODES, name=name), {"status": status}, sub="status")

    def changed(self, change: Change) -> None:
        """Receives the changes of all nodes of the cluster."""
        if change.type is not ChangeType.DELETED:
            return
        name = _decoded(change.raw).metadata.name
        if name in self._documents and name not in self._returning and not self._is_silenced(name):
            log.warning("node %s was deleted; it registers again in %.0f s", name, RETURN_AFTER)
            self._returning[name] = asyncio.get_running_loop().call_later(RETURN_AFTER, self._return, name)

    def _return(self, name: str) -> None:
        self._returning.pop(name, None)
        if not self._is_silenced(name):
            self._begin(self._register_until_done(name))

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _is_silenced(self, name: str) -> bool:
        return name in self.failed or name in self.unplugged

    # Leases

    def heartbeat(self, name: str, moment: float) -> None:
        """The node was alive at that moment: its lease is renewed where that is due."""
        if self._is_silenced(name) or name in self._returning:
            return
        if not self._leases.is_due(name, moment):
            return
        under_way = name in self._heartbeats
        self._heartbeats[name] = moment
        if not under_way:
            self._begin(self._renew_by_heartbeat(name))

    async def _renew_by_heartbeat(self, name: str) -> None:
        """A renewal that fails is made up for by the next heartbeat."""
        moment = None
        try:
            async with self._limit:
                while moment != self._heartbeats[name]:
                    moment = self._heartbeats[name]
                    await self._renew(name, moment)
        except Unreachable:
            pass
        except Refused as refusal:
            log.warning("lease of node %s: %s", name, refusal)
        finally:
            del self._heartbeats[name]

    async def renew_forever(self) -> None:
        """Renews the leases of nodes without heartbeats, one after the other, evenly over the interval."""
        late = False
        while True:
            names = [name for name in self._documents if not self._is_renewed_by_heartbeats(name)]
            step = node_lease.renewal_seconds(len(self._documents)) / max(len(names), 1)
            for name in names:
                try:
                    await self._renew(name)
                except Unreachable:
                    late = True
                except Refused as refusal:
                    log.warning("lease of node %s: %s", name, refusal)
                else:
                    if late:
                        late = False
                        break  # after an outage all leases are late: the next round does not wait between them
                await asyncio.sleep(step)
            else:
                if not names:
                    await asyncio.sleep(_PAUSE)
                continue
            await self._renew_at_once(names)

    async def _renew_at_once(self, names: Sequence[str]) -> None:
        for start in range(0, len(names), _AT_A_TIME):
            batch = names[start : start + _AT_A_TIME]
            await asyncio.gather(*(self._renew(name) for name in batch), return_exceptions=True)

    def _is_renewed_by_heartbeats(self, name: str) -> bool:
        return self._is_silenced(name) or name in self._returning or self.has_heartbeats(name)

    async def _renew(self, name: str, moment: float | None = None) -> None:
        if self._is_silenced(name):  # it failed since its turn was planned
            return
        await self._leases.renew(name, moment)

    # Failure

    def fail(self, name: str) -> None:
        """The node has failed: neither its lease nor its status is written any more."""
        self.failed.add(name)
        self.unplugged.discard(name)
        self._save_failed()

    def unplug(self, name: str) -> None:
        """The node keeps running, but neither its lease nor its status is written any more."""
        self.unplugged.add(name)
        self._save_failed()

    def report_gone(self, name: str) -> None:
        """Reports the node as gone at once, so that its failure is known before its lease expires."""
        self._begin(self._report_gone(name, self._now()))

    async def _report_late(self, name: str) -> None:
        """An earlier agent may have been killed before it reported the failure."""
        with contextlib.suppress(Refused, Unreachable):
            if _is_ready(_decoded(await self._cluster.get(Ref(NODES, name=name)))):
                await self._report_gone(name, self._now())

    async def _report_gone(self, name: str, moment: float) -> None:
        patch, pause = {"status": {"conditions": [node_status.gone_condition(moment)]}}, _FIRST_PAUSE
        while name in self.failed:
            try:
                await self._cluster.patch(Ref(NODES, name=name), patch, sub="status")
                return
            except Unreachable:
                pass
            except Refused as refusal:
                if refusal.code == HTTPStatus.NOT_FOUND:
                    return
                log.warning("node %s is gone, which cannot be reported: %s", name, refusal)
            await asyncio.sleep(pause)
            pause = min(pause * 2, _PAUSE)

    def recover(self, name: str) -> asyncio.Task[None]:
        """The task is done when the API shows the node as ready, with a renewed lease."""
        self.failed.discard(name)
        self.unplugged.discard(name)
        self._save_failed()
        self._returning.pop(name, None)
        return self._begin(self._register_until_done(name))

    def close(self) -> None:
        for timer in self._returning.values():
            timer.cancel()
        if self._save_timer is not None:
            self._save_timer.cancel()
        for task in self._tasks:
            task.cancel()

    def _save_failed(self) -> None:
        """Saves the failed nodes for the next agent. On a full disk it is tried again later."""
        if self._save_timer is not None:
            self._save_timer.cancel()
            self._save_timer = None
        try:
            failed_nodes.save(self._folder, FailedNodes(self.failed, self.unplugged))
        except OSError as problem:
            log.warning("the list of failed nodes cannot be saved: %s", problem)
            self._save_timer = asyncio.get_running_loop().call_later(_PAUSE, self._save_failed)


def _decoded(raw: bytes) -> _Node:
    return msgspec.json.decode(raw, type=_Node)


def _is_ready(node: _Node) -> bool:
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in node.status.conditions)
