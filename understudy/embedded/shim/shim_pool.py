"""Shims forked ahead of their orders: a start then costs no fork, which is most of what it costs.

Each waits at a socket of its own for the folder of a container and the lock on it. It ends when its nursery does, also
where it was made to stand still with its node; once it has its orders it outlives the nursery, as every shim does.
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
        """`fork` has a child do something, and says which process it is."""
        self._size = size
        self._fork = fork
        self._ready: list[tuple[int, socket.socket]] = []

    @property
    def is_short(self) -> bool:
        return len(self._ready) < self._size

    def add(self, work: Callable[[AttemptFolder], None]) -> None:
        """One more, which does its work when it is told where."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._ready.append((self._fork(lambda: _wait_for_order(ours, theirs, work)), ours))

    def send(self, folder: AttemptFolder, lock: int) -> int | None:
        """The process that is on its way; None where none stands by."""
        while self._ready:
            pid, ours = self._ready.pop(0)
            with ours, contextlib.suppress(OSError):  # one that was killed is passed over
                socket.send_fds(ours, [os.fsencode(folder.path)], [lock])
                return pid
        return None

    def close_inherited(self) -> None:
        """In a child: the others are not to take it for their nursery."""
        for _, ours in self._ready:
            ours.close()


def _wait_for_order(ours: socket.socket, theirs: socket.socket, work: Callable[[AttemptFolder], None]) -> None:
    """The lock comes as an open file, and is held for as long as that stays open."""
    linux.die_with_parent()
    ours.close()  # or the end of the nursery would not be seen here, if it came before
    name, files, _, _ = socket.recv_fds(theirs, _LONGEST_PATH, 1)
    for lock in files:
        os.set_inheritable(lock, False)  # not for the container: whoever finds it held takes the shim for alive
    theirs.close()
    linux.outlive_parent()
    if name:
        work(AttemptFolder(Path(os.fsdecode(name))))
