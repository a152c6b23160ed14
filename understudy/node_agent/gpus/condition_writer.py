"""Writes the GPU conditions of one node, when they change. A condition that another monitor reports is left to it."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable

import msgspec

from understudy.kinds.annotations import format_time
from understudy.node_agent.gpus.gpu_conditions import REASONS, GpuCondition
from understudy.node_agent.node_api import NodeApi
from understudy.objects.resources import NODES
from understudy.ports import Ref, Refused, Unreachable

PAUSE = 2.0  # seconds between attempts to write
CHECK = 60.0  # seconds after which a bad condition is looked at again: the Node may have been made anew

_log = logging.getLogger(__name__)


class _Status(msgspec.Struct, frozen=True):
    conditions: list[dict[str, str]] = []


class _Node(msgspec.Struct, frozen=True):
    status: _Status = _Status()


class ConditionWriter:
    def __init__(self, cluster: NodeApi, node: str, now: Callable[[], float] = time.time) -> None:
        self._cluster = cluster
        self._node = node
        self._now = now
        self._wanted: dict[str, GpuCondition] = {}
        self._changed = asyncio.Event()
        self._foreign: set[str] = set()
        self._complaint = ""

    def tell(self, conditions: Iterable[GpuCondition]) -> None:
        wanted = {**self._wanted, **{one.type: one for one in conditions}}
        if wanted != self._wanted:
            self._wanted = wanted
            self._changed.set()

    async def run(self) -> None:
        """Runs until it is cancelled."""
        while True:
            await self._wait(CHECK if any(one.status == "True" for one in self._wanted.values()) else None)
            self._changed.clear()
            while not await self._written() and not self._changed.is_set():
                await self._wait(PAUSE)

    async def _written(self) -> bool:
        try:
            node = msgspec.json.decode(await self._cluster.get(Ref(NODES, name=self._node)), type=_Node)
            present = {one.get("type", ""): one for one in node.status.conditions}
            changed = [one for one in self._wanted.values() if self._is_to_be_written(one, present.get(one.type))]
            if changed:
                patch = {"status": {"conditions": [self._document(one, present.get(one.type)) for one in changed]}}
                await self._cluster.patch(Ref(NODES, name=self._node), patch, sub="status")
        except (Refused, Unreachable) as error:
            self._complain(str(error))
            return False
        self._complain("")
        for one in changed:
            _log.info("node %s: %s=%s (%s): %s", self._node, one.type, one.status, one.reason, one.message)
        return True

    def _is_to_be_written(self, wanted: GpuCondition, present: dict[str, str] | None) -> bool:
        if present is None:
            return True
        if present.get("reason") not in REASONS:
            if wanted.type not in self._foreign:
                self._foreign.add(wanted.type)
                _log.warning("node %s: %s is reported by another monitor, and left to it", self._node, wanted.type)
            return False
        return any(present.get(key) != getattr(wanted, key) for key in ("status", "reason", "message"))

    def _document(self, wanted: GpuCondition, present: dict[str, str] | None) -> dict[str, str]:
        now = format_time(int(self._now()))
        same = present is not None and present.get("status") == wanted.status
        since = present.get("lastTransitionTime", now) if present is not None and same else now
        return {**msgspec.to_builtins(wanted), "lastHeartbeatTime": now, "lastTransitionTime": since}

    def _complain(self, problem: str) -> None:
        """Each problem once: it is tried again until it is over."""
        if problem and problem != self._complaint:
            _log.warning("conditions of node %s cannot be written: %s", self._node, problem)
        self._complaint = problem

    async def _wait(self, seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            pass
