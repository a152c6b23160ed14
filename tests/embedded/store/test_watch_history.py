"""The limits of the history, and what compaction leaves."""

import pytest

from tests.embedded.store.store_writes import key, told
from understudy.embedded.store.records import Compacted, EventType, Limits, Record, StoreEvent
from understudy.embedded.store.watch_history import CompactedEvent, WatchHistory


def added(revision: int, name: str = "web", resource: str = "pods", size: int = 1) -> StoreEvent:
    return StoreEvent(EventType.ADDED, Record(key(name, resource=resource), revision, b"x" * size), None)


def modified(before: StoreEvent, revision: int) -> StoreEvent:
    return StoreEvent(EventType.MODIFIED, Record(before.record.key, revision, before.record.body), before.record)


def deleted(before: StoreEvent, revision: int) -> StoreEvent:
    return StoreEvent(EventType.DELETED, Record(before.record.key, revision, before.record.body), before.record)


def test_events_after_a_revision_come_in_order_and_of_one_resource_only() -> None:
    history = WatchHistory(1, Limits())
    history.append([added(2), added(3, resource="nodes"), added(4, "db")])
    assert told(history.after("pods", 1)) == ["ADDED web 2", "ADDED db 4"]
    assert told(history.after("pods", 2)) == ["ADDED db 4"]
    assert told(history.after("pods", 3)) == ["ADDED db 4"]
    assert history.after("pods", 4) == []
    assert history.after("jobs.batch", 1) == []


def test_long_histories_are_delivered_in_parts() -> None:
    history = WatchHistory(1, Limits(delivery_events=3))
    history.append([added(revision, f"pod-{revision}") for revision in range(2, 10)])
    assert [event.record.revision for event in history.after("pods", 4)] == [5, 6, 7]
    assert [event.record.revision for event in history.after("pods", 7)] == [8, 9]


def test_the_oldest_events_beyond_the_limit_are_compacted() -> None:
    history = WatchHistory(1, Limits(history_events=3))
    first = added(2)
    second = modified(first, 3)
    third = deleted(second, 4)
    assert history.append([first, second, third]) == []
    assert history.append([added(5)]) == [CompactedEvent(2, (), 0)]
    assert history.append([added(6, "db")]) == [CompactedEvent(3, (2,), 1)]
    # A deletion leaves neither the row it replaced nor its own.
    assert history.append([added(7, "api")]) == [CompactedEvent(4, (3, 4), 2)]
    assert told(history.after("pods", 4)) == ["ADDED web 5", "ADDED db 6", "ADDED api 7"]
    with pytest.raises(Compacted):
        history.after("pods", 3)


def test_only_replaced_bodies_count_as_bytes() -> None:
    history = WatchHistory(1, Limits(history_bytes=2_000))
    present = [added(revision, f"pod-{revision}", size=1_000) for revision in range(2, 12)]
    assert history.append(present) == []
    assert history.append([modified(present[0], 12)]) == []
    forgotten = history.append(
        [deleted(present[1], 13)]
    )  # 3,000 bytes now: of the old 2, of the old 3, of the deletion
    assert [each.revision for each in forgotten] == [*range(2, 13), 13]
    assert [each.rows for each in forgotten][-2:] == [(2,), (3, 13)]


def test_a_resource_that_seldom_changes_is_not_cut_off_by_busy_ones() -> None:
    history = WatchHistory(1, Limits(history_events=4))
    history.append([added(2, resource="nodes")])
    for revision in range(3, 20):
        history.append([added(revision, f"pod-{revision}")])
    assert history.after("nodes", 2) == []
    with pytest.raises(Compacted):
        history.after("nodes", 1)
    with pytest.raises(Compacted):
        history.after("pods", 14)
    assert history.last("nodes") == 2


def test_revisions_before_the_start_are_compacted() -> None:
    history = WatchHistory(10, Limits())
    with pytest.raises(Compacted):
        history.after("pods", 9)
    assert history.after("pods", 10) == []
    assert history.revision == 10
