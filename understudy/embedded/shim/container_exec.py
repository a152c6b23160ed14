"""Runs a command in a container: in its mounts, environment, folder and limits; the caller passes the streams."""

import contextlib
import fcntl
import os
import select
import signal
import socket
import termios
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from understudy.embedded.niceness import set_niceness
from understudy.embedded.shim import child_processes, container_files, linux, messages
from understudy.embedded.shim.container_files import Launch, ShimState
from understudy.embedded.shim.container_process import (
    Streams,
    change_folder,
    environment,
    error_text,
    execute,
    join_cgroup,
    restore_signals,
    take_streams,
)
from understudy.embedded.shim.pod_folders import AttemptFolder
from understudy.embedded.shim.shim import send_message

_SIGNALLED = 128
_NOT_RUN = 126
_NAMESPACES = ("user", "mnt", "uts")  # the user namespace first: it grants the right to enter the others


class _Disconnected(Exception):
    """The client has closed the connection."""


def _on_sigterm(*_: object) -> None:
    raise _Disconnected


def run_exec(order: messages.ExecOrder, files: Sequence[int], connection: socket.socket) -> None:
    """Runs until the command ends. On SIGTERM, or when the agent is gone, the command is killed."""
    os.setsid()
    with contextlib.suppress(OSError):
        linux.set_name("understudy-exec")
        linux.adopt_orphans()
    children = child_processes.ChildProcesses()
    signal.signal(signal.SIGTERM, _on_sigterm)
    report_out, report_in = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid == 0:
        _become(order, Streams(*files), report_in)
    for file in (*files, report_in):
        os.close(file)
    with open(report_out, "rb") as report:
        problem = report.read().decode(errors="replace")
    code = None
    with contextlib.suppress(_Disconnected):
        code = _wait_for_end(pid, children, connection)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child_processes.kill_descendants()
    if code is not None:
        send_message(connection, messages.ExecEnded(order.session, _NOT_RUN if problem else _exit_code(code), problem))


def _wait_for_end(pid: int, children: child_processes.ChildProcesses, connection: socket.socket) -> int:
    poll = select.poll()
    poll.register(children.wake, select.POLLIN)
    poll.register(connection.fileno(), select.POLLHUP)
    while True:
        for file, _ in poll.poll():
            if file == connection.fileno():
                raise _Disconnected
            code = children.ended().get(pid)
            if code is not None:
                return code


def _exit_code(code: int) -> int:
    return _SIGNALLED - code if code < 0 else code


def _become(order: messages.ExecOrder, streams: Streams, report: int) -> NoReturn:
    try:
        folder = AttemptFolder(Path(order.folder))
        launch, state = container_files.read(folder.launch, Launch), container_files.read(folder.state, ShimState)
        if launch is None or state is None or linux.start_ticks(state.pid) != state.pid_birth:
            raise ProcessLookupError("the container is not running")
        _prepare(order, launch, state, streams)
        given = environment(launch)
        execute(order.argv, {"TERM": "xterm", **given} if order.tty else given)
    except BaseException as problem:
        os.write(report, error_text(problem).encode())
    finally:
        os._exit(_NOT_RUN)


def _prepare(order: messages.ExecOrder, launch: Launch, state: ShimState, streams: Streams) -> None:
    with contextlib.suppress(OSError):
        linux.die_with_parent()
    os.setsid()
    set_niceness(launch.niceness)
    for cgroup in launch.cgroups:
        join_cgroup(cgroup)
    _join_namespaces(state.pid)
    change_folder(launch)
    restore_signals()
    take_streams(streams)
    if order.tty:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _join_namespaces(pid: int) -> None:
    """Also takes the container's root folder, which may differ from that of its mount namespace."""
    namespaces = [(f"/proc/{pid}/ns/{name}", f"/proc/self/ns/{name}") for name in _NAMESPACES]
    foreign = [theirs for theirs, ours in namespaces if os.stat(theirs).st_ino != os.stat(ours).st_ino]
    files = [os.open(name, os.O_RDONLY | os.O_CLOEXEC) for name in foreign]
    root = os.open(f"/proc/{pid}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    for file in files:
        linux.join_namespace(file)
    if files:
        os.fchdir(root)
        os.chroot(".")
