"""Leases as they come in: what each says, dated by the clock it is judged by, and whether it proves life just now.

Where the clocks of nodes differ from ours, a lease says only when its node thinks it was renewed. What it says is then
a sign that it was renewed once more, and the renewal counts from the moment at which it was first seen here.
"""

from typing import NamedTuple

from understudy.objects.meta import seconds
from understudy.objects.nodes import Lease
from understudy.ports import Clock


class Arrival(NamedTuple):
    renewed: float  # when, by the clock that leases are judged by
    seen_at: float
    is_renewal: bool  # it was known before, and says something else now
    is_recent: bool  # it was renewed so lately that its node is alive


class Arrivals:
    def __init__(self, clock: Clock, one_clock: bool = False) -> None:
        """With `one_clock`, leases are written by the clock that we go by."""
        self._clock = clock
        self._one_clock = one_clock
        self._said: dict[str, float] = {}  # by node: what its lease said last

    def arrived(self, lease: Lease, recent: float) -> Arrival | None:
        """`recent` are the seconds for which a renewal proves life. None: it says nothing that is not known.

        A lease that is met for the first time may be as old as it says, or older: nobody here saw it renewed. With one
        clock the same is true of every lease, since news may be told late."""
        said, now, name = seconds(lease.spec.renew_time), self._clock.now(), lease.metadata.name
        known = self._said.get(name)
        if said is None or said == known:
            return None
        self._said[name] = said
        by_our_clock = self._one_clock or known is None
        renewed = said if self._one_clock else now
        return Arrival(renewed, now, known is not None, not by_our_clock or abs(now - said) <= recent)

    def forget(self, node: str) -> None:
        self._said.pop(node, None)
