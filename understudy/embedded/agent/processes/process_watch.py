"""Watches and signals processes that are not children of the agent, without polling where the system has pidfds."""

import asyncio
import os
import select
import signal
from collections.abc import Callable

_LOOK = 0.25  # seconds between polls, on systems without pidfds


class ProcessWatch:
    """Calls back once, when the process has ended; never after it is closed."""

    def __init__(self, pid: int, on_end: Callable[[], None]) -> None:
        self.pid = pid
        self._on_end = on_end
        self._handle: int | None = None
        self._timer: asyncio.Handle | None = None
        loop = asyncio.get_running_loop()
        try:
            self._handle = os.pidfd_open(pid)
            loop.add_reader(self._handle, self._ended)
        except ProcessLookupError:
            self._timer = loop.call_soon(self._ended)
        except (AttributeError, OSError):
            self._timer = loop.call_later(_LOOK, self._look)

    def signal(self, number: signal.Signals) -> bool:
        """False where the process has ended."""
        try:
            if self._handle is not None:
                signal.pidfd_send_signal(self._handle, number)
            else:
                os.kill(self.pid, number)
        except ProcessLookupError:
            return False
        return not self._has_ended()

    def wait(self, seconds: float) -> None:
        """Blocks until the process has ended or the time is up."""
        if self._handle is not None:
            select.select([self._handle], [], [], seconds)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._handle is not None:
            asyncio.get_running_loop().remove_reader(self._handle)
            os.close(self._handle)
            self._handle = None

    def _has_ended(self) -> bool:
        """A zombie takes signals without an error, so the end is read from the pidfd."""
        return self._handle is not None and bool(select.select([self._handle], [], [], 0)[0])

    def _look(self) -> None:
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            self._ended()
        else:
            self._timer = asyncio.get_running_loop().call_later(_LOOK, self._look)

    def _ended(self) -> None:
        self.close()
        self._on_end()


def watch_process(pid: int, on_end: Callable[[], None]) -> ProcessWatch:
    return ProcessWatch(pid, on_end)
