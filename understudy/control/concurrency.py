"""Several writes at a time, up to a limit. All of them end before the first failure is raised."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

MAX_CONCURRENT = 32

Call = Callable[[], Awaitable[None]]


async def run_all(calls: Iterable[Call]) -> None:
    free = asyncio.Semaphore(MAX_CONCURRENT)

    async def one(call: Call) -> None:
        async with free:
            await call()

    for result in await asyncio.gather(*map(one, calls), return_exceptions=True):
        if isinstance(result, BaseException):
            raise result
