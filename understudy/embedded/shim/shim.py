"""A shim: turns a Launch into a running container, its log, and its exit file.

A shim depends on no other process: all that it knows is in the files of its folder.
"""

import contextlib
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from understudy.embedded.shim import child_processes, container_files, linux, messages
from understudy.embedded.shim.container_files import (
    IMAGE_NOT_PULLED,
    START_ERROR,
    START_ERROR_CODE,
    ContainerExit,
    Launch,
    ShimState,
)
from understudy.embedded.shim.container_log import ContainerLog
from understudy.embedded.shim.container_process import CannotStart, Streams, spawn
from understudy.embedded.shim.pod_folders import AttemptFolder

_BLOCK = 1 << 16
_SIGNALLED = 128  # what shells and Kubernetes add to the number of the signal
_CLEAN_UP_SECONDS = 60
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0  # seconds until a failed write is repeated


def run_shim(folder: AttemptFolder, connection: socket.socket) -> None:
    """Runs the container to its end. The caller holds the lock on the folder and exits afterwards."""
    os.setsid()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it ends when its container does
    with contextlib.suppress(OSError):
        linux.set_name("understudy-shim")
        linux.adopt_orphans()
    launch = container_files.read(folder.launch, Launch)
    if launch is None or folder.state.exists() or folder.exit.exists():
        return  # the order was sent twice
    ending = _run(folder, launch, connection)
    if launch.afterwards:
        _clean_up(launch)
    _retry_until_written(folder, lambda: container_files.write(folder.exit, ending, durable=True))
    send_message(connection, messages.ContainerEnded(str(folder.path)))


def _retry_until_written(folder: AttemptFolder, work: Callable[[], None]) -> None:
    """Repeats the work until the disk has room: only this process knows what has to be written."""
    pause = _FIRST_PAUSE
    while True:
        try:
            return work()
        except OSError:
            if not folder.path.exists():
                raise
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)


def _run(folder: AttemptFolder, launch: Launch, connection: socket.socket) -> ContainerExit:
    journal, children = ContainerLog(folder), child_processes.ChildProcesses()
    try:
        # Before the container starts: a running container must have a state file.
        _retry_until_written(folder, lambda: container_files.reserve(folder.state))
        outputs, streams = _streams()
        try:
            pid, notes = spawn(launch, streams)
        except CannotStart as problem:
            return _never_started(launch, str(problem))
        finally:
            for file in {streams.stdin, streams.stdout, streams.stderr}:
                os.close(file)
        started_at = time.time()
        birth = linux.start_ticks(pid) or 0
        container_files.write(
            folder.state, ShimState(shim=os.getpid(), pid=pid, pid_birth=birth, started_at=started_at, notes=notes)
        )
        send_message(connection, messages.ContainerStarted(str(folder.path)))
        code = _wait_for_end(pid, children, outputs, journal)
        child_processes.kill_descendants()
        for stream, file in outputs.items():
            _drain(file, stream, journal)
        return _ending(code, started_at, launch)
    finally:
        journal.close()


def _streams() -> tuple[dict[bytes, int], Streams]:
    """The descriptors from which the shim reads the output, by stream; and the streams of the container."""
    (out_read, out_write), (err_read, err_write) = os.pipe2(os.O_CLOEXEC), os.pipe2(os.O_CLOEXEC)
    for file in (out_read, err_read):
        os.set_blocking(file, False)
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    return {b"stdout": out_read, b"stderr": err_read}, Streams(nothing, out_write, err_write)


def _wait_for_end(
    pid: int, children: child_processes.ChildProcesses, outputs: dict[bytes, int], journal: ContainerLog
) -> int:
    """Copies output into the log until the container's main process ends."""
    streams = {file: stream for stream, file in outputs.items()}
    poll = select.poll()
    for file in (children.wake, *streams):
        poll.register(file, select.POLLIN)
    while True:
        for file, _ in poll.poll():
            if file == children.wake:
                code = children.ended().get(pid)
                if code is not None:
                    return code
            elif not _copy(file, streams[file], journal):
                poll.unregister(file)


def _copy(file: int, stream: bytes, journal: ContainerLog) -> bool:
    """False at the end of the stream."""
    try:
        data = os.read(file, _BLOCK)
    except BlockingIOError:
        return True
    if data:
        journal.write(stream, data)
    return bool(data)


def _drain(file: int, stream: bytes, journal: ContainerLog) -> None:
    """Copies the rest of the output. The end of the pipe is not awaited: a process that escaped may hold it open."""
    with contextlib.suppress(BlockingIOError):
        while data := os.read(file, _BLOCK):
            journal.write(stream, data)


def _never_started(launch: Launch, problem: str) -> ContainerExit:
    reason = START_ERROR
    if launch.image:
        reason, problem = IMAGE_NOT_PULLED, f"{problem}; {_no_entrypoint(launch.image)}"
    return ContainerExit(exit_code=START_ERROR_CODE, finished_at=time.time(), reason=reason, message=problem)


def _no_entrypoint(image: str) -> str:
    return (
        f"the container has args without a command, and image {image!r} is not pulled, so its entrypoint is not known: "
        "name the program in command, or start the cluster with --runtime docker or --runtime podman"
    )


def _ending(code: int, started_at: float, launch: Launch) -> ContainerExit:
    signal_number = -code if code < 0 else 0
    return ContainerExit(
        exit_code=_SIGNALLED + signal_number if signal_number else code,
        signal=signal_number,
        started_at=started_at,
        finished_at=time.time(),
        oom_killed=code != 0 and any(_was_out_of_memory(Path(cgroup)) for cgroup in launch.cgroups),
    )


def _was_out_of_memory(cgroup: Path) -> bool:
    """Both versions of control groups have a line `oom_kill N`, in files of different names."""
    for name in ("memory.events", "memory.oom_control"):
        with contextlib.suppress(OSError):
            lines = (cgroup / name).read_text().splitlines()
            return any(line.startswith("oom_kill ") and line != "oom_kill 0" for line in lines)
    return False


def _clean_up(launch: Launch) -> None:
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(
            launch.afterwards,
            env=dict(launch.env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_CLEAN_UP_SECONDS,
            check=False,
        )


def send_message(connection: socket.socket, message: messages.ForkServerMessage) -> None:
    """A message only speeds the agent up: an agent that misses it finds the same in the files."""
    with contextlib.suppress(OSError):
        connection.send(messages.encode(message), socket.MSG_NOSIGNAL)
