"""The order of a list that two sides have a say in."""

from collections.abc import Hashable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item", bound=Hashable)


def woven(current: Iterable[Item], wanted: Iterable[Item]) -> list[Item]:
    """All of both, once each: `wanted` in its own order, what only `current` has where it was between them."""
    ruled = dict.fromkeys(wanted)
    return list(dict.fromkeys(_woven(current, ruled)))


def _woven(current: Iterable[Item], ruled: dict[Item, None]) -> Iterator[Item]:
    """An item that both have brings along all of `ruled` up to it; each of those is told once."""
    ahead = iter(ruled)
    told: set[Item] = set()
    for item in current:
        if item not in ruled:
            yield item
        while item in ruled and item not in told:
            leading = next(ahead)
            told.add(leading)
            yield leading
    yield from ahead
