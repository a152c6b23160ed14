"""Keys to reconcile, now or later. One worker at a time has a key; a key that is added meanwhile comes again."""

import asyncio
import heapq
from collections import deque
from typing import Generic, TypeVar

from understudy.ports import Clock

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 30.0

K = TypeVar("K")


class WorkQueue(Generic[K]):
    """A worker calls `next`, then `done` or `failed`. `close` cancels the timer."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ready: deque[K] = deque()
        self._queued: set[K] = set()
        self._busy: set[K] = set()
        self._touched: set[K] = set()  # added while a worker had them
        self._due: dict[K, float] = {}
        self._alarms: list[tuple[float, int, K]] = []
        self._count = 0  # keys need not be comparable
        self._alarm: asyncio.Task[None] | None = None
        self._rings_at = float("inf")
        self._failures: dict[K, int] = {}
        self._news = asyncio.Event()

    def add(self, key: K) -> None:
        if key in self._busy:
            self._touched.add(key)
        elif key not in self._queued:
            self._queued.add(key)
            self._ready.append(key)
            self._news.set()

    def add_at(self, key: K, moment: float) -> None:
        """Queues the key at this time; of several times the earliest counts."""
        if moment <= self._clock.now():
            self.add(key)
        elif moment < self._due.get(key, float("inf")):
            self._due[key] = moment
            self._count += 1
            heapq.heappush(self._alarms, (moment, self._count, key))
            self._set_alarm()

    async def next(self) -> K:
        while not self._ready:
            self._news.clear()
            await self._news.wait()
        key = self._ready.popleft()
        self._queued.discard(key)
        self._busy.add(key)
        return key

    def done(self, key: K, again_at: float | None = None) -> None:
        self._failures.pop(key, None)
        self._finish(key)
        if again_at is not None:
            self.add_at(key, again_at)

    def failed(self, key: K) -> float:
        """Queues the key again after a pause that grows with every failure. Returns the pause."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        pause = min(FIRST_PAUSE * (1 << min(failures - 1, 16)), LONGEST_PAUSE)
        self._touched.discard(key)  # the pause also holds for changes that came meanwhile
        self._finish(key)
        self.add_at(key, self._clock.now() + pause)
        return pause

    @property
    def idle(self) -> bool:
        """No key is queued or being reconciled."""
        return not (self._ready or self._busy)

    async def close(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            await asyncio.gather(self._alarm, return_exceptions=True)

    def _finish(self, key: K) -> None:
        self._busy.discard(key)
        if key in self._touched:
            self._touched.discard(key)
            self.add(key)

    def _set_alarm(self) -> None:
        at = self._alarms[0][0]
        if at >= self._rings_at:
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._rings_at = at
        self._alarm = asyncio.create_task(self._wait_for_alarm(at), name="queue alarm")

    async def _wait_for_alarm(self, at: float) -> None:
        while at > (now := self._clock.now()):
            await self._clock.sleep(at - now)
        self._rings_at, self._alarm = float("inf"), None
        while self._alarms and self._alarms[0][0] <= self._clock.now():
            moment, _, key = heapq.heappop(self._alarms)
            if self._due.get(key) == moment:
                del self._due[key]
                self.add(key)
        if self._alarms:
            self._set_alarm()
