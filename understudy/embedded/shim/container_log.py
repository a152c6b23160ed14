"""The log of a container: turns its output into the lines of log files, and rotates them."""

import contextlib
import itertools
import os
import time

from understudy.embedded.shim.pod_folders import AttemptFolder

LARGEST_LOG_BYTES = 10 * 1024 * 1024


class ContainerLog:
    """Each line is `TIME STREAM TAG TEXT`, with the tag F for a full line and P for a part of one.

    A full disk costs lines of the log, never the container. Once there is room, a line says how much is missing.
    """

    def __init__(self, folder: AttemptFolder, largest: int = LARGEST_LOG_BYTES) -> None:
        self._folder = folder
        self._largest = largest
        self._file: int | None = None
        self._size = 0
        self._second = -1
        self._date = ""
        self._lost = 0  # bytes of output that could not be written
        self._problem = ""
        with contextlib.suppress(OSError):
            self._open()

    def write(self, stream: bytes, data: bytes) -> None:
        head = self._now() + b" " + stream
        whole, last = head + b" F ", data.rsplit(b"\n", 1)
        lines: list[bytes] = []
        if len(last) == 2:
            lines = [whole + line + b"\n" for line in last[0].split(b"\n")]
        if last[-1]:
            lines.append(head + b" P " + last[-1] + b"\n")
        try:
            if self._lost:
                self._append(self._loss())
                self._lost = 0
            self._append(b"".join(lines))
        except OSError as problem:
            self._lost += len(data)
            self._problem = problem.strerror or str(problem)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _loss(self) -> bytes:
        words = f"understudy: {self._lost} bytes of output are missing here: {self._problem}"
        return self._now() + b" stderr F " + words.encode() + b"\n"

    def _append(self, text: bytes) -> None:
        if self._file is not None and self._size and self._size + len(text) > self._largest:
            self._rotate()
        file = self._open() if self._file is None else self._file
        written = 0
        try:
            while written < len(text):
                written += os.write(file, memoryview(text)[written:])
        except OSError:
            written = text.rfind(b"\n", 0, written) + 1  # readers have read only whole lines
            with contextlib.suppress(OSError):
                os.ftruncate(file, self._size + written)
            raise
        finally:
            self._size += written

    def _rotate(self) -> None:
        files = self._folder.logs()
        for older, newer in itertools.pairwise(files):
            with contextlib.suppress(FileNotFoundError):
                os.rename(newer, older)
        self.close()

    def _open(self) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._file = os.open(self._folder.log, flags, 0o600)
        self._size = os.fstat(self._file).st_size
        return self._file

    def _now(self) -> bytes:
        second, fraction = divmod(time.time_ns(), 1_000_000_000)
        if second != self._second:
            self._second = second
            self._date = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        return f"{self._date}.{fraction:09d}Z".encode()
