"""Signs of life: turns the beats of the main loop, and the turns of the scheduling loop, into whether they go on.

A process that answers and renews in one thread while another hangs would lead for ever without doing anything. So the
one that renews asks here, and so does the page that kubelets look at.
"""

import asyncio
from collections.abc import Callable

from understudy.kube.fenced_client import WriteNotAllowed
from understudy.kube.leader_election import steady_seconds

HEARTBEAT_INTERVAL = 1.0  # seconds between two signs

# Seconds. The main loop does nothing for so long only while it computes, and the longest plan of 15,000 nodes takes a
# few; whoever is silent for ten times that will not come back. It is less than people need to notice.
LONGEST_SILENCE = 60.0

# Seconds. A turn of the scheduling loop ends when what it planned is written. Every single write is given up after
# seconds, but a plan may have thousands, and a cluster that answers slowly is not healed by a restart.
LONGEST_TURN = 600.0


class Heartbeat:
    """Shown by one thread, looked at by any: there is one number, and one that sets it."""

    def __init__(self, steady: Callable[[], float] = steady_seconds) -> None:
        self._ticks = steady
        self._shown = steady()

    def show(self) -> None:
        self._shown = self._ticks()

    @property
    def silence(self) -> float:
        """Seconds since the last sign."""
        return self._ticks() - self._shown

    @property
    def alive(self) -> bool:
        return self.silence <= LONGEST_SILENCE

    def check(self) -> None:
        """Raises NotAllowed where a lease must be neither taken nor renewed."""
        if not self.alive:
            raise WriteNotAllowed(f"not written: the main loop has shown no sign of life for {self.silence:.0f} s")

    async def keep_showing(self) -> None:
        """For ever; it is late by what the loop it runs in is late."""
        while True:
            self.show()
            await asyncio.sleep(HEARTBEAT_INTERVAL)
