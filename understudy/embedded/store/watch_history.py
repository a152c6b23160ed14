"""Recent events by resource, so that a watch can resume from a revision; the oldest make room for new ones."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from understudy.embedded.store.records import Compacted, EventType, Limits, StoreEvent

# When a limit is exceeded, this share of it is freed at once, because removing from the front of a list moves the rest.
SLACK = 64


class CompactedEvent(NamedTuple):
    """An event that has left the history, and the rows of the log that are no longer needed."""

    revision: int
    rows: tuple[int, ...]
    bytes: int  # in those rows


class WatchHistory:
    def __init__(self, horizon: int, limits: Limits) -> None:
        self.revision = horizon  # of the newest event, or the horizon without events
        self._horizon = horizon
        self._limits = limits
        self._all: list[StoreEvent] = []
        self._by_resource: defaultdict[str, list[StoreEvent]] = defaultdict(list)
        # Each resource has its own horizon: one that seldom changes keeps its history while others lose theirs.
        self._horizons: dict[str, int] = {}
        self._bytes = 0

    def after(self, resource: str, revision: int) -> list[StoreEvent]:
        """The next events of the resource, up to the delivery limit. Raises Compacted."""
        if revision < self._horizons.get(resource, self._horizon):
            raise Compacted(f"revision {revision} of {resource} is too old: later changes are no longer known")
        events = self._by_resource.get(resource)
        if not events or events[-1].record.revision <= revision:
            return []
        start = bisect_right(events, revision, key=_revision)
        return events[start : start + self._limits.delivery_events]

    def last(self, resource: str) -> int:
        """The revision of its newest event, kept or compacted; 0 without events since the start."""
        events = self._by_resource.get(resource)
        return events[-1].record.revision if events else self._horizons.get(resource, 0)

    def append(self, events: Sequence[StoreEvent]) -> list[CompactedEvent]:
        for event in events:
            self._by_resource[event.record.key.resource].append(event)
            self._bytes += _superseded_bytes(event)
        self._all.extend(events)
        self.revision = events[-1].record.revision
        limits = self._limits
        if len(self._all) <= limits.history_events and self._bytes <= limits.history_bytes:
            return []
        return self._forget_oldest()

    def _forget_oldest(self) -> list[CompactedEvent]:
        keep_events = self._limits.history_events - self._limits.history_events // SLACK
        keep_bytes = self._limits.history_bytes - self._limits.history_bytes // SLACK
        surplus = len(self._all) - keep_events
        count = 0
        while count < len(self._all) and (count < surplus or self._bytes > keep_bytes):
            self._bytes -= _superseded_bytes(self._all[count])
            count += 1
        oldest = self._all[:count]
        del self._all[:count]
        for resource in {event.record.key.resource for event in oldest}:
            self._drop(resource, oldest[-1].record.revision)
        return [CompactedEvent(event.record.revision, _rows_of(event), _superseded_bytes(event)) for event in oldest]

    def _drop(self, resource: str, last: int) -> None:
        events = self._by_resource[resource]
        end = bisect_right(events, last, key=_revision)
        self._horizons[resource] = events[end - 1].record.revision
        del events[:end]


def _revision(event: StoreEvent) -> int:
    return event.record.revision


def _superseded_bytes(event: StoreEvent) -> int:
    """The bytes that only this event keeps in memory. Its own body is the current state, or the `before` of the next
    event, unless it is a deletion."""
    before = len(event.before.body) if event.before else 0
    return before + len(event.record.body) if event.type is EventType.DELETED else before


def _rows_of(event: StoreEvent) -> tuple[int, ...]:
    """The row it replaced is not needed without the event; nor is its own row, if it is a deletion."""
    before = (event.before.revision,) if event.before else ()
    return (*before, event.record.revision) if event.type is EventType.DELETED else before
