"""Urgent writes go first: turns when they began and ended into when writes that can wait may go out.

On a loaded cluster every write takes long. Those that can wait, if they went out after a fixed time, would meet a
preemption half-way and make it longer still: each of them is one more change for the API server, for every watch and
for every kubelet. So they stay away in proportion to how long the last urgent writes took.
"""

import contextlib
from collections.abc import Callable, Iterator

DELAY_FACTOR = 4.0  # as the last urgent write took, before what can wait goes out: its effect takes longer than itself


class WritePriority:
    def __init__(self, pause: float, latest: float) -> None:
        """What can wait stays away for `pause` seconds after an urgent write, or longer, but goes out in any case
        `latest` seconds after it was due."""
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
        """Writes that can wait may go out now if they were due then or before."""
        is_calm = not self._under_way and now >= self._calm_at
        return now if is_calm else now - self._latest

    def next_look(self, due: float) -> float:
        """When a write that is due then may go out; the end of an urgent write is another reason to look."""
        overdue = due + self._latest
        return overdue if self._under_way else min(max(due, self._calm_at), overdue)
