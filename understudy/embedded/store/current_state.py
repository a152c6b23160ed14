"""The current state: records by resource, namespace and name, rebuilt from the log at the start."""

from typing import NamedTuple

from understudy.embedded.store.change_log import ChangeLog, Row, StoreDamaged
from understudy.embedded.store.records import EventType, Key, Limits, Record, StoreEvent
from understudy.embedded.store.watch_history import CompactedEvent, WatchHistory


class NamespaceRecords:
    """The records of one resource in one namespace.

    Only a new name puts the dict out of order, so it is sorted when it is next listed, not when it changes."""

    __slots__ = ("records", "sorted")

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        self.sorted = True

    def in_order(self) -> list[Record]:
        if not self.sorted:
            self.records = {name: self.records[name] for name in sorted(self.records)}
            self.sorted = True
        return list(self.records.values())


class CurrentState:
    def __init__(self) -> None:
        self._resources: dict[str, dict[str, NamespaceRecords]] = {}

    def get(self, key: Key) -> Record | None:
        shelf = self._resources.get(key.resource, {}).get(key.namespace)
        return shelf.records.get(key.name) if shelf else None

    def list(self, resource: str, namespace: str) -> list[Record]:
        """By namespace and name. No namespace: those of all."""
        namespaces = self._resources.get(resource, {})
        if namespace:
            shelf = namespaces.get(namespace)
            return shelf.in_order() if shelf else []
        return [record for name in sorted(namespaces) for record in namespaces[name].in_order()]

    def apply(self, event: StoreEvent) -> None:
        key = event.record.key
        namespaces = self._resources.setdefault(key.resource, {})
        shelf = namespaces.get(key.namespace)
        if shelf is None:
            shelf = namespaces[key.namespace] = NamespaceRecords()
        if event.type is EventType.DELETED:
            del shelf.records[key.name]
            if not shelf.records:
                del namespaces[key.namespace]
        else:
            shelf.sorted = shelf.sorted and event.type is EventType.MODIFIED
            shelf.records[key.name] = event.record


class Loaded(NamedTuple):
    shelves: CurrentState
    history: WatchHistory
    forgotten: list[CompactedEvent]  # what is beyond limits that have become tighter


def load(log: ChangeLog, limits: Limits) -> Loaded:
    horizon = log.horizon()
    loaded = Loaded(CurrentState(), WatchHistory(horizon, limits), [])
    for row in log.rows():
        key = Key(row.resource, row.namespace, row.name)
        event = _event(row, key, loaded.shelves.get(key))
        if event is None:
            raise StoreDamaged(log.path, f"revision {row.revision} removes an object that is not there")
        loaded.shelves.apply(event)
        if row.revision > horizon:
            loaded.forgotten.extend(loaded.history.append((event,)))
    return loaded


def _event(row: Row, key: Key, before: Record | None) -> StoreEvent | None:
    if before is None:
        return None if row.dead else StoreEvent(EventType.ADDED, Record(key, row.revision, row.body), None)
    record = Record(before.key, row.revision, row.body)
    return StoreEvent(EventType.DELETED if row.dead else EventType.MODIFIED, record, before)
