"""Spans of time that overlap, into spans that do not; how much of a time they leave over, and how long that takes."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Span(NamedTuple):
    begin: float
    end: float


def union(spans: Iterable[Span]) -> list[Span]:
    """In order, none touching another."""
    found: list[Span] = []
    for span in sorted(spans):
        if found and span.begin <= found[-1].end:
            found[-1] = Span(found[-1].begin, max(found[-1].end, span.end))
        else:
            found.append(span)
    return found


def outside(disjoint: Sequence[Span], begin: float, end: float) -> float:
    """Seconds between two moments that are in none of these spans; never less than none."""
    inside = sum(max(0.0, min(span.end, end) - max(span.begin, begin)) for span in disjoint)
    return max(0.0, end - begin - inside)


def moment_after(disjoint: Sequence[Span], begin: float, seconds: float) -> float:
    """When so many seconds have passed outside of these spans."""
    at = begin
    for span in disjoint:
        if span.end <= at:
            continue
        if at + seconds <= span.begin:
            break
        seconds -= max(0.0, span.begin - at)
        at = span.end
    return at + seconds
