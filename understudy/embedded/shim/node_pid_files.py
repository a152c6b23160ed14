"""The pid files of node processes: one for each node, by which other programs find the process and can end it."""

import contextlib
import os
import signal
import time
from pathlib import Path

import msgspec

from understudy.embedded.shim import container_files, linux

_PATIENCE = 5.0
_LOOK = 0.001


class NodePid(msgspec.Struct, frozen=True):
    """The content of a pid file."""

    pid: int
    pid_birth: int  # the start time, which differs from that of a later process with the same pid


def pid_file(folder: Path, node: str) -> Path:
    return folder / f"{node}.json"


def write_pid_file(path: Path) -> None:
    """Called by the process itself before it does anything else."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    container_files.write(path, NodePid(os.getpid(), linux.start_ticks(os.getpid()) or 0))


def running_nodes(folder: Path) -> dict[str, NodePid]:
    """The processes that run, by the name of their node."""
    known = {path.stem: _read(path) for path in folder.glob("*.json")} if folder.is_dir() else {}
    return {node: body for node, body in known.items() if body and linux.start_ticks(body.pid) == body.pid_birth}


def _read(path: Path) -> NodePid | None:
    try:
        return container_files.read(path, NodePid)
    except msgspec.DecodeError:
        return None


def kill_all_nodes(folder: Path) -> set[str]:
    """Kills the node processes that a killed agent has left, and returns the nodes that hung."""
    left = running_nodes(folder)
    hanging = {node for node, body in left.items() if linux.is_stopped(body.pid)}
    for body in left.values():
        with contextlib.suppress(ProcessLookupError):
            os.kill(body.pid, signal.SIGKILL)
    deadline = time.monotonic() + _PATIENCE
    while running_nodes(folder) and time.monotonic() < deadline:
        time.sleep(_LOOK)
    for node in left:
        pid_file(folder, node).unlink(missing_ok=True)
    return hanging
