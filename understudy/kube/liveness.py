"""Liveness: heartbeats of the main loop, and the duration of a turn of the scheduling loop.

A process that renews its lease in one thread while its main loop hangs would lead for ever without acting. So both the
election and the liveness probe check the heartbeat.
"""

import asyncio
from collections.abc import Callable

from understudy.kube.fenced_client import WriteNotAllowed
from understudy.kube.leader_election import steady_seconds

HEARTBEAT_INTERVAL = 1.0  # seconds

# Seconds. The main loop is silent only while it computes, and the longest plan for 15,000 nodes takes a few seconds. A
# loop that is silent for ten times as long hangs.
LONGEST_SILENCE = 60.0

# Seconds. A turn of the scheduling loop ends when its plan is written. Each write times out after seconds, but a plan
# may have thousands, and a restart does not help against a slow cluster.
LONGEST_TURN = 600.0


class Heartbeat:
    """Set by one thread and read by any: it is one number with one writer."""

    def __init__(self, steady: Callable[[], float] = steady_seconds) -> None:
        self._ticks = steady
        self._beaten_at = steady()

    def beat(self) -> None:
        self._beaten_at = self._ticks()

    @property
    def silence(self) -> float:
        """Seconds since the last heartbeat."""
        return self._ticks() - self._beaten_at

    @property
    def alive(self) -> bool:
        return self.silence <= LONGEST_SILENCE

    def check(self) -> None:
        """Raises WriteNotAllowed if the lease may be neither taken nor renewed."""
        if not self.alive:
            raise WriteNotAllowed(f"not written: the main loop has shown no sign of life for {self.silence:.0f} s")

    async def keep_beating(self) -> None:
        """Runs for ever in the loop that it observes, and is as late as that loop."""
        while True:
            self.beat()
            await asyncio.sleep(HEARTBEAT_INTERVAL)
