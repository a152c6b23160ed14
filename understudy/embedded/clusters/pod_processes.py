"""Ends the processes of all pods of a cluster that goes down, when its agent no longer runs."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from understudy.embedded.cluster_folder import ClusterFolder
from understudy.embedded.shim import container_files, linux, node_pid_files
from understudy.embedded.shim.container_files import ShimState
from understudy.embedded.shim.pod_folders import AttemptFolder, PodFolder

LAST_WORDS = 5.0  # seconds for the shims to write down how it ended
_LOOK = 0.02


def running_containers(folder: ClusterFolder) -> list[ShimState]:
    """The running containers, including those that an earlier agent started."""
    return [state for _, state in _running(folder)]


async def end_all_pods(folder: ClusterFolder, grace: float) -> int:
    """Sends SIGTERM to every container, and SIGKILL after `grace` seconds. Returns how many there were.

    Processes of nodes that a killed agent left behind are ended first: they could start other processes.
    """
    node_pid_files.kill_all_nodes(folder.nodes)
    found = _running(folder)
    for attempt, _ in found:
        with contextlib.suppress(OSError):  # a full disk must not keep the container running
            attempt.stopped.touch()
    for number, seconds in ((signal.SIGTERM, grace), (signal.SIGKILL, LAST_WORDS)):
        for state in running_containers(folder):
            deaf = linux.is_stopped(state.pid)  # a frozen process ignores SIGTERM
            with contextlib.suppress(ProcessLookupError):
                os.kill(state.pid, signal.SIGKILL if deaf else number)
                os.kill(state.shim, signal.SIGCONT)  # the shim may be frozen too, and must record the exit
        await _gone(folder, seconds)
    await _end_shims(folder)
    _remove_groups(folder)
    return len(found)


def _running(folder: ClusterFolder) -> list[tuple[AttemptFolder, ShimState]]:
    return [(attempt, state) for attempt in _attempts(folder) if (state := _alive(attempt)) is not None]


async def _gone(folder: ClusterFolder, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while running_containers(folder) and time.monotonic() < deadline:
        await asyncio.sleep(_LOOK)


async def _end_shims(folder: ClusterFolder) -> None:
    """On a full disk, a shim retries to write the exit of its container, which is of use only while the cluster is up.

    All shims are looked at: the containers of some may have ended before, when an earlier call was interrupted.
    """
    deadline = time.monotonic() + LAST_WORDS
    while left := [one for one in _attempts(folder) if not one.exit.exists() and linux.is_locked(one.path)]:
        if time.monotonic() > deadline:
            for attempt in left:
                _kill_shim(attempt)
            return
        await asyncio.sleep(_LOOK)


def _kill_shim(attempt: AttemptFolder) -> None:
    """A shim that has no container yet has no state file: it is found by the lock that it holds."""
    state = container_files.read(attempt.state, ShimState)
    for pid in linux.lock_holders(attempt.path) if state is None else {state.shim}:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _remove_groups(folder: ClusterFolder) -> None:
    """Removes the control groups that a killed agent left behind. The kernel keeps those in use."""
    with contextlib.suppress(FileNotFoundError):
        for base in map(Path, folder.control_groups.read_text().splitlines()):
            for group in (*base.glob("*/"), base):
                with contextlib.suppress(OSError):
                    group.rmdir()


def _attempts(folder: ClusterFolder) -> Iterator[AttemptFolder]:
    """The last start of every container of every pod."""
    with contextlib.suppress(FileNotFoundError):
        for path in folder.pods.iterdir():
            pod = PodFolder(path)
            if path.is_symlink():
                continue  # an understudy that stepped in for a pod, which has an entry of its own
            with contextlib.suppress(OSError):
                for container in pod.containers.iterdir():
                    if starts := pod.attempts(container.name):
                        yield pod.attempt(container.name, starts[-1])


def _alive(attempt: AttemptFolder) -> ShimState | None:
    if attempt.exit.exists():
        return None
    state = container_files.read(attempt.state, ShimState)
    return state if state is not None and linux.start_ticks(state.pid) == state.pid_birth else None
