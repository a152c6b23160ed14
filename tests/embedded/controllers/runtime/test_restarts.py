"""Loops that fail are begun anew, later and later, without harm to the others."""

import asyncio
import itertools

import pytest

from tests.embedded.controllers.fake_cluster import BEGIN, FakeClock, quiet
from understudy.embedded.controllers.runtime.restarts import run_with_restarts


def test_a_loop_that_fails_begins_anew_with_growing_pauses(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        clock = FakeClock()
        begun: list[float] = []

        async def broken() -> None:
            begun.append(round(clock.now() - BEGIN, 1))
            raise ValueError("broken")

        task = asyncio.create_task(run_with_restarts("the loop", broken, clock))
        await clock.advance(2)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert begun == [0.0, 0.1, 0.3, 0.7, 1.5]
        assert "the loop failed" in caplog.text

    asyncio.run(scenario())


def test_one_that_has_worked_for_a_while_begins_anew_at_once() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        begun: list[float] = []

        async def works_for_a_while() -> None:
            begun.append(round(clock.now() - BEGIN, 1))
            await clock.sleep(100)
            raise ValueError("broken")

        task = asyncio.create_task(run_with_restarts("the loop", works_for_a_while, clock))
        await clock.advance(310)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert [round(later - earlier, 1) for earlier, later in itertools.pairwise(begun)] == [100.1] * 3

    asyncio.run(scenario())


def test_one_that_fails_while_it_is_cancelled_ends() -> None:
    async def scenario() -> None:
        async def fails_on_the_way_out() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                raise ValueError("broken")

        task = asyncio.create_task(run_with_restarts("the loop", fails_on_the_way_out, FakeClock()))
        await quiet()
        task.cancel()
        await quiet()
        assert task.cancelled()

    asyncio.run(scenario())
