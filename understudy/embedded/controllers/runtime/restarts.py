"""Restarts a loop that fails, with growing pauses; other loops go on."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from understudy.ports import Clock

log = logging.getLogger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 30.0
STEADY = 60.0  # seconds after which the pause is reset


async def run_with_restarts(name: str, run: Callable[[], Awaitable[None]], clock: Clock) -> None:
    """Runs for ever. Every restart calls `run` again, so that it starts with fresh state."""
    pause = FIRST_PAUSE
    while True:
        began = clock.now()
        try:
            await run()
            log.error("%s ended; it begins anew in %.1f s", name, pause)
        except Exception:
            if _is_cancelled():  # cancelled meanwhile: a TaskGroup expects CancelledError
                raise asyncio.CancelledError from None
            log.exception("%s failed; it begins anew in %.1f s", name, pause)
        if clock.now() - began >= STEADY:
            pause = FIRST_PAUSE
        await clock.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
