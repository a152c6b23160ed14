"""How long each node was silent while other nodes renewed their leases."""

from typing import NamedTuple

import msgspec

from understudy.control.view.node_health import HealthLimits, Heartbeat, renewal_interval
from understudy.objects.meta import seconds
from understudy.objects.nodes import Lease
from understudy.ports import Clock


class LeaseRenewal(NamedTuple):
    renewed: float  # when, by the clock that leases are judged by
    seen_at: float
    is_renewal: bool  # the lease was known before and has changed
    is_recent: bool  # the renewal is so recent that the node is alive


class LeaseClock:
    def __init__(self, clock: Clock, one_clock: bool = False) -> None:
        """With `one_clock`, leases are written by this process's clock."""
        self._clock = clock
        self._one_clock = one_clock
        self._last_renewals: dict[str, float] = {}  # by node, the last state of its lease

    def renewal_of(self, lease: Lease, recent: float) -> LeaseRenewal | None:
        """`recent` are the seconds for which a renewal proves that the node is alive. None: the lease has not changed.

        A lease that is seen for the first time may be as old as it says, or older: no renewal was observed here. With
        one clock the same is true of every lease, since a watch may be late."""
        stated, now, name = seconds(lease.spec.renew_time), self._clock.now(), lease.metadata.name
        known = self._last_renewals.get(name)
        if stated is None or stated == known:
            return None
        self._last_renewals[name] = stated
        by_our_clock = self._one_clock or known is None
        renewed = stated if self._one_clock else now
        return LeaseRenewal(renewed, now, known is not None, not by_our_clock or abs(now - stated) <= recent)

    def forget(self, node: str) -> None:
        self._last_renewals.pop(node, None)


NO_LIMIT = float("inf")


class _LeaseState(msgspec.Struct):
    renewed: float
    interval: float  # seconds between two renewals
    counts_from: float  # the start of the silence
    missed: float = 0.0  # seconds of silence before that, up to the last pause
    given_up: bool = False
    proven: bool = True  # whether the node was certainly alive a moment ago; otherwise its state is unknown


class NodeLeases:
    def __init__(self, limits: HealthLimits, lease_clock: LeaseClock) -> None:
        self._limits = limits
        self._lease_clock = lease_clock
        self._states: dict[str, _LeaseState] = {}
        self._last_renewal: float | None = None  # time of the last renewal of any node

    def observe(self, lease: Lease) -> bool:
        """Returns whether its node is known to be alive: whether it renewed just now."""
        interval = renewal_interval(lease)
        renewal = self._lease_clock.renewal_of(lease, self._limits.lease_suspect * interval)
        if renewal is None:
            return False
        if renewal.is_recent:
            self._end_pause(renewal.renewed, interval)
        self._put(lease.metadata.name, renewal, interval)
        return renewal.is_renewal and renewal.is_recent

    def forget(self, node: str) -> None:
        self._lease_clock.forget(node)
        self._states.pop(node, None)

    def of(self, node: str, now: float) -> Heartbeat | None:
        """None: its lease contains no time."""
        beat = self._states.get(node)
        if beat is None:
            return None
        paused = (
            max(0.0, now - self._last_renewal - beat.interval)
            if self._last_renewal is not None
            else now - beat.counts_from
        )
        since = beat.counts_from - beat.missed + paused
        beat.given_up |= now >= since + self._limits.lease_lost * beat.interval
        return Heartbeat(min(beat.renewed, now), beat.interval, since, beat.missed, beat.given_up, beat.proven)

    def _end_pause(self, moment: float, interval: float) -> None:
        """A node renewed its lease. If all nodes were silent for too long before, or the clock was set back, a pause
        has ended."""
        last, longest = self._last_renewal, self._limits.lease_suspect * interval
        if last is None or abs(moment - last) > longest:
            for beat in self._states.values():
                self._resume(beat, moment)
            self._last_renewal = moment
        else:
            self._last_renewal = max(last, moment)

    def _resume(self, beat: _LeaseState, moment: float) -> None:
        """After a pause every node gets its full time again, less what it had missed beyond the interval between two
        renewals."""
        beat.given_up |= self._silence(beat, NO_LIMIT) >= self._limits.lease_lost * beat.interval
        before = self._silence(beat, self._last_renewal) if self._last_renewal is not None else 0.0
        beat.missed, beat.counts_from = max(0.0, before - beat.interval), moment

    def _silence(self, beat: _LeaseState, now: float) -> float:
        """Counted up to one renewal interval after the last renewal of any node: after that it may be a pause."""
        if self._last_renewal is None:
            return beat.missed
        return beat.missed + max(0.0, min(now, self._last_renewal + beat.interval) - beat.counts_from)

    def _put(self, name: str, renewal: LeaseRenewal, interval: float) -> None:
        renewed, known = renewal.renewed, self._states.get(name)
        if renewal.is_recent:
            self._states[name] = _LeaseState(renewed, interval, counts_from=renewed)
        elif known is None:
            self._states[name] = _LeaseState(renewed, interval, counts_from=renewal.seen_at, proven=False)
        else:  # a late message: the node was alive then, which says nothing about now
            known.renewed, known.interval, known.proven = max(known.renewed, renewed), interval, False
            if renewed > known.counts_from:
                known.counts_from, known.missed = renewed, 0.0
