"""A bucket of tokens for every object and reason: whoever has used up its own is told nothing more for a while."""

from understudy.control.happenings import Allowance

REMEMBERED = 4096  # of buckets; the one that was used longest ago is forgotten first, and is full again


class Buckets:
    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self._levels: dict[tuple[str, str], tuple[float, float]] = {}  # tokens left, and when that was

    def take(self, key: tuple[str, str], now: float) -> bool:
        """Whether there was a token left."""
        full = float(self._allowance.at_once)
        left, since = self._levels.pop(key, (full, now))
        left = min(full, left + max(0.0, now - since) / self._allowance.every)
        taken = left >= 1.0
        self._levels[key] = (left - 1.0 if taken else left, now)
        if len(self._levels) > REMEMBERED:
            del self._levels[next(iter(self._levels))]
        return taken
