"""One start of a container: reads its files and the state of its shim, and sends signals to its process."""

import contextlib
import os
import signal
import time

import msgspec

from understudy.embedded.agent.containers.observed_container import CLUSTER_STOPPED, STATUS_UNKNOWN, Termination
from understudy.embedded.shim import container_files, linux
from understudy.embedded.shim.container_files import ContainerExit, ShimState
from understudy.embedded.shim.pod_folders import AttemptFolder, PodFolder

_LOST_CODE = 137
_LONGEST_MESSAGE = 4096
_LAST_LINES = 80


def shim_is_alive(folder: AttemptFolder) -> bool:
    """The lock on the folder is taken before the shim is forked, and held until it has ended."""
    return linux.is_locked(folder.path)


def has_running_shim(pod: PodFolder) -> bool:
    names = os.listdir(pod.containers) if pod.containers.is_dir() else []
    newest = [pod.attempt(name, numbers[-1]) for name in names if (numbers := pod.attempts(name))]
    return any(map(shim_is_alive, newest))


def state_of(folder: AttemptFolder) -> ShimState | None:
    return container_files.read(folder.state, ShimState)


def exit_of(folder: AttemptFolder) -> ContainerExit | None:
    return container_files.read(folder.exit, ContainerExit)


def write_lost_exit(folder: AttemptFolder, *, durable: bool) -> ContainerExit:
    """Writes the exit file of a container whose shim was killed, and its processes with it."""
    state = state_of(folder)
    lost = ContainerExit(
        exit_code=_LOST_CODE,
        signal=signal.SIGKILL,
        started_at=None if state is None else state.started_at,
        finished_at=time.time(),
        reason=STATUS_UNKNOWN,
        message="The process that kept the container was killed; how the container itself ended is not known",
    )
    container_files.write(folder.exit, lost, durable=durable)
    return lost


def signal_container(folder: AttemptFolder, number: signal.Signals) -> bool:
    """Sends a signal to the container's main process. False where it no longer exists."""
    state = state_of(folder)
    if state is None:
        return False
    try:
        handle = _handle(state.pid)
    except ProcessLookupError:
        return False
    try:
        if linux.start_ticks(state.pid) != state.pid_birth:  # while the pidfd is open, the pid is not reused
            return False
        if handle is None:
            os.kill(state.pid, number)
        else:
            signal.pidfd_send_signal(handle, number)
        return True
    except ProcessLookupError:
        return False
    finally:
        if handle is not None:
            os.close(handle)


def _handle(pid: int) -> int | None:
    """None where the system has no pidfds, or no descriptors are left."""
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        raise
    except OSError:
        return None


def termination_of(folder: AttemptFolder, how: ContainerExit, *, from_log: bool) -> Termination:
    if folder.stopped.exists():
        how = msgspec.structs.replace(how, reason=CLUSTER_STOPPED, message="The cluster was taken down")
    return Termination(
        exit_code=how.exit_code,
        reason=how.reason or _reason(how),
        finished_at=how.finished_at,
        started_at=how.started_at,
        message=how.message or termination_message(folder, from_log=from_log and how.exit_code != 0),
        signal=how.signal,
    )


def _reason(how: ContainerExit) -> str:
    if how.oom_killed:
        return "OOMKilled"
    return "Completed" if how.exit_code == 0 else "Error"


def termination_message(folder: AttemptFolder, *, from_log: bool) -> str:
    """The termination message of the container; else, where its policy says so, the end of its log."""
    with contextlib.suppress(OSError):
        with open(folder.termination_message, "rb") as file:
            if text := file.read(_LONGEST_MESSAGE):
                return text.decode(errors="replace")
        if from_log:
            lines = folder.log.read_text(errors="replace").splitlines()[-_LAST_LINES:]
            return "\n".join(line.split(" ", 3)[-1] for line in lines)[-_LONGEST_MESSAGE:]
    return ""
