"""Hosts files that many processes read while they change: turns names that come and go into lines of a file.

The file is never replaced, since pods have it mounted, and no reader sees half a line: a new line is one append, and
a line that goes becomes a comment by one byte.
"""

import os
from collections.abc import Mapping
from pathlib import Path

_TOLERATED_WASTE = 1 << 16


class HostsFile:
    def __init__(self, path: Path, opening: str, lines: Mapping[str, str]) -> None:
        """`opening` comes first and stays; `lines` have keys by which they are dropped or replaced."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._opening = opening
        self._lines: dict[str, str] = dict(lines)
        self._places: dict[str, int] = {}
        self._size = 0
        self._waste = 0
        self._rewrite()

    def put(self, key: str, line: str) -> None:
        if self._lines.get(key) == line:
            return
        self.drop(key)
        self._lines[key] = line
        self._places[key] = self._size
        self._size += os.pwrite(self._file, f"{line}\n".encode(), self._size)

    def drop(self, key: str) -> None:
        line = self._lines.pop(key, None)
        if line is None:
            return
        os.pwrite(self._file, b"#", self._places.pop(key))
        self._waste += len(line) + 1
        if self._waste > max(_TOLERATED_WASTE, self._size // 2):
            self._rewrite()

    def close(self) -> None:
        os.close(self._file)

    def _rewrite(self) -> None:
        text = self._opening.rstrip("\n") + "\n"
        places = {}
        pieces = [text]
        size = len(text.encode())
        for key, line in self._lines.items():
            places[key] = size
            pieces.append(f"{line}\n")
            size += len(pieces[-1].encode())
        os.pwrite(self._file, "".join(pieces).encode(), 0)
        os.ftruncate(self._file, size)
        self._places, self._size, self._waste = places, size, 0
