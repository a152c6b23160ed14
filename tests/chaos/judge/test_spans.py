"""Spans that overlap count once."""

from tests.chaos.judge.spans import Span, moment_after, outside, union

SPANS = union([Span(20.0, 30.0), Span(0.0, 5.0), Span(3.0, 10.0), Span(22.0, 25.0)])


def test_overlapping_spans_are_one() -> None:
    assert [Span(0.0, 10.0), Span(20.0, 30.0)] == SPANS


def test_what_they_leave_over_is_never_less_than_nothing() -> None:
    assert outside(SPANS, 5.0, 35.0) == 15.0
    assert outside(SPANS, 21.0, 29.0) == 0.0
    assert outside([], 1.0, 4.0) == 3.0


def test_time_stands_still_within_them() -> None:
    assert moment_after(SPANS, 11.0, 5.0) == 16.0
    assert moment_after(SPANS, 5.0, 5.0) == 15.0
    assert moment_after(SPANS, 5.0, 12.0) == 32.0
    for seconds in (0.5, 5.0, 12.0, 40.0):
        assert outside(SPANS, 4.0, moment_after(SPANS, 4.0, seconds)) == seconds
