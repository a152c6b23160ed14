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

from understudy.embedded.shim import linux, mounting, talk
from understudy.embedded.shim.bodies import sign_on
from understudy.embedded.shim.entering import enter
from understudy.embedded.shim.keeping import keep, tell
from understudy.embedded.shim.layout import AttemptFolder
from understudy.embedded.shim.reserve import Reserve

_STREAMS = 3
_LULL = 0.1  # seconds without an order, in which shims are forked ahead


class Nursery:
    """The machine's, which forks one for every node; or a node's, which forks shims and tells that it is alive.

    A node's nursery is that node's life: it is killed or stands still with the node, and its agent notices.
    """

    def __init__(self, news: socket.socket, hello: talk.Hello, lock: int | None = None, reserve: int = 0) -> None:
        """`lock` shows that the machine has a nursery; none of those it forks may hold it."""
        self._unsigned: Path | None = None  # the record of a node's process that could not be written yet
        self._news = news
        self._reserve = Reserve(reserve, lambda work: self._fork(work, Path(os.devnull)))
        self._hello = hello
        self._lock = lock
        self._due = time.monotonic() + talk.BEAT

    def serve(self) -> None:
        tell(self._news, msgspec.structs.replace(self._hello, pid=os.getpid()))
        while True:
            if self._lock is None:
                self._beat()
            data, files, _, _ = socket.recv_fds(self._news, talk.LARGEST_PACKET, _STREAMS)
            if not data:
                return
            match talk.decode_order(data):
                case talk.LaunchOrder(folder):
                    self._launch(AttemptFolder(Path(folder)))
                case talk.EnterOrder() as order:
                    self._enter(order, files)
                case talk.NodeOrder() as order:
                    self._embody(order, files)

    def _beat(self) -> None:
        """Until there is an order. Also between orders that come one after the other, nobody is to take it for dead."""
        poll = select.poll()
        poll.register(self._news, select.POLLIN)
        while True:
            left = self._due - time.monotonic()
            if left <= 0:
                self._due = time.monotonic() + talk.BEAT
                if self._unsigned is not None:
                    self.sign_on(self._unsigned)
                with contextlib.suppress(OSError):  # an agent that does not listen needs no second one
                    self._news.send(talk.encode(talk.Beat(time.time())), socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
            elif poll.poll(min(left, _LULL) * 1000 if self._reserve.is_short else left * 1000):
                return
            elif self._reserve.is_short:
                self._reserve.add(self._keep)

    def _embody(self, order: talk.NodeOrder, files: list[int]) -> None:
        record = Path(order.record)
        pid = self._fork(lambda: self._live(record, files[0], order.reserve), record.with_suffix(".fault"))
        for file in files:
            os.close(file)
        tell(self._news, talk.Embodied(order.serial, pid))

    def _live(self, record: Path, file: int, reserve: int) -> None:
        """On record before it says a word: an agent that comes later must be able to end it."""
        self._news.close()
        os.setsid()
        with contextlib.suppress(OSError):
            linux.set_name("understudy-node")
            linux.adopt_orphans()
        news = socket.socket(fileno=file)
        news.set_inheritable(False)
        node = Nursery(news, self._hello, reserve=reserve)
        node.sign_on(record)
        node.serve()

    def sign_on(self, record: Path) -> None:
        """Where the disk is full, it is done when there is room: to end for it would be to kill the node."""
        try:
            sign_on(record)
            self._unsigned = None
        except OSError:
            self._unsigned = record

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
        pid = self._reserve.send(folder, lock) or self._fork(lambda: keep(folder, self._news), folder.fault)
        os.close(lock)
        tell(self._news, talk.Forked(str(folder.path), pid))

    def _keep(self, folder: AttemptFolder) -> None:
        try:
            keep(folder, self._news)
        except BaseException:
            _write_fault(folder.fault)

    def _enter(self, order: talk.EnterOrder, files: list[int]) -> None:
        pid = self._fork(lambda: enter(order, files, self._news), Path(os.devnull))
        for file in files:
            os.close(file)
        tell(self._news, talk.Entered(order.session, pid))

    def _fork(self, work: Callable[[], None], fault: Path) -> int:
        """`fault` is where it is written if the work does not end as it should."""
        pid = os.fork()
        if pid:
            return pid
        try:
            if self._lock is not None:
                os.close(self._lock)  # or the next nursery would wait for this process
            self._reserve.disown()
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


def first(news: socket.socket, home: Path) -> Nursery:
    """The machine's. `home` is a folder of its own: one at a time holds its lock."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    fcntl.flock(lock, fcntl.LOCK_EX)  # an earlier one may have orders left to carry out
    problem = mounting.why_not(home)
    if not problem:
        mounting.enter_private_view(home)
    return Nursery(news, talk.Hello(mounts=not problem, why_not=problem), lock)


def main() -> None:
    os.umask(0o022)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        linux.set_name("understudy-nurs")
        linux.adopt_orphans()  # what a shim that was killed leaves behind is nobody's zombie either
    news = socket.socket(fileno=int(sys.argv[1]))
    news.set_inheritable(False)  # it is for shims, not for what they run
    nursery = first(news, Path(sys.argv[2]))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # those that end are nobody's zombies
    gc.disable()
    gc.freeze()
    nursery.serve()


if __name__ == "__main__":
    main()
