"""JSON values as patches need them: compared, copied, bounded in depth, merged in order."""

from collections.abc import Hashable, Iterable, Iterator
from typing import Any, TypeVar

from understudy.embedded.schema.errors import bad_request

MAX_DEPTH = 200  # levels; the deepest schema of Kubernetes itself has fewer than 50
Json = Any


def refuse_depth(value: Json) -> None:
    """Does not recurse, and is called before all functions that do."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return
    raise bad_request(f"nested more than {MAX_DEPTH} levels deep")


def _inside(value: Json) -> Iterable[Json]:
    match value:
        case dict():
            return value.values()
        case list():
            return value
        case _:
            return ()


def same(one: Json, other: Json) -> bool:
    """Equal as JSON: 1 is 1.0, but true is not 1."""
    match one, other:
        case dict(), dict():
            return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
        case list(), list():
            return len(one) == len(other) and all(map(same, one, other))
        case _:
            return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def copied(value: Json) -> Json:
    match value:
        case dict():
            return {key: copied(inner) for key, inner in value.items()}
        case list():
            return [copied(inner) for inner in value]
        case _:
            return value


Item = TypeVar("Item", bound=Hashable)


def merged_order(current: Iterable[Item], wanted: Iterable[Item]) -> list[Item]:
    """All items of both, once each: `wanted` in its order, items of `current` alone at their place between them."""
    ruled = dict.fromkeys(wanted)
    return list(dict.fromkeys(_merged_order(current, ruled)))


def _merged_order(current: Iterable[Item], ruled: dict[Item, None]) -> Iterator[Item]:
    """An item of both is preceded by all items of `ruled` before it; each is yielded once."""
    ahead = iter(ruled)
    yielded: set[Item] = set()
    for item in current:
        if item not in ruled:
            yield item
        while item in ruled and item not in yielded:
            leading = next(ahead)
            yielded.add(leading)
            yield leading
    yield from ahead
