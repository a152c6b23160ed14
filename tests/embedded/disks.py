"""A disk with little room left, as the calls that write to it show it: some bytes are taken, then it is full."""

import errno
import os
from collections.abc import Callable
from typing import Any

import pytest


class Room:
    """How many bytes still fit. Only what grows a file takes room; what is written over does not."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bytes: int | None = None  # None: plenty
        monkeypatch.setattr(os, "write", self._limited(os.write))
        monkeypatch.setattr(os, "pwrite", self._limited(os.pwrite))

    def _limited(self, call: Callable[..., int]) -> Callable[..., int]:
        def write(file: int, data: Any, *offset: int) -> int:
            if self.bytes is None:
                return call(file, data, *offset)
            size = os.fstat(file).st_size
            fits = self.bytes + (max(size - offset[0], 0) if offset else 0)
            if fits <= 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            done = call(file, memoryview(data)[:fits], *offset)
            self.bytes -= max(os.fstat(file).st_size - size, 0)
            return done

        return write
