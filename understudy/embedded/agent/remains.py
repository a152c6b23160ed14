"""What pods leave on the disk: cleared away a moment after they are gone, when nobody is in a hurry, off the loop.

A folder that an agent did not come to clear away is found by the next one, which knows that its pod is gone.
"""

import asyncio
import os

from understudy.embedded.agent import records
from understudy.embedded.agent.volumes import Storage
from understudy.embedded.cluster_folder import ClusterFolder
from understudy.embedded.shim.layout import PodFolder

_PAUSE, _TRIES = 0.1, 50


class Remains:
    """`delay` are the seconds after which it is done: whoever takes the pod's place starts first."""

    def __init__(self, folder: ClusterFolder) -> None:
        self.delay = 0.0
        self._claims = folder.claims
        self._left: list[PodFolder] = []
        self._task: asyncio.Task[None] | None = None

    def leave(self, folder: PodFolder) -> None:
        self._left.append(folder)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._clear_later())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._clear(self._left)

    async def _clear_later(self) -> None:
        pause, tries = self.delay, _TRIES
        while self._left and tries:
            await asyncio.sleep(pause)
            left, self._left = self._left, []
            stubborn = await asyncio.to_thread(self._clear, left)
            pause, tries = (_PAUSE, tries - 1) if stubborn else (self.delay, _TRIES)
            self._left += stubborn

    def _clear(self, left: list[PodFolder]) -> list[PodFolder]:
        """Those that are still there: somebody wrote into them meanwhile, or they are mounted somewhere."""
        for folder in left:
            for path in records.paths_of(folder):
                Storage(PodFolder(path), self._claims).remove()
            records.remove(folder)
        return [folder for folder in left if os.path.lexists(folder.path)]
