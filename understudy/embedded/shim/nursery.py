"""A process that does nothing but fork: turns an agent's orders into shims, each in about a millisecond.

It imports little and does all slow work before the first order, since every shim is a copy of it. It ends when
its agent does; the shims do not.
"""

import contextlib
import fcntl
import gc
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from understudy.embedded.shim import linux, mounting, talk
from understudy.embedded.shim.entering import enter
from understudy.embedded.shim.keeping import keep, tell
from understudy.embedded.shim.layout import AttemptFolder

_STREAMS = 3


class Nursery:
    def __init__(self, news: socket.socket, home: Path) -> None:
        """`home` is a folder of the nursery's own: one nursery at a time holds its lock."""
        self._news = news
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = os.open(home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(self._lock, fcntl.LOCK_EX)  # an earlier nursery may have orders left to carry out
        problem = mounting.why_not(home)
        if not problem:
            mounting.enter_private_view(home)
        self._hello = talk.Hello(mounts=not problem, why_not=problem)

    def serve(self) -> None:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # shims that end are nobody's zombies
        gc.disable()
        gc.freeze()
        tell(self._news, self._hello)
        while True:
            data, files, _, _ = socket.recv_fds(self._news, talk.LARGEST_PACKET, _STREAMS)
            if not data:
                return
            match talk.decode_order(data):
                case talk.LaunchOrder(folder):
                    self._launch(AttemptFolder(Path(folder)))
                case talk.EnterOrder() as order:
                    self._enter(order, files)

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
        pid = self._fork(lambda: keep(folder, self._news), folder.fault)
        os.close(lock)
        tell(self._news, talk.Forked(str(folder.path), pid))

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
            os.close(self._lock)  # or the next nursery would wait for this shim
            _let_go_of_streams()
            work()
        except BaseException:
            fault.write_text(traceback.format_exc())
        finally:
            os._exit(0)


def _let_go_of_streams() -> None:
    """Whoever reads what the agent says must not have to wait for the end of its pods."""
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.close(nothing)


def main() -> None:
    os.umask(0o022)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        linux.set_name("understudy-nurs")
    news = socket.socket(fileno=int(sys.argv[1]))
    news.set_inheritable(False)  # it is for shims, not for what they run
    Nursery(news, Path(sys.argv[2])).serve()


if __name__ == "__main__":
    main()
