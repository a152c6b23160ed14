"""Deferred writes: they let urgent ones go first, are made in the end, and never take all connections."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from selectors import SelectorKey
from typing import Any

import pytest

from understudy.client.deferred_writes import CONCURRENCY, DELAY, LONGEST_DELAY, DeferredWrites


class _FastSelector(selectors.SelectSelector):
    """A sleep returns at once, and the time has passed."""

    def __init__(self) -> None:
        super().__init__()
        self.passed = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        assert timeout is not None, "all tasks wait for ever"
        self.passed += max(timeout, 0.0)
        return super().select(0)


class _Loop(asyncio.SelectorEventLoop):
    """Its time passes only while all its tasks sleep."""

    def __init__(self) -> None:
        self._hurry = _FastSelector()
        super().__init__(self._hurry)

    def time(self) -> float:
        return self._hurry.passed


class WriteLog:
    """Errands that note when they were run."""

    def __init__(self) -> None:
        self.errands = DeferredWrites()
        self.ran: list[float] = []
        self.running = self.most = 0

    async def errand(self, takes: float = 0.0) -> None:
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(takes)
        self.running -= 1
        self.ran.append(asyncio.get_running_loop().time())


def tell(scenario: Callable[[WriteLog], Coroutine[Any, Any, None]]) -> None:
    async def told() -> None:
        await scenario(WriteLog())

    with asyncio.Runner(loop_factory=_Loop) as runner:
        runner.run(told())


def test_an_errand_is_put_off_for_a_moment() -> None:
    async def scenario(diary: WriteLog) -> None:
        diary.errands.add(diary.errand())
        await diary.errands.settled()
        assert diary.ran == [pytest.approx(DELAY)]

    tell(scenario)


def test_an_errand_makes_way_for_an_urgent_write_and_for_what_it_brings_about() -> None:
    async def scenario(diary: WriteLog) -> None:
        diary.errands.add(diary.errand())
        with diary.errands.urgent():
            await asyncio.sleep(2.0)
        await diary.errands.settled()
        assert diary.ran == [pytest.approx(10.0, abs=0.5)], "four times as long as the urgent write took"

    tell(scenario)


def test_a_deferred_write_is_made_in_the_end_however_busy_the_client_is() -> None:
    async def scenario(diary: WriteLog) -> None:
        with diary.errands.urgent():
            diary.errands.add(diary.errand())
            await diary.errands.settled()
        assert diary.ran == [pytest.approx(DELAY + LONGEST_DELAY, abs=0.01)]

    tell(scenario)


def test_errands_leave_connections_to_what_is_urgent() -> None:
    async def scenario(diary: WriteLog) -> None:
        for _ in range(3 * CONCURRENCY):
            diary.errands.add(diary.errand(takes=1.0))
        await diary.errands.settled()
        assert (len(diary.ran), diary.most) == (3 * CONCURRENCY, CONCURRENCY)

    tell(scenario)


def test_an_errand_that_fails_is_left_undone_and_hinders_no_other() -> None:
    async def fails() -> None:
        raise OSError("refused")

    async def scenario(diary: WriteLog) -> None:
        diary.errands.add(fails())
        diary.errands.add(diary.errand())
        await diary.errands.settled()
        assert len(diary.ran) == 1

    tell(scenario)


@pytest.mark.parametrize("after", [0.0, DELAY + 0.1], ids=["put off", "waiting for its turn"])
def test_an_errand_that_is_cancelled_before_it_began_leaves_no_warning(after: float) -> None:
    async def scenario(diary: WriteLog) -> None:
        for _ in range(CONCURRENCY + 1):
            diary.errands.add(diary.errand(takes=60.0))
        await asyncio.sleep(after)
        diary.errands.cancel()
        await diary.errands.settled()
        assert diary.ran == []

    tell(scenario)
