"""Urgent writes go first: computes from their start and end when other writes may begin.

On a loaded cluster every write takes long. Writes that can wait would, after a fixed delay, fall into the middle of a
preemption and slow it down further: each is one more change for the API server, every watch and every kubelet. So their
delay is proportional to the time that the last urgent writes took."""

import contextlib
from collections.abc import Callable, Iterator

DELAY_FACTOR = 4.0  # times the duration of the last urgent write; its effects take longer than the write itself


class WritePriority:
    def __init__(self, pause: float, latest: float) -> None:
        """Other writes wait for `pause` seconds after an urgent write, or longer, but at most until `latest` seconds
        after they were due."""
        self._pause = pause
        self._latest = latest
        self._under_way = 0
        self._calm_at = float("-inf")

    @contextlib.contextmanager
    def urgent(self, now: Callable[[], float]) -> Iterator[None]:
        began = now()
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            ended = now()
            self._calm_at = max(self._calm_at, ended + max(self._pause, DELAY_FACTOR * (ended - began)))

    def due_until(self, now: float) -> float:
        """Other writes that were due at this time or earlier may begin now."""
        is_calm = not self._under_way and now >= self._calm_at
        return now if is_calm else now - self._latest

    def next_look(self, due: float) -> float:
        """When a write that is due then may begin; the end of an urgent write is another reason to look."""
        overdue = due + self._latest
        return overdue if self._under_way else min(max(due, self._calm_at), overdue)
