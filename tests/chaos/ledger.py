"""The ledger of a chaos run: lines that processes wrote themselves, into values."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from tests.chaos.member import LEDGER


class Line(msgspec.Struct, frozen=True):
    """`at` is the machine's monotonic clock, which all processes share."""

    at: float
    what: str  # start, term, end, conflict, shadow
    uid: str
    pod: str
    gang: str
    node: str
    pid: int
    devices: tuple[str, ...] = ()
    began: float = 0.0
    why: str = ""
    lock: str = ""
    state: str = ""  # of the process that holds the lock
    holder: "Holder | None" = None


class Holder(msgspec.Struct, frozen=True):
    uid: str = ""
    pod: str = ""
    gang: str = ""
    node: str = ""
    pid: int = 0


_decode = msgspec.json.Decoder(Line).decode


def read(folder: Path) -> list[Line]:
    """Oldest first. A process that was killed in the middle of a write leaves no half line: appends are whole."""
    return sorted(_lines(folder / LEDGER), key=lambda line: line.at)


def _lines(path: Path) -> Iterator[Line]:
    if path.exists():
        for text in path.read_bytes().splitlines():
            yield _decode(text)
