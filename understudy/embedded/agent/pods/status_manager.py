"""Writes the newest status of a pod to the API, again and again until the API has it."""

import asyncio
import logging
from http import HTTPStatus
from typing import Any

from understudy.embedded.agent.api.pod_types import Pod
from understudy.objects.resources import PODS
from understudy.ports import Cluster, Ref, Refused, Unreachable

_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0
_PATIENCE = 0.1
_GONE = (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)  # deleted, or replaced by another pod of the same name

log = logging.getLogger(__name__)


class PodStatusManager:
    """Of one pod. Only the newest status is written; while one write is under way, the next waits."""

    def __init__(self, cluster: Cluster, pod: Pod) -> None:
        self._cluster = cluster
        self._ref = Ref(PODS, pod.metadata.namespace, pod.metadata.name)
        self._uid = pod.metadata.uid
        self._wanted: dict[str, Any] = {}
        self.heard: dict[str, Any] = {}
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._silent = False

    def set_status(self, status: dict[str, Any], *, later: bool = False) -> None:
        """`later` delays the write where the status is likely to change in a moment."""
        self._wanted = status
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        if later:
            self._timer = asyncio.get_running_loop().call_later(_PATIENCE, self._start_write)
        else:
            self._start_write()

    def _start_write(self) -> None:
        if self._wanted != self.heard and not self._silent and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._write())

    async def settled(self) -> None:
        """Returns when the newest status is written, or the pod no longer exists."""
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    def stop(self) -> None:
        """Nothing is written from here on."""
        self._silent = True
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    async def _write(self) -> None:
        pause = _FIRST_PAUSE
        while self._wanted != self.heard:
            status = self._wanted
            try:
                await self._cluster.patch(self._ref, {"metadata": {"uid": self._uid}, "status": status}, sub="status")
            except Unreachable:
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
                continue
            except Refused as refusal:
                if refusal.code == HTTPStatus.TOO_MANY_REQUESTS or refusal.code >= 500:
                    await asyncio.sleep(pause)
                    continue
                if refusal.code not in _GONE:
                    log.warning("status of pod %s: %s", self._ref.path(), refusal)
            self.heard = status

    async def remove(self) -> None:
        """Deletes the pod, which has ended, from the API. Returns when it is deleted."""
        pause = _FIRST_PAUSE
        while not self._silent:
            try:
                await self._cluster.delete(self._ref, grace=0, uid=self._uid)
                return
            except Refused as refusal:
                if refusal.code in _GONE:
                    return
                log.warning("removal of pod %s: %s", self._ref.path(), refusal)
            except Unreachable:
                pass
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
