"""Scheduling priority of processes: the parts of a cluster run before its pods, and report events after urgent work."""

import contextlib
import os

EVENT_DELAY = 0.15  # seconds by which events are late
INITIAL_NICENESS = os.getpriority(os.PRIO_PROCESS, 0)  # of the process that started this one
_STEPS = 10


def raise_priority() -> None:
    """Lets this process go before pods, where that is permitted: a busy machine is not to keep a dead node's gang
    waiting, nor make a node that is late look dead."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, INITIAL_NICENESS - _STEPS)


def set_niceness(niceness: int) -> None:
    """Used with INITIAL_NICENESS for processes of pods."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, niceness)
