"""Urgent writes go first, and for longer the longer they take; what can wait is late by a bounded time."""

import pytest

from understudy.write_priority import DELAY_FACTOR, WritePriority

PAUSE, LATEST = 1.5, 10.0


class Times:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def after_a_write(took: float) -> tuple[WritePriority, Times]:
    precedence, times = WritePriority(PAUSE, LATEST), Times()
    with precedence.urgent(times):
        times.now += took
    return precedence, times


def test_where_nothing_is_urgent_everything_goes_out_when_it_is_due() -> None:
    precedence = WritePriority(PAUSE, LATEST)
    assert precedence.due_until(100.0) == 100.0
    assert precedence.next_look(due=103.0) == 103.0


def test_while_something_urgent_is_under_way_only_what_is_overdue_goes_out() -> None:
    precedence, times = WritePriority(PAUSE, LATEST), Times()
    with precedence.urgent(times):
        assert precedence.due_until(times.now) == times.now - LATEST
        assert precedence.next_look(due=times.now) == times.now + LATEST


@pytest.mark.parametrize(("took", "pause"), [(0.01, PAUSE), (1.0, DELAY_FACTOR)], ids=["quick", "slow"])
def test_the_longer_an_urgent_write_took_the_longer_the_others_stay_away(took: float, pause: float) -> None:
    precedence, times = after_a_write(took)
    calm = times.now + pause
    assert precedence.next_look(due=times.now) == pytest.approx(calm)
    assert precedence.due_until(calm - 0.01) == pytest.approx(calm - 0.01 - LATEST)
    assert precedence.due_until(calm + 0.01) == calm + 0.01


def test_a_quick_write_does_not_cut_short_the_pause_after_a_slow_one() -> None:
    precedence, times = after_a_write(1.0)
    calm = precedence.next_look(due=times.now)
    with precedence.urgent(times):
        times.now += 0.01
    assert precedence.next_look(due=times.now) == calm


def test_nothing_is_later_than_the_latest() -> None:
    precedence, times = after_a_write(60.0)
    assert precedence.next_look(due=times.now) == times.now + LATEST
    assert precedence.due_until(times.now + LATEST) == times.now


def test_of_two_urgent_writes_both_have_to_end() -> None:
    precedence, times = WritePriority(PAUSE, LATEST), Times()
    with precedence.urgent(times):
        with precedence.urgent(times):
            pass
        assert precedence.due_until(times.now + PAUSE) == times.now + PAUSE - LATEST


def test_a_write_that_fails_has_ended_too() -> None:
    precedence, times = WritePriority(PAUSE, LATEST), Times()
    with pytest.raises(OSError, match="refused"), precedence.urgent(times):
        raise OSError("refused")
    assert precedence.due_until(times.now + PAUSE) == times.now + PAUSE
