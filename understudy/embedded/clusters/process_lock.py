"""Which process runs as which part of a cluster: one locked file a part, so that the answer is right after any crash.

The kernel releases the lock when the process ends, however it ends; forked processes do not hold it. The kernel also
knows the pid of the holder. The file adds the time of its start, and may be empty if the disk was full.
"""

import asyncio
import contextlib
import fcntl
import os
import signal
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from understudy.embedded.clusters.private_files import private_folder
from understudy.embedded.shim import linux

SUPERVISOR, SERVER, CONTROL, AGENT = "supervisor", "server", "control", "agent"
PARTS = (SERVER, CONTROL, AGENT)
_PATIENCE = 2.0  # seconds to wait for the lock: another process may hold it for a moment to test it
_LOOK = 0.01
_LONGEST_RECORD = 200
_FLOCK = "hhqqi"  # struct flock of Linux: type, whence, start, length, pid
_held: dict[Path, "LockHolder"] = {}  # by this process, since opening and closing the file would release its lock


class LockHolder(msgspec.Struct, frozen=True):
    pid: int
    started: float


class AlreadyRunning(Exception):
    """Another process runs as this part."""


@contextlib.contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Holds the lock until the end of the block or of the process. Raises AlreadyRunning."""
    private_folder(path.parent)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _lock(file, path)
        record = LockHolder(os.getpid(), time.time())
        _write(file, msgspec.json.encode(record))
        _held[path] = record
        yield
    finally:
        _held.pop(path, None)
        os.close(file)


def lock_holder(path: Path) -> LockHolder | None:
    """The process that holds the lock now."""
    if path in _held:
        return _held[path]
    try:
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return _owner(file)
    finally:
        os.close(file)
    return None


async def end_process(path: Path, seconds: float) -> None:
    """Sends SIGTERM to the process that holds the lock, and SIGKILL if it still runs after `seconds`."""
    for number, patience in ((signal.SIGTERM, seconds), (signal.SIGKILL, seconds)):
        found = lock_holder(path)
        if found is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(found.pid, number)
        deadline = time.monotonic() + patience
        while lock_holder(path) == found and time.monotonic() < deadline:
            await asyncio.sleep(_LOOK)


def _write(file: int, record: bytes) -> None:
    """Overwrites the record in place, which works on a full disk. The lock does not depend on it."""
    with contextlib.suppress(OSError):
        os.pwrite(file, record, 0)
        os.ftruncate(file, len(record))


def _owner(file: int) -> LockHolder | None:
    """The process that holds the lock. A record with another pid is of an earlier holder."""
    record = None
    with contextlib.suppress(msgspec.DecodeError):
        record = msgspec.json.decode(os.pread(file, _LONGEST_RECORD, 0), type=LockHolder)
    if sys.platform != "linux":
        return record
    pid = _locked_by(file)
    if record is not None and record.pid == pid:
        return record
    started = linux.started_at(pid)
    return None if started is None else LockHolder(pid, started)


def _locked_by(file: int) -> int:
    """The pid; 0 if no process holds the lock any more."""
    asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    kind, _, _, _, pid = struct.unpack_from(_FLOCK, fcntl.fcntl(file, fcntl.F_GETLK, asked.ljust(64, b"\0")))
    return 0 if kind == fcntl.F_UNLCK else int(pid)


def _lock(file: int, path: Path) -> None:
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError:
            if time.monotonic() > deadline:
                raise AlreadyRunning(f"{path.name} runs already") from None
            time.sleep(_LOOK)
