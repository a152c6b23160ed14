"""Ends the processes of all pods of a cluster, when it goes down and no agent is there to do it."""

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
    """The containers that run, whoever started them."""
    return [state for _, state in _running(folder)]


async def end_all_pods(folder: ClusterFolder, grace: float) -> int:
    """Asks every container to end, and kills those that have not after so many seconds; says how many there were.

    The processes of nodes go first, should an agent that was killed have left some: they would start others.
    """
    node_pid_files.kill_all_nodes(folder.nodes)
    found = _running(folder)
    for attempt, _ in found:
        with contextlib.suppress(OSError):  # a full disk, which is no reason to let it run
            attempt.stopped.touch()
    for number, seconds in ((signal.SIGTERM, grace), (signal.SIGKILL, LAST_WORDS)):
        for state in running_containers(folder):
            deaf = linux.is_stopped(state.pid)  # on a node that was made to hang: it would be waited for in vain
            with contextlib.suppress(ProcessLookupError):
                os.kill(state.pid, signal.SIGKILL if deaf else number)
                os.kill(state.shim, signal.SIGCONT)  # it may stand still, too, and has to see the end
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
    """An agent takes its control groups away; one that was killed could not. The kernel keeps those still in use."""
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
                continue  # an understudy that became another pod, which has its own entry
            with contextlib.suppress(OSError):
                for container in pod.containers.iterdir():
                    if starts := pod.attempts(container.name):
                        yield pod.attempt(container.name, starts[-1])


def _alive(attempt: AttemptFolder) -> ShimState | None:
    if attempt.exit.exists():
        return None
    state = container_files.read(attempt.state, ShimState)
    return state if state is not None and linux.start_ticks(state.pid) == state.pid_birth else None
