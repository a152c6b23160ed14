"""Scheduling priority of processes: the parts of a cluster run before its pods, and report events after urgent work.

A part that keeps a core busy gives that up until it is calm again, so that a fault in it cannot starve the machine.
"""

import contextlib
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable

EVENT_DELAY = 0.15  # seconds by which events are late
INITIAL_NICENESS = os.getpriority(os.PRIO_PROCESS, 0)  # of the process that started this one
_STEPS = 10
RAISED_NICENESS = INITIAL_NICENESS - _STEPS
WINDOW = 10.0  # seconds over which the use of a core is measured
BUSY, CALM = 0.8, 0.5  # shares of a core: above the first, priority is given up; below the second, it is taken back
INTERVAL = 1.0  # seconds between two measurements
_TASKS = "/proc/self/task"

_log = logging.getLogger(__name__)


def raise_priority() -> None:
    """Lets this process go before pods, where that is permitted: a busy machine is not to keep a dead node's gang
    waiting, nor make a node that is late look dead."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, RAISED_NICENESS)


def set_niceness(niceness: int) -> None:
    """Used with INITIAL_NICENESS for processes of pods."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, niceness)


def set_niceness_of_threads(niceness: int) -> None:
    """Linux keeps the niceness of each thread; a new thread has that of the thread that starts it."""
    try:
        threads = [int(name) for name in os.listdir(_TASKS)]
    except OSError:
        threads = [0]
    for thread in threads:
        with contextlib.suppress(OSError):  # it has ended, or a raise is not permitted
            os.setpriority(os.PRIO_PROCESS, thread, niceness)


class PriorityGuard:
    """Gives up the raised priority of a process that keeps a core busy, and takes it back when the process is calm.

    `look` is called at intervals; `used` returns the CPU seconds that all threads have used."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        used: Callable[[], float] = time.process_time,
        set_niceness: Callable[[int], None] = set_niceness_of_threads,
    ) -> None:
        self._clock = clock
        self._used = used
        self._set_niceness = set_niceness
        self._samples: deque[tuple[float, float]] = deque()
        self.given_up = False

    def look(self) -> None:
        share = self._share()
        if share is None:
            return
        if not self.given_up and share > BUSY:
            self._change(INITIAL_NICENESS, given_up=True)
            _log.warning("used %.0f %% of a core for %.0f s: gives up its priority over pods", share * 100, WINDOW)
        elif self.given_up and share < CALM:
            self._change(RAISED_NICENESS, given_up=False)
            _log.info("is calm again: goes before pods")

    def _share(self) -> float | None:
        """The share of a core that was used in the window; None while the window is not full."""
        now, used = self._clock(), self._used()
        self._samples.append((now, used))
        while len(self._samples) > 2 and now - self._samples[1][0] >= WINDOW:
            self._samples.popleft()
        since, before = self._samples[0]
        return (used - before) / (now - since) if now - since >= WINDOW else None

    def _change(self, niceness: int, given_up: bool) -> None:
        self._set_niceness(niceness)
        self.given_up = given_up
        self._samples.clear()  # the next decision is about what comes from now on


def guard_priority() -> None:
    """Looks at this process from a thread of its own, since a loop that is stuck could not look at itself."""
    if os.getpriority(os.PRIO_PROCESS, 0) >= INITIAL_NICENESS:
        return  # it was not permitted to raise the priority
    threading.Thread(target=_look_for_ever, args=(PriorityGuard(),), name="priority guard", daemon=True).start()


def _look_for_ever(guard: PriorityGuard) -> None:
    while True:
        time.sleep(INTERVAL)
        guard.look()
