"""What pods leave on the disk: cleared away a moment after they are gone, when nobody is in a hurry, off the loop.

A folder that an agent did not come to clear away is found by the next one, which knows that its pod is gone.
"""

import asyncio

from understudy.embedded.agent import records
from understudy.embedded.agent.volumes import Storage
from understudy.embedded.folders import ClusterFolder
from understudy.embedded.shim.layout import PodFolder


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
        while self._left:
            await asyncio.sleep(self.delay)
            left, self._left = self._left, []
            await asyncio.to_thread(self._clear, left)

    def _clear(self, left: list[PodFolder]) -> None:
        for folder in left:
            for path in records.paths_of(folder):
                Storage(PodFolder(path), self._claims).remove()
            records.remove(folder)
