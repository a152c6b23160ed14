"""An asyncio event loop on virtual time: it never waits, and time jumps to the next timer."""

import asyncio
import heapq
import random
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any


class LoopStarved(Exception):
    """Every task waits, and no timer is set that could wake one."""


class VirtualTimeLoop(asyncio.BaseEventLoop):
    """`time()` starts at 0. Callbacks run in the order of their times, and of equal times in the order they were set.
    With a seed, callbacks that are ready together run in an order that depends on the seed and the time alone: a
    scenario from which something is left out keeps the orders of all other moments.

    The base class would do the same with a selector that does not wait. Its general form took half of the time of a
    simulation, so what runs for every callback is written out here. An exception in a callback ends the run.
    """

    def __init__(self, shuffled_by: int | None = None) -> None:
        super().__init__()
        self._shuffled_by = shuffled_by
        self._batch = 0  # of the present time
        self._now = 0.0
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._count = 0

    def time(self) -> float:
        return self._now

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)  # type: ignore[attr-defined]
        return handle

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        self._count += 1
        heapq.heappush(self._timers, (when, self._count, timer))
        return timer

    def create_task(self, coro: Coroutine[Any, Any, Any], **given: Any) -> "asyncio.Task[Any]":  # type: ignore[override]
        return asyncio.Task(coro, loop=self, context=given.get("context"))

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """A cancelled timer stays in the heap and is skipped at its time."""

    def _run_once(self) -> None:
        """Runs everything that is ready; if nothing is, the next timer."""
        ready = self._ready  # type: ignore[attr-defined]
        if not ready:
            timers = self._timers
            while timers and timers[0][2]._cancelled:
                heapq.heappop(timers)
            if not timers:
                raise LoopStarved
            when, _, timer = heapq.heappop(timers)
            if when > self._now:
                self._now, self._batch = when, 0
            ready.append(timer)
        elif self._shuffled_by is not None and len(ready) > 1:
            self._batch += 1
            random.Random(f"{self._shuffled_by} {self._now:.9f} {self._batch}").shuffle(ready)
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle._cancelled:
                handle._context.run(handle._callback, *handle._args)

    def _process_events(self, event_list: list[Any]) -> None:
        """No file or socket is watched."""

    def _write_to_self(self) -> None:
        """No other thread uses this loop."""
