"""Deferred writes: made in the background after the urgent ones, a few at a time. They may fail."""

import asyncio
import contextlib
import logging
from collections.abc import Coroutine, Iterator
from typing import Any

from understudy.write_priority import WritePriority

DELAY = 1.0  # seconds by which a write is deferred at least
LONGEST_DELAY = 10.0  # seconds by which it is deferred at most
POLL_INTERVAL = 0.5  # seconds
CONCURRENCY = 4  # writes; the other connections are left to urgent ones

_log = logging.getLogger(__name__)
Write = Coroutine[Any, Any, None]


class DeferredWrites:
    def __init__(self, put_off: float = DELAY, latest: float = LONGEST_DELAY) -> None:
        self._put_off = put_off
        self._precedence = WritePriority(put_off, latest)
        self._turns = asyncio.Semaphore(CONCURRENCY)
        self._tasks: set[asyncio.Task[None]] = set()

    @contextlib.contextmanager
    def urgent(self) -> Iterator[None]:
        with self._precedence.urgent(asyncio.get_running_loop().time):
            yield

    def add(self, work: Write) -> None:
        task = asyncio.create_task(self._run(work))
        self._tasks.add(task)
        task.add_done_callback(self._ran)

    async def settled(self) -> None:
        """Returns when no write is left."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cancel(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _run(self, work: Write) -> None:
        try:
            await self._wait_for_urgent_writes()
            async with self._turns:
                await work
        finally:
            work.close()  # a coroutine that never started would warn

    async def _wait_for_urgent_writes(self) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + self._put_off
        while due > self._precedence.due_until(now := loop.time()):
            await asyncio.sleep(min(self._precedence.next_look(due) - now, POLL_INTERVAL))

    def _ran(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and isinstance(error := task.exception(), Exception):
            _log.debug("a deferred write failed: %s", error)
