"""The clock of the worlds that run in real time, and waiting for an event or a moment."""

import asyncio
import time

from understudy.ports import Clock


class SystemClock:
    def now(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def wait_for(happens: asyncio.Event, clock: Clock, until: float | None = None) -> bool:
    """Returns whether the event was set. Without `until`, waits without a limit."""
    if happens.is_set():
        return True
    if until is None:
        return await happens.wait()
    if (left := until - clock.now()) <= 0:
        return False
    waiting = [asyncio.ensure_future(happens.wait()), asyncio.ensure_future(clock.sleep(left))]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
    return happens.is_set()
