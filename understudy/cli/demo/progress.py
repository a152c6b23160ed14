"""Prints the progress of the demo: chapters, events with the seconds since the chapter began, and the domains."""

import asyncio
import heapq
import textwrap
from collections import deque
from collections.abc import Callable, Sequence
from typing import TextIO

from understudy.cli.output.terminal import Painter, Screen

WIDTH = 110
LATE = 0.3  # seconds by which news may come late, such as what a process prints
NOTE = "the slices (>name starts, name> leaves)"
PACE = 0.2  # seconds that a picture stands at least, where a terminal shows them one after the other
_COLOURS = {"DEAD": "red", "high-priority": "green", "low-priority": "yellow"}
_MARGIN = " " * 7  # of pictures


class ProgressPrinter:
    """Prints reports in the order of their times. A report may come late, so each is printed a moment after it was
    added.

    On a terminal, the last picture of the cluster stands below all reports, with the time of its change. Most swaps are
    over before a person could see them. So each picture is shown for at least PACE seconds, while the cluster goes on.
    The picture at the end of a chapter stays. So a terminal shows in the end the same lines as a file.
    """

    def __init__(self, out: TextIO, now: Callable[[], float]) -> None:
        self._screen = Screen(out)
        self._now = now
        self._paint = Painter.on(out)
        self._number = 0
        self._began = now()
        self._queue: list[tuple[float, int, str]] = []  # a heap by the moment, then in the order of the reports
        self._reports = 0
        self._latest: list[str] = []  # picture
        self._pictures: deque[tuple[float, list[str]]] = deque()  # not shown yet
        self._shown_at = 0.0
        self.brief = False  # whether news are left out, and pictures come as quickly as they change
        self.note = NOTE  # what the picture below shows

    def begin(self, title: str) -> None:
        self.print_reports(everything=True)
        self._number += 1
        self._began = self._now()
        self._screen.put("", self._paint(f"{self._number}. {title}", "bold"))

    def report(self, news: str, at: float | None = None) -> None:
        if not self.brief:
            self.report_always(news, at)

    def report_always(self, text: str, at: float | None = None) -> None:
        self._reports += 1
        heapq.heappush(self._queue, (self._now() if at is None else at, self._reports, text))

    def print_reports(self, *, everything: bool = False) -> None:
        """Prints the reports up to the moment before which no further report can come."""
        until = min([self._now() - LATE, *(at for at, _ in self._pictures)])
        while self._queue and (everything or self._queue[0][0] <= until):
            at, _, text = heapq.heappop(self._queue)
            moment = self._moment(at)
            indent = " " * len(moment)
            wrapped = textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent)
            self._screen.put(moment + wrapped[0].lstrip(), *wrapped[1:])

    def show(self, picture: Sequence[str]) -> None:
        """Shows the current picture on a terminal; the next picture replaces it."""
        if self._screen.live and list(picture) != self._latest:
            self._latest = list(picture)
            self._pictures.append((self._now(), self._latest))
        while self._pictures and (self.brief or self._now() >= self._shown_at + PACE):
            self._show_next()

    async def show_remaining(self) -> None:
        """Shows the pictures that have not been shown yet, each for PACE seconds."""
        while self._pictures:
            await asyncio.sleep(PACE)
            self._show_next()
            self.print_reports()

    def draw(self, picture: Sequence[str]) -> None:
        """Prints a picture that stays, after all reports."""
        self._pictures.clear()
        self._screen.show([])
        self.print_reports(everything=True)
        self._screen.put(*(self._painted(f"{_MARGIN}{line}") for line in picture))
        self._latest = list(picture)

    def end(self) -> None:
        """Prints all reports that are left. The last picture stays."""
        self.print_reports(everything=True)
        self._screen.settle()

    def _show_next(self) -> None:
        at, picture = self._pictures.popleft()
        self._shown_at = self._now()
        columns, lines = self._screen.room
        below = [f"{self._moment(at)}{self.note}:", *(f"{_MARGIN}{line}" for line in picture)]
        self._screen.show([self._painted(line[:columns]) for line in below][-lines:])

    def _moment(self, at: float) -> str:
        """The time in seconds since the chapter began."""
        return f"{at - self._began:8.2f} s  "

    def _painted(self, line: str) -> str:
        for word, colour in _COLOURS.items():
            line = line.replace(word, self._paint(word, colour))
        return line
