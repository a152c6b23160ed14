"""Tells a story on a stream as it happens: chapters, what happened so many seconds into each, and pictures."""

import heapq
import textwrap
from collections.abc import Callable, Sequence
from typing import TextIO

from understudy.cli.paint import Painter
from understudy.cli.screen import Screen

WIDTH = 110
LATE = 0.3  # seconds by which news may come late, such as what a process prints
_COLOURS = {"DEAD": "red", "high-priority": "green", "low-priority": "yellow"}
_MARGIN = " " * 7  # of pictures


class Narrator:
    """What is told is printed in the order in which it happened, so a moment later than it is told.

    On a terminal the picture of this moment stands below it all. At the end of a chapter a picture stays, so that a
    terminal has kept what a file gets.
    """

    def __init__(self, out: TextIO, now: Callable[[], float]) -> None:
        self._screen = Screen(out)
        self._now = now
        self._paint = Painter.on(out)
        self._number = 0
        self._began = now()
        self._told: list[tuple[float, int, str]] = []  # a heap by the moment, then in the order of telling
        self._tellings = 0
        self._picture: list[str] = []
        self.in_short = False  # whether news are left out, and only what `report` says is said
        self.note = "now"  # what the picture below shows

    def begin(self, title: str) -> None:
        self.catch_up(all_of_it=True)
        self._number += 1
        self._began = self._now()
        self._screen.put("", self._paint(f"{self._number}. {title}", "bold"))

    def tell(self, news: str, at: float | None = None) -> None:
        if not self.in_short:
            self.report(news, at)

    def report(self, text: str, at: float | None = None) -> None:
        self._tellings += 1
        heapq.heappush(self._told, (self._now() if at is None else at, self._tellings, text))

    def catch_up(self, *, all_of_it: bool = False) -> None:
        """Prints what was told, up to the moment before which nothing else can have happened."""
        while self._told and (all_of_it or self._told[0][0] <= self._now() - LATE):
            at, _, text = heapq.heappop(self._told)
            moment = self._moment(at)
            indent = " " * len(moment)
            wrapped = textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent)
            self._screen.put(moment + wrapped[0].lstrip(), *wrapped[1:])

    def show(self, picture: Sequence[str]) -> None:
        """As it is now; the next one takes its place."""
        if list(picture) != self._picture:
            self._picture = list(picture)
            columns, lines = self._screen.room
            below = [f"{self._moment(self._now())}{self.note}:", *(f"{_MARGIN}{line}" for line in picture)]
            self._screen.show([self._painted(line[:columns]) for line in below][-lines:])

    def draw(self, picture: Sequence[str]) -> None:
        """To stay, after all that was told."""
        self._screen.show([])
        self.catch_up(all_of_it=True)
        self._screen.put(*(self._painted(f"{_MARGIN}{line}") for line in picture))
        self._picture = list(picture)

    def end(self) -> None:
        """However it ends: all that was told is said, and the last picture stays."""
        self.catch_up(all_of_it=True)
        self._screen.settle()

    def _moment(self, at: float) -> str:
        """In seconds from the beginning of the chapter."""
        return f"{at - self._began:8.2f} s  "

    def _painted(self, line: str) -> str:
        for word, colour in _COLOURS.items():
            line = line.replace(word, self._paint(word, colour))
        return line
