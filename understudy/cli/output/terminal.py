"""Colours on a terminal, and lines that are rewritten in place. Files and pipes get plain text."""

import os
import shutil
from collections.abc import Sequence
from typing import TextIO

import msgspec

_CODES = {"bold": "1", "red": "31", "green": "32", "yellow": "33", "cyan": "36", "faint": "2"}


class Painter(msgspec.Struct, frozen=True):
    colours: bool = False

    @staticmethod
    def on(stream: TextIO) -> "Painter":
        """Honours NO_COLOR (any value that is not empty) and terminals that say they are dumb."""
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        return Painter(stream.isatty() and not plain)

    def __call__(self, text: str, colour: str) -> str:
        return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if self.colours else text


_UP, _CLEAR = "\x1b[{}F", "\x1b[J"


def repaints(out: TextIO) -> bool:
    return out.isatty() and os.environ.get("TERM") != "dumb"


class Screen:
    """Each change is one write, so that nothing flickers. What has scrolled away is never touched."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self.live = repaints(out)
        self._below: list[str] = []

    @property
    def room(self) -> tuple[int, int]:
        """Columns and lines. The changing lines have to fit: a wrapped line cannot be rewritten."""
        size = shutil.get_terminal_size()
        return size.columns - 1, size.lines - 1

    def put(self, *lines: str) -> None:
        """Prints lines that stay, above the lines below."""
        self._write([*lines], self._below)

    def show(self, lines: Sequence[str]) -> None:
        """Shows these lines below all others, in place of those shown before."""
        if self.live and list(lines) != self._below:
            self._write([], list(lines))

    def settle(self) -> None:
        """Leaves the lines below on the screen for good."""
        self._below = []

    def _write(self, above: list[str], below: list[str]) -> None:
        back = _UP.format(len(self._below)) + _CLEAR if self._below else ""
        self._out.write(back + "".join(f"{line}\n" for line in (*above, *below)))
        self._out.flush()
        self._below = below
