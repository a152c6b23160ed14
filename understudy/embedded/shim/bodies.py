"""The processes of nodes, as their files tell: a file a node, by which anyone finds its process, and can end it."""

import contextlib
import os
import signal
import time
from pathlib import Path

import msgspec

from understudy.embedded.shim import linux, orders

_PATIENCE = 5.0
_LOOK = 0.001


class Body(msgspec.Struct, frozen=True):
    """Under which id the process of a node runs."""

    pid: int
    pid_birth: int  # tells it from a later one with the same id


def record(folder: Path, node: str) -> Path:
    return folder / f"{node}.json"


def sign_on(path: Path) -> None:
    """By the process itself, before it does anything else."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    orders.write(path, Body(os.getpid(), linux.birth(os.getpid()) or 0))


def found(folder: Path) -> dict[str, Body]:
    """The processes that run, by node."""
    known = {path.stem: _read(path) for path in folder.glob("*.json")} if folder.is_dir() else {}
    return {node: body for node, body in known.items() if body and linux.birth(body.pid) == body.pid_birth}


def _read(path: Path) -> Body | None:
    try:
        return orders.read(path, Body)
    except msgspec.DecodeError:
        return None


def end_all(folder: Path) -> set[str]:
    """Ends what an agent that was killed has left behind; says which of them stood still, as a node that hangs does."""
    left = found(folder)
    hanging = {node for node, body in left.items() if linux.stands_still(body.pid)}
    for body in left.values():
        with contextlib.suppress(ProcessLookupError):
            os.kill(body.pid, signal.SIGKILL)
    deadline = time.monotonic() + _PATIENCE
    while found(folder) and time.monotonic() < deadline:
        time.sleep(_LOOK)
    for node in left:
        record(folder, node).unlink(missing_ok=True)
    return hanging
