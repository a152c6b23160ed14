"""Who runs as which part of a cluster: a locked file each, so that the answer is right after any crash.

The lock belongs to the process and goes with it, however it ends; processes it forked do not hold it.
"""

import asyncio
import contextlib
import fcntl
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from understudy.embedded.clusters.files import private_folder

SUPERVISOR, SERVER, CONTROL, AGENT = "supervisor", "server", "control", "agent"
PARTS = (SERVER, CONTROL, AGENT)
_PATIENCE = 2.0  # seconds a new process waits for the lock: somebody may just be looking at it
_LOOK = 0.01
_held: dict[Path, "Holder"] = {}  # by this process: opening and closing such a file would give up its lock


class Holder(msgspec.Struct, frozen=True):
    pid: int
    started: float


class Taken(Exception):
    """Another process is this part already."""


@contextlib.contextmanager
def holding(path: Path) -> Iterator[None]:
    """This process is the part that the file stands for, until the end of the block or of the process."""
    private_folder(path.parent)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _lock(file, path)
        record = Holder(os.getpid(), time.time())
        os.ftruncate(file, 0)
        os.pwrite(file, msgspec.json.encode(record), 0)
        _held[path] = record
        yield
    finally:
        _held.pop(path, None)
        os.close(file)


def holder(path: Path) -> Holder | None:
    """The process that is this part now."""
    if path in _held:
        return _held[path]
    try:
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        with contextlib.suppress(msgspec.DecodeError):
            return msgspec.json.decode(os.pread(file, 200, 0), type=Holder)
    finally:
        os.close(file)
    return None


async def end(path: Path, seconds: float) -> None:
    """Ends the process that is this part: asked to first, killed when it has not gone after so many seconds."""
    for number, patience in ((signal.SIGTERM, seconds), (signal.SIGKILL, seconds)):
        found = holder(path)
        if found is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(found.pid, number)
        deadline = time.monotonic() + patience
        while holder(path) == found and time.monotonic() < deadline:
            await asyncio.sleep(_LOOK)


def _lock(file: int, path: Path) -> None:
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError:
            if time.monotonic() > deadline:
                raise Taken(f"{path.name} runs already") from None
            time.sleep(_LOOK)
