"""The virtual event loop: time jumps, order is kept, and what could never happen is said."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from understudy.simulate.event_loop import LoopStarved, VirtualTimeLoop

T = TypeVar("T")


def run(scenario: Coroutine[Any, Any, T]) -> T:
    loop = VirtualTimeLoop()
    try:
        return loop.run_until_complete(scenario)
    finally:
        loop.close()


def test_time_jumps_to_the_next_timer() -> None:
    async def scenario() -> list[float]:
        loop, seen = asyncio.get_running_loop(), []
        for seconds in (3600.0, 0.5):
            await asyncio.sleep(seconds)
            seen.append(loop.time())
        return seen

    assert run(scenario()) == [3600.0, 3600.5]


def test_timers_of_one_moment_fire_in_the_order_they_were_set() -> None:
    async def scenario() -> list[int]:
        loop, fired = asyncio.get_running_loop(), list[int]()
        for number in range(5):
            loop.call_at(2.0, fired.append, number)
        loop.call_at(1.0, fired.append, 9)
        await asyncio.sleep(3.0)
        return fired

    assert run(scenario()) == [9, 0, 1, 2, 3, 4]


def test_a_cancelled_timer_does_not_fire_and_takes_no_time() -> None:
    async def scenario() -> float:
        loop = asyncio.get_running_loop()
        loop.call_later(50.0, print, "never").cancel()
        await asyncio.sleep(1.0)
        return loop.time()

    assert run(scenario()) == 1.0


def test_timeouts_of_asyncio_work_on_virtual_time() -> None:
    async def scenario() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(10.0):
                await asyncio.Event().wait()
        return asyncio.get_running_loop().time()

    assert run(scenario()) == 10.0


def test_a_loop_in_which_nothing_can_happen_any_more_says_so() -> None:
    async def scenario() -> None:
        await asyncio.Event().wait()

    loop = VirtualTimeLoop()
    task = loop.create_task(scenario())
    with pytest.raises(LoopStarved):
        loop.run_until_complete(task)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(task)
    loop.close()


def ready_together(shuffled_by: int | None, moments: tuple[float, ...]) -> dict[float, list[int]]:
    """The order in which ten callbacks run that become ready at one moment."""
    loop, ran = VirtualTimeLoop(shuffled_by), dict[float, list[int]]()

    def burst() -> None:
        for number in range(10):
            loop.call_soon(ran.setdefault(loop.time(), []).append, number)

    for moment in moments:
        loop.call_at(moment, burst)
    loop.run_until_complete(asyncio.sleep(5.0))
    loop.close()
    return ran


def test_callbacks_that_are_ready_together_keep_their_order_or_are_shuffled_by_a_seed() -> None:
    assert ready_together(None, (1.0,)) == {1.0: list(range(10))}
    shuffled = ready_together(7, (1.0,))
    assert shuffled == ready_together(7, (1.0,))
    assert shuffled not in ({1.0: list(range(10))}, ready_together(8, (1.0,)))
    assert sorted(shuffled[1.0]) == list(range(10))


def test_what_is_left_out_does_not_change_how_later_callbacks_are_shuffled() -> None:
    assert ready_together(7, (2.0,))[2.0] == ready_together(7, (1.0, 2.0))[2.0]
