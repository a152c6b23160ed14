"""Turns what a container writes into the lines of its log file, and keeps that file small."""

import contextlib
import itertools
import os
import time

from understudy.embedded.shim.layout import AttemptFolder

LARGEST_LOG = 10 * 1024 * 1024


class Journal:
    """A line a line, `TIME STREAM TAG TEXT`: tag F where it ends there, P where more of it follows."""

    def __init__(self, folder: AttemptFolder, largest: int = LARGEST_LOG) -> None:
        self._folder = folder
        self._largest = largest
        self._file = -1
        self._size = 0
        self._second = -1
        self._date = ""
        self._open()

    def write(self, stream: bytes, data: bytes) -> None:
        """A full disk costs lines of the log, never the container."""
        head = self._now() + b" " + stream
        whole, last = head + b" F ", data.rsplit(b"\n", 1)
        lines: list[bytes] = []
        if len(last) == 2:
            lines = [whole + line + b"\n" for line in last[0].split(b"\n")]
        if last[-1]:
            lines.append(head + b" P " + last[-1] + b"\n")
        with contextlib.suppress(OSError):
            self._append(b"".join(lines))

    def close(self) -> None:
        os.close(self._file)

    def _append(self, text: bytes) -> None:
        if self._size and self._size + len(text) > self._largest:
            self._rotate()
        view = memoryview(text)
        while view:
            written = os.write(self._file, view)
            self._size += written
            view = view[written:]

    def _rotate(self) -> None:
        files = self._folder.logs()
        for older, newer in itertools.pairwise(files):
            with contextlib.suppress(FileNotFoundError):
                os.rename(newer, older)
        os.close(self._file)
        self._open()

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._file = os.open(self._folder.log, flags, 0o600)
        self._size = os.fstat(self._file).st_size

    def _now(self) -> bytes:
        second, fraction = divmod(time.time_ns(), 1_000_000_000)
        if second != self._second:
            self._second = second
            self._date = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        return f"{self._date}.{fraction:09d}Z".encode()
