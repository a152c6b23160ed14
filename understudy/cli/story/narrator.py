"""Tells a story on a stream as it happens: chapters, what happened so many seconds into each, and pictures."""

import heapq
import textwrap
from collections.abc import Callable
from typing import TextIO

from understudy.cli.paint import Painter
from understudy.cli.picture import drawn
from understudy.model.snapshot import Snapshot

WIDTH = 110
LATE = 0.3  # seconds by which news may come late, such as what a process prints
_COLOURS = {"DEAD": "red", "high-priority": "green", "low-priority": "yellow"}


class Narrator:
    """What is told is printed in the order in which it happened, so a moment later than it is told."""

    def __init__(self, out: TextIO, now: Callable[[], float]) -> None:
        self._out = out
        self._now = now
        self._paint = Painter.on(out)
        self._number = 0
        self._began = now()
        self._told: list[tuple[float, int, str]] = []  # a heap by the moment, then in the order of telling
        self._tellings = 0
        self.title = ""  # of the chapter that is being told

    def begin(self, title: str) -> None:
        self.catch_up(all_of_it=True)
        self._number += 1
        self.title, self._began = title, self._now()
        self._print(f"\n{self._paint(f'{self._number}. {title}', 'bold')}")

    def tell(self, text: str, at: float | None = None) -> None:
        self._tellings += 1
        heapq.heappush(self._told, (self._now() if at is None else at, self._tellings, text))

    def catch_up(self, *, all_of_it: bool = False) -> None:
        """Prints what was told, up to the moment before which nothing else can have happened."""
        while self._told and (all_of_it or self._told[0][0] <= self._now() - LATE):
            at, _, text = heapq.heappop(self._told)
            moment = f"{self.since(at):8.2f} s  "
            indent = " " * len(moment)
            self._print(moment + textwrap.fill(text, WIDTH, initial_indent=indent, subsequent_indent=indent).lstrip())

    def draw(self, snapshot: Snapshot, topology: str) -> None:
        self.catch_up(all_of_it=True)
        for line in drawn(snapshot, topology):
            for word, colour in _COLOURS.items():
                line = line.replace(word, self._paint(word, colour))
            self._print(f"       {line}")

    def since(self, moment: float) -> float:
        """Seconds from the beginning of the chapter."""
        return moment - self._began

    def _print(self, text: str) -> None:
        print(text, file=self._out, flush=True)
