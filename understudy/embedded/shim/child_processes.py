"""A process's children and their children: learns when they end, and ends those that are left over.

To be used by one process that adopts orphans: whatever a command starts, and however it hides, ends up as its child.
"""

import contextlib
import os
import signal

from understudy.embedded.shim import linux

_POKES_PER_LOOK = 1000


class ChildProcesses:
    """Wakes whoever polls `wake` when a child has ended."""

    def __init__(self) -> None:
        self.wake, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _noted)

    def ended(self) -> dict[int, int]:
        """Children that have ended since the last look, with how: an exit code, or less than 0 for a signal."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.wake, _POKES_PER_LOOK)
        found = {}
        with contextlib.suppress(ChildProcessError):
            while (answer := os.waitpid(-1, os.WNOHANG)) != (0, 0):
                found[answer[0]] = os.waitstatus_to_exitcode(answer[1])
        return found


def _noted(*_: object) -> None:
    """That there is a handler makes the wake-up come."""


def kill_descendants() -> None:
    """Ends every descendant. Each round kills the children; theirs become ours, and are found in the next."""
    while pids := linux.children(os.getpid()):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in pids:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
