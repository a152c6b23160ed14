"""A clock that stands still until a test moves it; who sleeps on it wakes in the order of their moments."""

import asyncio
import heapq
import itertools

BEGIN = 1_767_225_600.0  # the first second of 2026
SPINS = 25  # turns of the event loop after which every task that could continue has done so


class VirtualClock:
    def __init__(self, now: float = BEGIN) -> None:
        self._now = now
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    def now(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._order), woken))
        await woken

    async def let_pass(self, seconds: float) -> None:
        """Time passes, and every task that wakes meanwhile runs at its time."""
        end = self._now + seconds
        await spin()
        while self._wake_next(end):
            await spin()
        self._now = max(self._now, end)

    def jump(self, seconds: float) -> None:
        """Time passes while all tasks sleep."""
        self._now += seconds

    def _wake_next(self, end: float) -> bool:
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        if not self._sleepers or self._sleepers[0][0] > end:
            return False
        at, _, woken = heapq.heappop(self._sleepers)
        self._now = max(self._now, at)
        woken.set_result(None)
        return True


async def spin() -> None:
    for _ in range(SPINS):
        await asyncio.sleep(0)
