"""Completion indexes as Kubernetes writes them, `1,3-5,7`, into sets of numbers and back."""

from collections.abc import Iterable


def parse_indexes(text: str) -> set[int]:
    """Parts that are not a number or a range of numbers are ignored."""
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if first.isdecimal() and (last.isdecimal() or not last):
            found.update(range(int(first), int(last or first) + 1))
    return found


def format_indexes(indexes: Iterable[int]) -> str:
    """Two neighbours are listed separately, three or more become a range."""
    parts: list[str] = []
    ordered = sorted(set(indexes))
    start = 0
    for position, index in enumerate(ordered):
        if position + 1 < len(ordered) and ordered[position + 1] == index + 1:
            continue
        first = ordered[start]
        if index == first:
            parts.append(f"{first}")
        else:
            parts.append(f"{first},{index}" if index == first + 1 else f"{first}-{index}")
        start = position + 1
    return ",".join(parts)
