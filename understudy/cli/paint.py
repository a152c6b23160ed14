"""Colour for people, none for files: a painter that marks text only where it writes to a terminal."""

import os
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
