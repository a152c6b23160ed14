"""Buckets of tokens: a burst is let through, then as much as drips in; and they do not pile up."""

from understudy.control import sparing
from understudy.control.happenings import Allowance
from understudy.control.sparing import Buckets

A, B = ("uid-a", "Waiting"), ("uid-b", "Waiting")


def test_a_burst_and_then_a_drip() -> None:
    buckets = Buckets(Allowance(at_once=3, every=10.0))
    assert [buckets.take(A, 100.0) for _ in range(4)] == [True, True, True, False]
    assert buckets.take(B, 100.0)
    assert not buckets.take(A, 109.0)
    assert buckets.take(A, 110.5)
    assert not buckets.take(A, 111.0)


def test_a_bucket_overflows_rather_than_to_hold_more() -> None:
    buckets = Buckets(Allowance(at_once=2, every=1.0))
    assert buckets.take(A, 0.0)
    assert [buckets.take(A, 1000.0) for _ in range(3)] == [True, True, False]


def test_a_clock_that_is_set_back_takes_nothing_away() -> None:
    buckets = Buckets(Allowance(at_once=2, every=1.0))
    assert [buckets.take(A, at) for at in (100.0, 50.0, 50.0)] == [True, True, False]


def test_only_so_many_are_remembered() -> None:
    buckets = Buckets(Allowance(at_once=1, every=1000.0))
    for number in range(sparing.REMEMBERED + 1):
        assert buckets.take((str(number), ""), 0.0)
    assert len(buckets._levels) == sparing.REMEMBERED
    assert buckets.take(("0", ""), 0.0)
    assert not buckets.take((str(sparing.REMEMBERED), ""), 0.0)
