"""Keys to be worked on: once each, by one at a time, and again at their time."""

import asyncio

from tests.embedded.controllers.fake_cluster import BEGIN, FakeClock, quiet
from understudy.embedded.controllers.runtime.work_queue import FIRST_PAUSE, LONGEST_PAUSE, WorkQueue


def test_a_key_that_is_added_often_comes_once() -> None:
    async def scenario() -> None:
        work: WorkQueue[str] = WorkQueue(FakeClock())
        for key in ("a", "b", "a", "a"):
            work.add(key)
        assert [await work.next(), await work.next()] == ["a", "b"]
        assert not work.idle
        work.done("a")
        work.done("b")
        assert work.idle

    asyncio.run(scenario())


def test_a_key_touched_while_it_is_worked_on_comes_again_afterwards() -> None:
    async def scenario() -> None:
        work: WorkQueue[str] = WorkQueue(FakeClock())
        work.add("a")
        key = await work.next()
        work.add("a")
        other = asyncio.create_task(work.next())
        await quiet()
        assert not other.done()
        work.done(key)
        assert await other == "a"

    asyncio.run(scenario())


def test_a_key_comes_at_its_time_and_the_earliest_counts() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        work: WorkQueue[str] = WorkQueue(clock)
        for key, after in (("a", 10), ("b", 3), ("a", 5), ("a", 20)):
            work.add_at(key, BEGIN + after)
        came: list[tuple[str, float]] = []
        for _ in range(2):
            coming = asyncio.create_task(work.next())
            while not coming.done():
                await clock.advance(1)
            came.append((coming.result(), clock.now() - BEGIN))
            work.done(coming.result())
        assert came == [("b", 3), ("a", 5)]
        await clock.advance(30)
        assert work.idle
        await work.close()

    asyncio.run(scenario())


def test_a_key_that_fails_comes_back_later_and_later() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        work: WorkQueue[str] = WorkQueue(clock)
        work.add("a")
        pauses = []
        for _ in range(15):
            coming = asyncio.create_task(work.next())
            while not coming.done():
                await clock.advance(FIRST_PAUSE)
            pauses.append(work.failed(coming.result()))
        assert pauses[:4] == [FIRST_PAUSE * factor for factor in (1, 2, 4, 8)]
        assert pauses[-1] == LONGEST_PAUSE
        await work.close()

    asyncio.run(scenario())


def test_success_ends_the_pauses() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        work: WorkQueue[str] = WorkQueue(clock)
        for _ in range(3):
            work.add("a")
            await work.next()
            assert work.failed("a") == FIRST_PAUSE
            await clock.advance(1)
            work.done(await work.next())
        await work.close()

    asyncio.run(scenario())
