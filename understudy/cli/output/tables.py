"""Rows into the lines of a table, each column two blanks wider than its widest cell; and what words look like."""

import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence

from understudy.cli.output.terminal import Painter

GAP = 2
NONE = "N/A"
_COLOURS = {
    "RUNNING": "green",
    "SUCCEEDED": "cyan",
    "FAILED": "red",
    "PENDING": "yellow",
    "QUEUING": "yellow",
    "SUSPENDED": "yellow",
    "ready": "green",
    "notReady": "red",
    "Warning": "yellow",
}

Row = Sequence[str]


def table(rows: Sequence[Row], paint: Callable[[str], str] = str) -> list[str]:
    """The last cell of a row is not padded. Colours take no room."""
    columns = max((len(row) for row in rows), default=0)
    widths = [max((len(row[i]) for row in rows if i < len(row)), default=0) for i in range(columns)]
    lines = []
    for row in rows:
        cells = [paint(cell) + " " * (widths[i] + GAP - len(cell)) for i, cell in enumerate(row)]
        lines.append("".join(cells).rstrip(" "))
    return lines


def status_colours() -> Callable[[str], str]:
    """Paints words that tell how something is doing, where stdout is a terminal."""
    painter = Painter.on(sys.stdout)
    return lambda word: painter(word, _COLOURS[word]) if word in _COLOURS else word


def show(lines: Sequence[str]) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def wrapped(sentences: Sequence[str]) -> list[str]:
    """Sentences into lines that fit the terminal."""
    width = shutil.get_terminal_size().columns
    return [line for sentence in sentences for line in textwrap.wrap(sentence, width, subsequent_indent="  ")]
