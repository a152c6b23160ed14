"""The kernel's log into the Xid errors that condemn a GPU until it is reset."""

import contextlib
import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path

KERNEL_LOG = Path("/dev/kmsg")
# After these NVIDIA asks for a reset of the GPU or of the machine. Others are most often faults of programs.
FATAL = frozenset((48, 64, 74, 79, 95, 119, 120, 140))
RECOVERY_ACTION = 154  # reports what would recover the GPU; after a reset: nothing
_XID = re.compile(r"NVRM: Xid \((?:PCI:)?(?P<bus>[0-9A-Fa-f:.]+)\): (?P<number>\d+)(?P<rest>.*)")
_RECOVERED = re.compile(r"to 0x0 \(None\)")
_DRIVER_LOADED = "NVRM: loading NVIDIA"
_BLOCK = 1 << 16
_LONGEST_LINE = 1 << 14


class XidErrors:
    """The fatal errors that are in force, by GPU."""

    def __init__(self, fatal: frozenset[int] = FATAL) -> None:
        self._fatal = fatal
        self._found: dict[str, set[int]] = {}

    def read(self, line: str) -> None:
        if _DRIVER_LOADED in line:
            self._found.clear()
        elif (found := _XID.search(line)) is not None:
            self._count(found["bus"].lower(), int(found["number"]), found["rest"])

    def in_force(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        return tuple((bus, tuple(sorted(numbers))) for bus, numbers in sorted(self._found.items()))

    def _count(self, bus: str, number: int, rest: str) -> None:
        if number == RECOVERY_ACTION and _RECOVERED.search(rest):
            self._found.pop(bus, None)
        elif number in self._fatal:
            self._found.setdefault(bus, set()).add(number)


class KernelLog:
    """New lines of the log each time; the first time all it still has, so that a restart forgets nothing."""

    def __init__(self, path: Path = KERNEL_LOG) -> None:
        """Raises OSError if it cannot be read."""
        self._file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self._rest = b""

    def close(self) -> None:
        os.close(self._file)

    def lines(self) -> Iterator[str]:
        while block := self._block():
            *lines, rest = (self._rest + block).split(b"\n")
            self._rest = rest[-_LONGEST_LINE:]
            for line in lines:
                yield line.decode("utf-8", "replace")

    def _block(self) -> bytes:
        while True:
            with contextlib.suppress(BlockingIOError):
                try:
                    return os.read(self._file, _BLOCK)
                except OSError as error:
                    if error.errno == errno.EPIPE:  # the kernel overwrote lines before they were read: go on after them
                        continue
                    raise
            return b""
