"""The children of a process: learns when they end, and kills those that are left over.

For one process that adopts orphans: every process that a command starts ends up as its child.
"""

import contextlib
import os
import signal

from understudy.embedded.shim import linux

_POKES_PER_LOOK = 1000


class ChildProcesses:
    """The descriptor `wake` becomes readable when a child has ended."""

    def __init__(self) -> None:
        self.wake, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _noted)

    def ended(self) -> dict[int, int]:
        """Children that have ended since the last call, with their exit codes; below 0 for a signal."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.wake, _POKES_PER_LOOK)
        found = {}
        with contextlib.suppress(ChildProcessError):
            while (answer := os.waitpid(-1, os.WNOHANG)) != (0, 0):
                found[answer[0]] = os.waitstatus_to_exitcode(answer[1])
        return found


def _noted(*_: object) -> None:
    """Only with a handler does the signal write to the wake-up descriptor."""


def kill_descendants() -> None:
    """Kills every descendant. Each round kills the children; their orphans are adopted and found in the next."""
    while pids := linux.children(os.getpid()):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in pids:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
