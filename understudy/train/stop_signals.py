"""Turns signals into a Stop: when the signal came, and by when the process must end.

Python runs a signal handler only when the main thread returns from what it computes. So a thread notes when the signal
came, and the deadline counts from there.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from understudy.train import job_environment

STOPPED = 128 + signal.SIGTERM  # the exit code after a stop; 0 would say that the training is done
if TYPE_CHECKING:
    _Handler = Callable[[int, FrameType | None], Any] | int | None


@dataclasses.dataclass(frozen=True)
class Stop:
    """The process was told to stop."""

    reason: str  # the signal, by name
    at: float  # when it came, in seconds since 1970
    deadline: float  # when the process is killed

    @property
    def seconds_left(self) -> float:
        return max(self.deadline - time.time(), 0.0)


class _Listener:
    """The signals of this process. There is one: signals belong to the process as a whole."""

    def __init__(self) -> None:
        self.stop: Stop | None = None
        self.grace: float | None = None
        self.before: dict[int, _Handler] = {}  # handlers installed before ours
        self._came: dict[int, float] = {}  # signals whose handler has not run yet
        self._wakeup_pair: tuple[socket.socket, socket.socket] | None = None

    def listen(self, numbers: Iterable[int]) -> None:
        """Also installs handlers again: C libraries replace ours with their own."""
        self._note_moments()
        for number in numbers:
            found = signal.signal(number, self._heard)
            if found != self._heard:
                self.before[number] = found

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if self.stop is None:
            at = self._came.pop(number, time.time())
            grace = job_environment.grace() if self.grace is None else self.grace
            self.stop = Stop(signal.Signals(number).name, at, at + grace)
        earlier = self.before.get(number)
        if callable(earlier):
            earlier(number, frame)

    def _note_moments(self) -> None:
        """If another library, such as asyncio, has the wakeup descriptor, the moment is when the handler runs."""
        if self._wakeup_pair is not None:
            return
        pair = socket.socketpair()
        for end in pair:
            end.setblocking(end is pair[0])
        taken = signal.set_wakeup_fd(pair[1].fileno(), warn_on_full_buffer=False)
        if taken != -1:
            signal.set_wakeup_fd(taken, warn_on_full_buffer=False)
            for end in pair:
                end.close()
            return
        self._wakeup_pair = pair
        threading.Thread(target=self._keep_noting, args=(pair[0],), name="understudy-stops", daemon=True).start()

    def _keep_noting(self, end: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while numbers := end.recv(64):
                for number in numbers:
                    self._came.setdefault(number, time.time())

    def forget(self) -> None:
        """Restores the handlers installed before."""
        for number, earlier in self.before.items():
            signal.signal(number, signal.SIG_DFL if earlier is None else earlier)
        self.before.clear()
        if self._wakeup_pair is not None:
            taken = signal.set_wakeup_fd(-1)
            if taken not in (-1, self._wakeup_pair[1].fileno()):  # another library has set it in the meantime
                signal.set_wakeup_fd(taken, warn_on_full_buffer=False)
            for end in self._wakeup_pair:
                end.close()
        self._wakeup_pair = None
        self._came.clear()
        self.stop = None


_listener = _Listener()
_forking = threading.local()


def _before_fork() -> None:
    """Blocks the signals during a fork. Else a signal to the child before it removes our handler would be lost."""
    _forking.mask = signal.pthread_sigmask(signal.SIG_BLOCK, _listener.before) if _listener.before else None


def _after_fork() -> None:
    if (mask := getattr(_forking, "mask", None)) is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _in_child() -> None:
    """SIGTERM must end the workers of a data loader; with our handler they would only note it."""
    _listener.forget()
    _after_fork()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)


def watch(grace: float | None = None, signals: Iterable[int] = ()) -> None:
    """Listens from now on for SIGTERM, the signal the job asked for, and `signals`. Who listened before still hears.

    `grace` is how many seconds the process has after the signal; where it is not given, UNDERSTUDY_GRACE_SECONDS says,
    else it is 30. To be called in the main thread, after libraries that take signals over (jax.distributed.initialize).
    """
    if threading.current_thread() is not threading.main_thread():
        if _listener.before:
            return
        raise RuntimeError("signals reach only the main thread: call understudy.train.watch() there first")
    if grace is not None:
        _listener.grace = float(grace)
    job_environment.grace()  # what is wrong with it is said now, and not when every second counts
    _listener.listen(dict.fromkeys([*job_environment.stop_signals(), *signals]))


def stopping() -> Stop | None:
    """None, or by when the process has to be gone. Begins to listen when it is first asked in the main thread."""
    if not _listener.before and threading.current_thread() is threading.main_thread():
        watch()
    return _listener.stop


def leave() -> NoReturn:
    """Ends the process with the exit code that says: stopped on request, neither done nor failed."""
    sys.exit(STOPPED)
