"""Keeps a loop going: one that fails is logged and begun anew, later and later, and the others do not notice."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from understudy.ports import Clock

log = logging.getLogger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 30.0
STEADY = 60.0  # seconds after which a loop that fails is taken to have worked


async def run_with_restarts(name: str, run: Callable[[], Awaitable[None]], clock: Clock) -> None:
    """For ever. `run` is called for every new beginning, so that nothing broken is carried over."""
    pause = FIRST_PAUSE
    while True:
        began = clock.now()
        try:
            await run()
            log.error("%s ended; it begins anew in %.1f s", name, pause)
        except Exception:
            if _is_cancelled():  # a group of tasks of which one fails meanwhile tells only of that
                raise asyncio.CancelledError from None
            log.exception("%s failed; it begins anew in %.1f s", name, pause)
        if clock.now() - began >= STEADY:
            pause = FIRST_PAUSE
        await clock.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
