"""How long each node was silent while other nodes renewed their leases."""

from typing import NamedTuple

import msgspec

from understudy.control.view.node_health import HealthLimits, Heartbeat, renewal_interval
from understudy.objects.meta import seconds
from understudy.objects.nodes import Lease
from understudy.ports import Clock


class LeaseNews(NamedTuple):
    renewed: float  # when, by the clock that leases are judged by
    seen_at: float
    is_renewal: bool  # the lease was known before and has changed
    is_recent: bool  # the renewal is so recent that the node is alive


class LeaseClock:
    def __init__(self, clock: Clock, one_clock: bool = False) -> None:
        """With `one_clock`, leases are written by this process's clock."""
        self._clock = clock
        self._one_clock = one_clock
        self._said: dict[str, float] = {}  # by node, the last state of its lease

    def arrived(self, lease: Lease, recent: float) -> LeaseNews | None:
        """`recent` are the seconds for which a renewal proves that the node is alive. None: the lease has not changed.

        A lease that is seen for the first time may be as old as it says, or older: no renewal was observed here. With
        one clock the same is true of every lease, since a watch may be late."""
        said, now, name = seconds(lease.spec.renew_time), self._clock.now(), lease.metadata.name
        known = self._said.get(name)
        if said is None or said == known:
            return None
        self._said[name] = said
        by_our_clock = self._one_clock or known is None
        renewed = said if self._one_clock else now
        return LeaseNews(renewed, now, known is not None, not by_our_clock or abs(now - said) <= recent)

    def forget(self, node: str) -> None:
        self._said.pop(node, None)


NO_LIMIT = float("inf")


class _LeaseState(msgspec.Struct):
    renewed: float
    interval: float  # seconds between two renewals
    counts_from: float  # the start of the silence
    missed: float = 0.0  # seconds of silence before that, up to the last pause
    given_up: bool = False
    proven: bool = True  # whether the node was certainly alive a moment ago; otherwise its state is unknown


class NodeLeases:
    def __init__(self, limits: HealthLimits, arrivals: LeaseClock) -> None:
        self._limits = limits
        self._arrivals = arrivals
        self._beats: dict[str, _LeaseState] = {}
        self._heard: float | None = None  # time of the last renewal of any node

    def hear(self, lease: Lease) -> bool:
        """Returns whether its node is known to be alive: whether it renewed just now."""
        interval = renewal_interval(lease)
        arrival = self._arrivals.arrived(lease, self._limits.lease_suspect * interval)
        if arrival is None:
            return False
        if arrival.is_recent:
            self._listen(arrival.renewed, interval)
        self._put(lease.metadata.name, arrival, interval)
        return arrival.is_renewal and arrival.is_recent

    def forget(self, node: str) -> None:
        self._arrivals.forget(node)
        self._beats.pop(node, None)

    def of(self, node: str, now: float) -> Heartbeat | None:
        """None: its lease contains no time."""
        beat = self._beats.get(node)
        if beat is None:
            return None
        paused = max(0.0, now - self._heard - beat.interval) if self._heard is not None else now - beat.counts_from
        since = beat.counts_from - beat.missed + paused
        beat.given_up |= now >= since + self._limits.lease_lost * beat.interval
        return Heartbeat(min(beat.renewed, now), beat.interval, since, beat.missed, beat.given_up, beat.proven)

    def _listen(self, moment: float, interval: float) -> None:
        """A node renewed its lease. If all nodes were silent for too long before, or the clock was set back, a pause
        has ended."""
        heard, longest = self._heard, self._limits.lease_suspect * interval
        if heard is None or abs(moment - heard) > longest:
            for beat in self._beats.values():
                self._resume(beat, moment)
            self._heard = moment
        else:
            self._heard = max(heard, moment)

    def _resume(self, beat: _LeaseState, moment: float) -> None:
        """After a pause every node gets its full time again, less what it had missed beyond the interval between two
        renewals."""
        beat.given_up |= self._silence(beat, NO_LIMIT) >= self._limits.lease_lost * beat.interval
        before = self._silence(beat, self._heard) if self._heard is not None else 0.0
        beat.missed, beat.counts_from = max(0.0, before - beat.interval), moment

    def _silence(self, beat: _LeaseState, now: float) -> float:
        """Counted up to one renewal interval after the last renewal of any node: after that it may be a pause."""
        if self._heard is None:
            return beat.missed
        return beat.missed + max(0.0, min(now, self._heard + beat.interval) - beat.counts_from)

    def _put(self, name: str, arrival: LeaseNews, interval: float) -> None:
        renewed, known = arrival.renewed, self._beats.get(name)
        if arrival.is_recent:
            self._beats[name] = _LeaseState(renewed, interval, counts_from=renewed)
        elif known is None:
            self._beats[name] = _LeaseState(renewed, interval, counts_from=arrival.seen_at, proven=False)
        else:  # a late message: the node was alive then, which says nothing about now
            known.renewed, known.interval, known.proven = max(known.renewed, renewed), interval, False
            if renewed > known.counts_from:
                known.counts_from, known.missed = renewed, 0.0
