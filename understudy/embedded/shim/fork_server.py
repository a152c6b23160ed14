"""The fork server: turns the orders of an agent into shims by forking, each in about a millisecond.

It imports little and does all slow work before the first order, since every shim is a copy of it. The fork server of
the machine forks one for each node; that one is the parent of the node's shims. Fork servers end when their agent
does; the shims do not.
"""

import contextlib
import fcntl
import gc
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import msgspec

from understudy.embedded.shim import linux, messages, mounts
from understudy.embedded.shim.container_exec import run_exec
from understudy.embedded.shim.node_pid_files import write_pid_file
from understudy.embedded.shim.pod_folders import AttemptFolder
from understudy.embedded.shim.shim import run_shim, send_message
from understudy.embedded.shim.shim_pool import ShimPool

_STREAMS = 3
_LULL = 0.1  # seconds without an order after which a shim is forked ahead


class ForkServer:
    """Serves the orders of an agent. The machine's fork server forks one for each node; a node's forks shims and sends
    heartbeats.

    A node lives as long as its fork server runs: when the fork server is killed or stopped, the node fails.
    """

    def __init__(
        self, connection: socket.socket, hello: messages.Hello, lock: int | None = None, reserve: int = 0
    ) -> None:
        """`lock` is the lock of the machine's fork server; none of its children may hold it."""
        self._unwritten_pid_file: Path | None = None  # the pid file that could not be written yet
        self._connection = connection
        self._reserve = ShimPool(reserve, lambda work: self._fork(work, Path(os.devnull)))
        self._hello = hello
        self._lock = lock
        self._due = time.monotonic() + messages.HEARTBEAT_SECONDS

    def serve(self) -> None:
        send_message(self._connection, msgspec.structs.replace(self._hello, pid=os.getpid()))
        while True:
            if self._lock is None:
                self._beat()
            data, files, _, _ = socket.recv_fds(self._connection, messages.LARGEST_PACKET, _STREAMS)
            if not data:
                return
            match messages.decode_order(data):
                case messages.LaunchOrder(folder):
                    self._launch(AttemptFolder(Path(folder)))
                case messages.ExecOrder() as order:
                    self._enter(order, files)
                case messages.NodeOrder() as order:
                    self._become_node(order, files)

    def _beat(self) -> None:
        """Returns when there is an order; sends heartbeats and forks idle shims meanwhile."""
        poll = select.poll()
        poll.register(self._connection, select.POLLIN)
        while True:
            left = self._due - time.monotonic()
            if left <= 0:
                self._due = time.monotonic() + messages.HEARTBEAT_SECONDS
                if self._unwritten_pid_file is not None:
                    self.write_pid(self._unwritten_pid_file)
                with contextlib.suppress(OSError):  # a full socket already holds unread heartbeats
                    self._connection.send(
                        messages.encode(messages.Heartbeat(time.time())), socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL
                    )
            elif poll.poll(min(left, _LULL) * 1000 if self._reserve.is_short else left * 1000):
                return
            elif self._reserve.is_short:
                self._reserve.add(self._keep)

    def _become_node(self, order: messages.NodeOrder, files: list[int]) -> None:
        record = Path(order.record)
        pid = self._fork(lambda: self._live(record, files[0], order.reserve), record.with_suffix(".fault"))
        for file in files:
            os.close(file)
        send_message(self._connection, messages.NodeForked(order.serial, pid))

    def _live(self, record: Path, file: int, reserve: int) -> None:
        """Writes its pid file before its first message, so that a later agent can end it."""
        self._connection.close()
        os.setsid()
        with contextlib.suppress(OSError):
            linux.set_name("understudy-node")
            linux.adopt_orphans()
        connection = socket.socket(fileno=file)
        connection.set_inheritable(False)
        node = ForkServer(connection, self._hello, reserve=reserve)
        node.write_pid(record)
        node.serve()

    def write_pid(self, record: Path) -> None:
        """On a full disk, the pid file is written later: to end for it would be to kill the node."""
        try:
            write_pid_file(record)
            self._unwritten_pid_file = None
        except OSError:
            self._unwritten_pid_file = record

    def _launch(self, folder: AttemptFolder) -> None:
        """Takes the lock before the fork, so that a shim is visible from the moment of its order."""
        try:
            lock = os.open(folder.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return
        pid = self._reserve.send(folder, lock) or self._fork(lambda: run_shim(folder, self._connection), folder.fault)
        os.close(lock)
        send_message(self._connection, messages.ShimForked(str(folder.path), pid))

    def _keep(self, folder: AttemptFolder) -> None:
        try:
            run_shim(folder, self._connection)
        except BaseException:
            _write_fault(folder.fault)

    def _enter(self, order: messages.ExecOrder, files: list[int]) -> None:
        pid = self._fork(lambda: run_exec(order, files, self._connection), Path(os.devnull))
        for file in files:
            os.close(file)
        send_message(self._connection, messages.ExecStarted(order.session, pid))

    def _fork(self, work: Callable[[], None], fault: Path) -> int:
        """`fault` is the file for the traceback of an error."""
        pid = os.fork()
        if pid:
            return pid
        try:
            if self._lock is not None:
                os.close(self._lock)  # or the next fork server would wait for this process
            self._reserve.close_inherited()
            _detach_streams()
            work()
        except BaseException:
            _write_fault(fault)
        finally:
            os._exit(0)


def _write_fault(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.write_text(traceback.format_exc())


def _detach_streams() -> None:
    """Detaches from the streams of the agent: their readers must not wait for the end of the pods."""
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.close(nothing)


def machine_fork_server(connection: socket.socket, home: Path) -> ForkServer:
    """The machine's fork server. Only one at a time holds the lock on its folder `home`."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    fcntl.flock(lock, fcntl.LOCK_EX)  # an earlier fork server may still carry out orders
    problem = mounts.why_not_private(home)
    if not problem:
        mounts.enter_private_view(home)
    return ForkServer(connection, messages.Hello(mounts=not problem, why_not=problem), lock)


def main() -> None:
    os.umask(0o022)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        linux.set_name("understudy-fork")
        linux.adopt_orphans()  # adopts the children of killed shims
    connection = socket.socket(fileno=int(sys.argv[1]))
    connection.set_inheritable(False)  # for shims, not for containers
    server = machine_fork_server(connection, Path(sys.argv[2]))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children that end leave no zombies
    gc.disable()
    gc.freeze()
    server.serve()


if __name__ == "__main__":
    main()
