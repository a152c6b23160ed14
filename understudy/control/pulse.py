"""How old a lease is, as far as that says anything about its node: silence of all nodes at once is nobody's death."""

from datetime import UTC, datetime

import msgspec

from understudy.control.health import HealthLimits
from understudy.objects.meta import seconds
from understudy.objects.nodes import Lease


class Pulse:
    """When any node was heard of last.

    A server that was away, an agent that restarts, or a machine that slept let every lease grow old. So leases age only
    as long as some node is heard of; and after such a pause all of them count as renewed when the first one is.
    """

    def __init__(self, limits: HealthLimits) -> None:
        self._limits = limits
        self._heard: float | None = None
        self._resumed = float("-inf")

    def hear(self, lease: Lease) -> None:
        renewed = seconds(lease.spec.renew_time)
        if renewed is None or (self._heard is not None and renewed <= self._heard):
            return
        if self._heard is not None and renewed - self._heard > self._limits.lease_suspect * _interval(lease):
            self._resumed = renewed
        self._heard = renewed

    def felt(self, lease: Lease | None, now: float) -> Lease | None:
        """The lease as if it had been renewed so long ago as its silence counts."""
        renewed = seconds(lease.spec.renew_time) if lease else None
        if lease is None or renewed is None or self._heard is None:
            return lease
        listening_until = min(now, self._heard + _interval(lease))
        since = min(now, now - listening_until + max(renewed, self._resumed))
        if since == renewed:
            return lease
        spec = msgspec.structs.replace(lease.spec, renew_time=datetime.fromtimestamp(since, UTC))
        return msgspec.structs.replace(lease, spec=spec)


def _interval(lease: Lease) -> float:
    """Between two renewals; a node renews four times a lease duration."""
    return lease.spec.lease_duration_seconds / 4
