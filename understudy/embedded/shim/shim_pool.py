"""Idle shims, forked ahead of their orders: a start then needs no fork, its most expensive part.

Each waits at a socket of its own for the folder of a container and the lock on it. An idle shim ends with its fork
server, even if it is stopped with its node. Once it has its order it outlives the fork server, as every shim does.
"""

import contextlib
import os
import socket
from collections.abc import Callable
from pathlib import Path

from understudy.embedded.shim import linux
from understudy.embedded.shim.pod_folders import AttemptFolder

_LONGEST_PATH = 1 << 13


class ShimPool:
    def __init__(self, size: int, fork: Callable[[Callable[[], None]], int]) -> None:
        """`fork` runs a function in a child process and returns its pid."""
        self._size = size
        self._fork = fork
        self._ready: list[tuple[int, socket.socket]] = []

    @property
    def is_short(self) -> bool:
        return len(self._ready) < self._size

    def add(self, work: Callable[[AttemptFolder], None]) -> None:
        """Forks one more idle shim, which does the work once it is sent a folder."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._ready.append((self._fork(lambda: _wait_for_order(ours, theirs, work)), ours))

    def send(self, folder: AttemptFolder, lock: int) -> int | None:
        """Sends the order to an idle shim and returns its pid; None where there is none."""
        while self._ready:
            pid, ours = self._ready.pop(0)
            with ours, contextlib.suppress(OSError):  # a killed shim is skipped
                socket.send_fds(ours, [os.fsencode(folder.path)], [lock])
                return pid
        return None

    def close_inherited(self) -> None:
        """In a child: closes inherited sockets, so that the idle shims see the end of their fork server."""
        for _, ours in self._ready:
            ours.close()


def _wait_for_order(ours: socket.socket, theirs: socket.socket, work: Callable[[AttemptFolder], None]) -> None:
    """The lock arrives as an open file, and is held as long as that is open."""
    linux.die_with_parent()
    ours.close()  # or this process would not see the end of the fork server
    name, files, _, _ = socket.recv_fds(theirs, _LONGEST_PATH, 1)
    for lock in files:
        os.set_inheritable(lock, False)  # not for the container: a held lock means that the shim is alive
    theirs.close()
    linux.outlive_parent()
    if name:
        work(AttemptFolder(Path(os.fsdecode(name))))
