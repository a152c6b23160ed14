"""Keeps the fences on nodes true, in the background: since when a node is back, and that it is held back no more.

Before pods are force-deleted the desk writes the fence itself. What is written here only shortens the wait of a later
process and shows people why nothing starts there; it is not urgent.
"""

import asyncio
import logging

from understudy.control.desk import fence_patch
from understudy.control.moments import wait_for
from understudy.control.view import View
from understudy.objects.resources import NODES
from understudy.ports import Clock, Cluster, PatchForm, Ref, Refused, Unreachable

LATER = 1.0  # seconds after which it is written: what is decided on the same news goes first
TRY_AGAIN = 1.0

_log = logging.getLogger(__name__)


class FenceNotes:
    def __init__(self, cluster: Cluster, clock: Clock, view: View) -> None:
        self._cluster = cluster
        self._clock = clock
        self._view = view
        self._due: float | None = None
        self._tried: dict[str, str | None] = {}  # what was written last, and the view may not show yet
        self._more = asyncio.Event()

    @property
    def quiet(self) -> bool:
        return self._due is None

    def see(self, now: float) -> None:
        """After every look at the view."""
        self._tried = {name: note for name, note in self._tried.items() if name in self._view.fence_notes}
        if self._due is None and self._open():
            self._due = now + LATER
            self._more.set()

    def _open(self) -> dict[str, str | None]:
        notes = self._view.fence_notes
        return {name: note for name, note in notes.items() if name not in self._tried or self._tried[name] != note}

    async def run(self) -> None:
        while True:
            self._more.clear()
            if self._due is None or self._due > self._clock.now():
                await wait_for(self._more, self._clock, self._due)
                continue
            for name, note in self._open().items():
                await self._write(name, note)
            self._due = None
            self.see(self._clock.now())

    async def _write(self, name: str, note: str | None) -> None:
        node = self._view.node(name)
        if node is None:
            return
        try:
            await self._cluster.patch(Ref(NODES, name=name), fence_patch(node.metadata.uid, note), form=PatchForm.MERGE)
        except Refused as error:  # it is gone, most likely, and its fence with it
            _log.debug("the fence of node %s is not written: %s", name, error)
        except Unreachable:
            await self._clock.sleep(TRY_AGAIN)
            return
        self._tried[name] = note
