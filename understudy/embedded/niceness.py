"""How the parts of a cluster share a machine with its pods: they go first where there is work, and talk last."""

import contextlib
import os

TELL_AFTER = 0.15  # seconds by which events are late
INITIAL_NICENESS = os.getpriority(os.PRIO_PROCESS, 0)  # the niceness of whoever started this process
_STEPS = 10


def raise_priority() -> None:
    """Lets this process go before pods, where that is permitted: a busy machine is not to keep a dead node's gang
    waiting, nor make a node that is late look dead."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, INITIAL_NICENESS - _STEPS)


def set_niceness(niceness: int) -> None:
    """To that of whoever started the cluster, for what is run for others."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, niceness)
