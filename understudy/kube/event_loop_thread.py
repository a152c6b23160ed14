"""An event loop in a thread of its own: what runs there continues while the main loop computes."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Coroutine
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Self, TypeVar

from understudy.kube.leader_election import LeaderElection

T = TypeVar("T")


class EventLoopThread:
    """Its tasks share with the main loop only values that one side writes and the other reads."""

    def __init__(self, name: str = "election") -> None:
        self._loop = asyncio.new_event_loop()
        # A daemon: it must not keep the process alive after the main thread has ended.
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)

    async def __aenter__(self) -> Self:
        self._thread.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.run(_cancel_all_tasks())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Cancelling the caller cancels the work too, without waiting for its end."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    @contextlib.asynccontextmanager
    async def entered(self, there: AbstractAsyncContextManager[T]) -> AsyncIterator[T]:
        """Enters and leaves a context manager in the thread."""
        found = await self.run(_awaited(there.__aenter__()))
        try:
            yield found
        finally:
            await self.run(_awaited(there.__aexit__(None, None, None)))


class ThreadedElection:
    """The Leadership of an election that runs in a thread: renewals do not wait for plans.

    The main loop reads `leads` right before each write. It compares the clock with a number that only the election
    sets, so it is correct in every thread, and becomes false on time even while a plan is computed.
    """

    def __init__(self, election: LeaderElection, aside: EventLoopThread) -> None:
        self._election = election
        self._aside = aside
        self._turn = asyncio.Lock()  # a cancelled operation ends before the next begins

    @property
    def leads(self) -> bool:
        return self._election.leads

    async def win(self) -> None:
        await self._aside.run(self._alone(self._election.win()))

    async def keep(self) -> str:
        return await self._aside.run(self._alone(self._election.keep()))

    async def give_back(self) -> None:
        await self._aside.run(self._alone(self._election.give_back()))

    async def _alone(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            async with self._turn:
                return await work
        finally:
            work.close()  # a coroutine that never started would warn


async def _cancel_all_tasks() -> None:
    """Cancels all other tasks of the running loop."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _awaited(awaitable: Any) -> Any:
    return await awaitable
