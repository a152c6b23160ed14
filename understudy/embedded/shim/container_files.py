"""The files between agent and shim: how to start a container, that it runs, how it ended."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec


class Mount(msgspec.Struct, frozen=True):
    """A file or folder of this machine that the container sees at `target`."""

    source: str
    target: str
    read_only: bool = False
    shared: bool = False  # with the machine: missing mount points are not created in it
    optional: bool = False  # the container starts without it where it cannot be mounted


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    root: str  # the working folder where `cwd` does not exist
    private: str  # a folder for replacements of folders without the mount point
    isolated: bool = True  # it has its own mounts and host name
    hostname: str = ""
    mounts: tuple[Mount, ...] = ()
    hold_folder: str = (
        ""  # of an understudy: a folder that is open in it, where it waits for its activation; mounts may hide the path
    )
    preload: str = ""  # a library for LD_PRELOAD
    cgroups: tuple[str, ...] = ()
    address_space: int = 0  # bytes; 0: no limit
    niceness: int = 0  # that of the process that started the cluster
    image: str = ""  # of a container with args alone: its entrypoint is not known, so that `argv` may lack its program
    afterwards: tuple[str, ...] = ()  # a command to run after the container has ended
    delay: float = 0.0  # the back-off before this start, from which the next is computed


class ShimState(msgspec.Struct, frozen=True, kw_only=True):
    shim: int
    pid: int
    pid_birth: int  # the start time, which differs from that of a later process with the same pid
    started_at: float
    notes: tuple[str, ...] = ()  # requests that could not be met


class ContainerExit(msgspec.Struct, frozen=True, kw_only=True):
    exit_code: int
    finished_at: float
    started_at: float | None = None
    signal: int = 0
    oom_killed: bool = False
    reason: str = ""
    message: str = ""


START_ERROR = "StartError"
IMAGE_NOT_PULLED = "ImageNotPulled"
START_ERROR_CODE = 128
_RESERVED = 4096  # bytes: a block

T = TypeVar("T")


def read(path: Path, kind: type[T]) -> T | None:
    """The content of a file; None where it does not exist."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None


def write(path: Path, value: Any, *, durable: bool = False) -> None:
    """Replaces the file atomically. Durable writes also survive a power failure."""
    text, aside = msgspec.json.encode(value), _aside(path)
    try:
        with _opened(aside) as file:
            _write_all(file, text)
            os.ftruncate(file, len(text))
            if durable:
                os.fsync(file)
        os.rename(aside, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(aside)
        raise
    if durable:
        _sync_folder(path.parent)


def reserve(path: Path) -> None:
    """Reserves room for a later write of this process, since the disk may be full by then. Raises OSError."""
    with _opened(_aside(path)) as file:
        _write_all(file, bytes(_RESERVED))


def _aside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}")


def _write_all(file: int, text: bytes) -> None:
    """On a nearly full disk, a write may be partial."""
    view = memoryview(text)
    while view:
        view = view[os.pwrite(file, view, len(text) - len(view)) :]


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    """Not truncated, so that reserved room is kept."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield file
    finally:
        os.close(file)


def _sync_folder(path: Path) -> None:
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
