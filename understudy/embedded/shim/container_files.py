"""What an agent and a shim tell each other through files: how to start a container, that it runs, how it ended."""

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
    shared: bool = False  # with the machine: mount points that lack in it are not made there
    optional: bool = False  # a container without it is better than none


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    root: str  # where it starts when `cwd` does not exist
    private: str  # for stand-ins of folders that lack a mount point
    isolated: bool = True  # it has mounts and a host name of its own
    hostname: str = ""
    mounts: tuple[Mount, ...] = ()
    hold_folder: str = ""  # a folder left open for it, where it waits for its cue: mounts may hide the path
    preload: str = ""  # a library to load before those of the command
    cgroups: tuple[str, ...] = ()
    address_space: int = 0  # bytes; 0: no limit
    niceness: int = 0  # that of whoever started the cluster
    afterwards: tuple[str, ...] = ()  # a command to run when it has ended, whatever happened
    delay: float = 0.0  # the back-off that came before this start, for whoever works out the next


class ShimState(msgspec.Struct, frozen=True, kw_only=True):
    shim: int
    pid: int
    pid_birth: int  # tells a process from a later one with the same id
    started_at: float
    notes: tuple[str, ...] = ()  # what could not be had as asked, in words


class ContainerExit(msgspec.Struct, frozen=True, kw_only=True):
    exit_code: int
    finished_at: float
    started_at: float | None = None
    signal: int = 0
    oom_killed: bool = False
    reason: str = ""
    message: str = ""


START_ERROR = "StartError"
START_ERROR_CODE = 128
_RESERVED = 4096  # bytes: a block

T = TypeVar("T")


def read(path: Path, kind: type[T]) -> T | None:
    """What the file says; None where there is none."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None


def write(path: Path, value: Any, *, durable: bool = False) -> None:
    """All or nothing: whoever reads sees the old file or the new one. Durable ones outlive a power cut, too."""
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
    """Room for what this process is going to write there; the disk may be full by then. Raises OSError."""
    with _opened(_aside(path)) as file:
        _write_all(file, bytes(_RESERVED))


def _aside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}")


def _write_all(file: int, text: bytes) -> None:
    """On a disk that is nearly full, a write may be done in part."""
    view = memoryview(text)
    while view:
        view = view[os.pwrite(file, view, len(text) - len(view)) :]


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    """Not truncated: what was reserved is to be written over."""
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
