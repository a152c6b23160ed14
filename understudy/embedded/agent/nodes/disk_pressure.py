"""Disk pressure: reports on all nodes of this machine that the disk is nearly full, so that no pod is placed there."""

import asyncio
import logging
import shutil
from collections.abc import Callable, Iterable
from http import HTTPStatus
from pathlib import Path
from typing import Any

from understudy.kinds.annotations import format_time
from understudy.objects.resources import NODES
from understudy.ports import Cluster, Ref, Refused, Unreachable

LEAST_FREE_BYTES = 256 << 20  # less than that free is disk pressure
_LOOK = 10.0

log = logging.getLogger(__name__)


def free_bytes(folder: Path) -> int:
    return shutil.disk_usage(folder).free


class DiskPressureMonitor:
    """`free` returns the free bytes, `now` the time."""

    def __init__(
        self, cluster: Cluster, names: Iterable[str], free: Callable[[], int], now: Callable[[], float]
    ) -> None:
        self._cluster = cluster
        self._names = sorted(names)
        self._free = free
        self._now = now
        self._reported = False  # nodes register without disk pressure

    async def run(self) -> None:
        while True:
            await asyncio.sleep(_LOOK)  # first: a patch would not reach nodes that are still being registered
            await self.look()

    async def look(self) -> None:
        try:
            full = self._free() < LEAST_FREE_BYTES
        except OSError as problem:
            log.warning("the free room on the disk cannot be read: %s", problem)
            return
        if full == self._reported:
            return
        log.warning("the disk is %s", "nearly full" if full else "no longer full")
        patch = {"status": {"conditions": [_condition(full, self._now())]}}
        try:
            for name in self._names:
                await self._report(name, patch)
            self._reported = full
        except (Refused, Unreachable) as problem:
            log.warning("disk pressure cannot be reported: %s", problem)  # tried again at the next check

    async def _report(self, name: str, patch: dict[str, Any]) -> None:
        try:
            await self._cluster.patch(Ref(NODES, name=name), patch, sub="status")
        except Refused as refusal:
            if refusal.code != HTTPStatus.NOT_FOUND:  # the node was deleted, and registers again later
                raise


def _condition(full: bool, now: float) -> dict[str, str]:
    words = f"less than {LEAST_FREE_BYTES >> 20} MiB are free on the disk of the cluster's folder"
    return {
        "type": "DiskPressure",
        "status": "True" if full else "False",
        "reason": "KubeletHasDiskPressure" if full else "KubeletHasNoDiskPressure",
        "message": words if full else "the agent has no disk pressure",
        "lastHeartbeatTime": format_time(int(now)),
        "lastTransitionTime": format_time(int(now)),
    }
