"""A hosts file that many processes read while it changes.

The file is never replaced, since pods have it mounted, and readers never see a part of a line: a new line is one
append, and a removed line becomes a comment by one byte.
"""

import contextlib
import errno
import os
from collections.abc import Mapping
from pathlib import Path

_TOLERATED_WASTE = 1 << 16


class HostsFile:
    def __init__(self, path: Path, opening: str, lines: Mapping[str, str]) -> None:
        """`opening` is constant text at the top; `lines` have keys by which they are replaced. Raises OSError."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._opening = opening
        self._lines: dict[str, str] = dict(lines)
        self._places: dict[str, int] = {}
        self._size = 0
        self._waste = 0
        self._is_stale = True  # the file does not contain all lines
        try:
            self._rewrite()
        except OSError:
            self.close()
            raise

    def put(self, key: str, line: str) -> None:
        """A line that cannot be written to a full disk is written later, by `restore`."""
        if self._lines.get(key) == line:
            return
        self.drop(key)
        self._lines[key] = line
        if self._is_stale:
            return
        text = f"{line}\n".encode()
        try:
            if os.pwrite(self._file, text, self._size) < len(text):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            self._cut(self._size)
        else:
            self._places[key] = self._size
            self._size += len(text)

    def drop(self, key: str) -> None:
        line = self._lines.pop(key, None)
        if line is None or self._is_stale:
            return
        os.pwrite(self._file, b"#", self._places.pop(key))
        self._waste += len(line) + 1
        if self._waste > max(_TOLERATED_WASTE, self._size // 2):
            self.restore()

    def restore(self) -> None:
        """Rewrites a stale file; to be called again until there is room on the disk."""
        if self._is_stale or self._waste:
            with contextlib.suppress(OSError):
                self._rewrite()

    @property
    def is_stale(self) -> bool:
        return self._is_stale

    def close(self) -> None:
        os.close(self._file)

    def _cut(self, size: int) -> None:
        """Cuts the file after its last whole line."""
        self._is_stale = True
        with contextlib.suppress(OSError):
            os.ftruncate(self._file, size)

    def _rewrite(self) -> None:
        text = (self._opening.rstrip("\n") + "\n").encode()
        places, pieces, size = {}, [text], len(text)
        for key, line in self._lines.items():
            places[key] = size
            pieces.append(f"{line}\n".encode())
            size += len(pieces[-1])
        whole, written = b"".join(pieces), 0
        try:
            while written < size:
                written += os.pwrite(self._file, memoryview(whole)[written:], written)
            os.ftruncate(self._file, size)
        except OSError:
            self._cut(whole.rfind(b"\n", 0, written) + 1)
            raise
        self._places, self._size, self._waste, self._is_stale = places, size, 0, False
