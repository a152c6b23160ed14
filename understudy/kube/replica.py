"""One of several replicas: follows the cluster, schedules while it leads, and hands over when it ends."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Protocol

from understudy.control.loop import Cycle, LoopSettings, LoopStatus, SchedulingLoop
from understudy.kube.fenced_client import FencedClient
from understudy.ports import Clock

LAST_WRITES = 3.0  # seconds for writes under way to complete before the lease is released

_log = logging.getLogger(__name__)


class Leadership(Protocol):
    @property
    def leads(self) -> bool: ...

    async def win(self) -> None: ...

    async def keep(self) -> str: ...

    async def give_back(self) -> None: ...


class SoleLeadership:
    """Leads from the start: for a single replica without election."""

    leads = True

    async def win(self) -> None:
        pass

    async def keep(self) -> str:
        await asyncio.Event().wait()
        return ""

    async def give_back(self) -> None:
        pass


class Replica:
    """Every term has a scheduling loop of its own, which starts with a full list: only API objects outlive a term.

    A process that loses its lease continues as a standby instead of ending. Otherwise replicas would sit in the
    back-off of their restarts when a cluster returns after minutes out of reach.
    """

    def __init__(
        self,
        cluster: FencedClient,
        clock: Clock,
        leadership: Leadership,
        settings: LoopSettings,
        listener: Callable[[Cycle], None] | None = None,
    ) -> None:
        self.leadership = leadership
        self.terms = 0  # how often it began to lead
        self._loop: SchedulingLoop | None = None
        self._clock = clock
        self._settings = settings
        self._listener = listener
        self._cluster = cluster

    @property
    def status(self) -> LoopStatus:
        return self._loop.status if self._loop is not None else LoopStatus()

    @property
    def view_age(self) -> float:
        return self._cluster.age()

    async def run(self) -> None:
        """Runs until it is cancelled."""
        while True:
            why = await self._term()
            _log.warning("%s: standing by again", why)

    async def _term(self) -> str:
        """Runs one loop, from its first list to the end of its leadership; returns why it ended."""
        lead = asyncio.Event()
        self._loop = SchedulingLoop(self._cluster, self._clock, self._settings, self._listener)
        async with asyncio.TaskGroup() as group:
            looping = group.create_task(self._loop.run(lead))
            await self.leadership.win()
            self.terms += 1
            lead.set()
            why = await self.leadership.keep()
            looping.cancel()
        return why

    async def end(self, running: asyncio.Task[None]) -> None:
        """Waits for the writes under way, stops, and only then releases the lease."""
        self._cluster.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_WRITES):
                await self._cluster.settled()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await self.leadership.give_back()
