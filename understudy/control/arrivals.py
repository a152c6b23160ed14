"""Leases dated by our own clock: a renewal counts from the moment at which it was first seen here.

The clocks of nodes differ, and a lease says only when its node thinks it was renewed. So what it says is not taken for
a time, only for a sign that it was renewed once more. One that is met for the first time counts as renewed just now.
"""

from datetime import UTC, datetime

import msgspec

from understudy.objects.nodes import Lease
from understudy.ports import Clock

Said = datetime | None


class Arrivals:
    def __init__(self, clock: Clock, lag: float = 0.0) -> None:
        """`lag` are the seconds by which what is seen of one kind may be older than what is seen of another."""
        self.lag = lag
        self._clock = clock
        self._seen: dict[str, tuple[Said, datetime]] = {}  # by node: what its lease said, and when we first read that

    def dated(self, lease: Lease) -> Lease:
        name, said = lease.metadata.name, lease.spec.renew_time
        if said is None:
            return lease
        known = self._seen.get(name)
        if known is None or known[0] != said:
            known = self._seen[name] = (said, datetime.fromtimestamp(self._clock.now(), UTC))
        return msgspec.structs.replace(lease, spec=msgspec.structs.replace(lease.spec, renew_time=known[1]))

    def forget(self, node: str) -> None:
        self._seen.pop(node, None)
