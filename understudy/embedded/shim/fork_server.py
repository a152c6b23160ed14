"""A process that does nothing but fork: turns an agent's orders into shims, each in about a millisecond.

It imports little and does all slow work before the first order, since every shim is a copy of it. The first one
of a machine forks a nursery for every node; that one is the parent of the node's shims. They end when their agent
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
_LULL = 0.1  # seconds without an order, in which shims are forked ahead


class ForkServer:
    """The machine's, which forks one for every node; or a node's, which forks shims and tells that it is alive.

    A node's nursery is that node's life: it is killed or stands still with the node, and its agent notices.
    """

    def __init__(self, news: socket.socket, hello: messages.Hello, lock: int | None = None, reserve: int = 0) -> None:
        """`lock` shows that the machine has a nursery; none of those it forks may hold it."""
        self._unwritten_pid_file: Path | None = None  # the record of a node's process that could not be written yet
        self._news = news
        self._reserve = ShimPool(reserve, lambda work: self._fork(work, Path(os.devnull)))
        self._hello = hello
        self._lock = lock
        self._due = time.monotonic() + messages.HEARTBEAT_SECONDS

    def serve(self) -> None:
        send_message(self._news, msgspec.structs.replace(self._hello, pid=os.getpid()))
        while True:
            if self._lock is None:
                self._beat()
            data, files, _, _ = socket.recv_fds(self._news, messages.LARGEST_PACKET, _STREAMS)
            if not data:
                return
            match messages.decode_order(data):
                case messages.LaunchOrder(folder):
                    self._launch(AttemptFolder(Path(folder)))
                case messages.ExecOrder() as order:
                    self._enter(order, files)
                case messages.NodeOrder() as order:
                    self._embody(order, files)

    def _beat(self) -> None:
        """Until there is an order. Also between orders that come one after the other, nobody is to take it for dead."""
        poll = select.poll()
        poll.register(self._news, select.POLLIN)
        while True:
            left = self._due - time.monotonic()
            if left <= 0:
                self._due = time.monotonic() + messages.HEARTBEAT_SECONDS
                if self._unwritten_pid_file is not None:
                    self.write_pid(self._unwritten_pid_file)
                with contextlib.suppress(OSError):  # an agent that does not listen needs no second one
                    self._news.send(
                        messages.encode(messages.Heartbeat(time.time())), socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL
                    )
            elif poll.poll(min(left, _LULL) * 1000 if self._reserve.is_short else left * 1000):
                return
            elif self._reserve.is_short:
                self._reserve.add(self._keep)

    def _embody(self, order: messages.NodeOrder, files: list[int]) -> None:
        record = Path(order.record)
        pid = self._fork(lambda: self._live(record, files[0], order.reserve), record.with_suffix(".fault"))
        for file in files:
            os.close(file)
        send_message(self._news, messages.NodeForked(order.serial, pid))

    def _live(self, record: Path, file: int, reserve: int) -> None:
        """On record before it says a word: an agent that comes later must be able to end it."""
        self._news.close()
        os.setsid()
        with contextlib.suppress(OSError):
            linux.set_name("understudy-node")
            linux.adopt_orphans()
        news = socket.socket(fileno=file)
        news.set_inheritable(False)
        node = ForkServer(news, self._hello, reserve=reserve)
        node.write_pid(record)
        node.serve()

    def write_pid(self, record: Path) -> None:
        """Where the disk is full, it is done when there is room: to end for it would be to kill the node."""
        try:
            write_pid_file(record)
            self._unwritten_pid_file = None
        except OSError:
            self._unwritten_pid_file = record

    def _launch(self, folder: AttemptFolder) -> None:
        """The lock is taken before the fork: at no moment is a shim on its way and nothing shows it."""
        try:
            lock = os.open(folder.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return
        pid = self._reserve.send(folder, lock) or self._fork(lambda: run_shim(folder, self._news), folder.fault)
        os.close(lock)
        send_message(self._news, messages.ShimForked(str(folder.path), pid))

    def _keep(self, folder: AttemptFolder) -> None:
        try:
            run_shim(folder, self._news)
        except BaseException:
            _write_fault(folder.fault)

    def _enter(self, order: messages.ExecOrder, files: list[int]) -> None:
        pid = self._fork(lambda: run_exec(order, files, self._news), Path(os.devnull))
        for file in files:
            os.close(file)
        send_message(self._news, messages.ExecStarted(order.session, pid))

    def _fork(self, work: Callable[[], None], fault: Path) -> int:
        """`fault` is where it is written if the work does not end as it should."""
        pid = os.fork()
        if pid:
            return pid
        try:
            if self._lock is not None:
                os.close(self._lock)  # or the next nursery would wait for this process
            self._reserve.close_inherited()
            _let_go_of_streams()
            work()
        except BaseException:
            _write_fault(fault)
        finally:
            os._exit(0)


def _write_fault(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.write_text(traceback.format_exc())


def _let_go_of_streams() -> None:
    """Whoever reads what the agent says must not have to wait for the end of its pods."""
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.close(nothing)


def machine_fork_server(news: socket.socket, home: Path) -> ForkServer:
    """The machine's. `home` is a folder of its own: one at a time holds its lock."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    fcntl.flock(lock, fcntl.LOCK_EX)  # an earlier one may have orders left to carry out
    problem = mounts.why_not_private(home)
    if not problem:
        mounts.enter_private_view(home)
    return ForkServer(news, messages.Hello(mounts=not problem, why_not=problem), lock)


def main() -> None:
    os.umask(0o022)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        linux.set_name("understudy-fork")
        linux.adopt_orphans()  # what a shim that was killed leaves behind is nobody's zombie either
    news = socket.socket(fileno=int(sys.argv[1]))
    news.set_inheritable(False)  # it is for shims, not for what they run
    nursery = machine_fork_server(news, Path(sys.argv[2]))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # those that end are nobody's zombies
    gc.disable()
    gc.freeze()
    nursery.serve()


if __name__ == "__main__":
    main()
