"""The order of the store against the clock: acknowledged writes tell when a revision was stored at the earliest and at
the latest. The news of a change may reach an observer late; these bounds do not depend on it."""

import bisect
from collections.abc import Iterable

import msgspec

MAX_REVISION = (1 << 63) - 1


class Stamp(msgspec.Struct, frozen=True):
    """A write that was acknowledged: its revision was stored between these two moments."""

    revision: int
    sent: float
    acknowledged: float


class StoreClock:
    def __init__(self, stamps: Iterable[Stamp]) -> None:
        self.stamps = ordered = sorted(stamps, key=lambda stamp: stamp.revision)
        self._revisions = [stamp.revision for stamp in ordered]
        self._sent = _running_max([stamp.sent for stamp in ordered])
        self._acknowledged = _running_min_from_end([stamp.acknowledged for stamp in ordered])

    def not_before(self, revision: int) -> float:
        """The store had not come to this revision before that moment; -inf where nothing is known."""
        place = bisect.bisect_right(self._revisions, revision)
        return self._sent[place - 1] if place else float("-inf")

    def not_after(self, revision: int) -> float:
        """The store had come to this revision by that moment; inf where nothing is known."""
        place = bisect.bisect_left(self._revisions, revision)
        return self._acknowledged[place] if place < len(self._revisions) else float("inf")

    def revision_at(self, moment: float) -> int:
        """The highest revision that the store may have had at that moment."""
        place = bisect.bisect_left(self._sent, moment)
        return self._revisions[place] - 1 if place < len(self._revisions) else MAX_REVISION


def _running_max(values: list[float]) -> list[float]:
    found, most = [], float("-inf")
    for value in values:
        most = max(most, value)
        found.append(most)
    return found


def _running_min_from_end(values: list[float]) -> list[float]:
    found, least = [], float("inf")
    for value in reversed(values):
        least = min(least, value)
        found.append(least)
    return found[::-1]
