"""The current state: records by resource, namespace and name, rebuilt from the log at the start."""

from typing import NamedTuple

from understudy.embedded.store.change_log import ChangeLog, Row, StoreDamaged
from understudy.embedded.store.records import EventType, Key, Limits, Record, StoreEvent
from understudy.embedded.store.watch_history import CompactedEvent, WatchHistory


class NamespaceRecords:
    """The records of one resource in one namespace. Only a new name breaks the order, so they are sorted at the next
    list, not at the change."""

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
        found = self._resources.get(key.resource, {}).get(key.namespace)
        return found.records.get(key.name) if found else None

    def resources(self) -> set[str]:
        """Those that had objects."""
        return set(self._resources)

    def list(self, resource: str, namespace: str) -> list[Record]:
        """Ordered by namespace and name. No namespace: all namespaces."""
        namespaces = self._resources.get(resource, {})
        if namespace:
            found = namespaces.get(namespace)
            return found.in_order() if found else []
        return [record for name in sorted(namespaces) for record in namespaces[name].in_order()]

    def apply(self, event: StoreEvent) -> None:
        key = event.record.key
        namespaces = self._resources.setdefault(key.resource, {})
        found = namespaces.get(key.namespace)
        if found is None:
            found = namespaces[key.namespace] = NamespaceRecords()
        if event.type is EventType.DELETED:
            del found.records[key.name]
            if not found.records:
                del namespaces[key.namespace]
        else:
            found.sorted = found.sorted and event.type is EventType.MODIFIED
            found.records[key.name] = event.record


class Loaded(NamedTuple):
    state: CurrentState
    history: WatchHistory
    forgotten: list[CompactedEvent]  # events beyond limits that were lowered


def load(log: ChangeLog, limits: Limits) -> Loaded:
    horizon = log.horizon()
    loaded = Loaded(CurrentState(), WatchHistory(horizon, limits), [])
    for row in log.rows():
        key = Key(row.resource, row.namespace, row.name)
        event = _event(row, key, loaded.state.get(key))
        if event is None:
            raise StoreDamaged(log.path, f"revision {row.revision} removes an object that is not there")
        loaded.state.apply(event)
        if row.revision > horizon:
            loaded.forgotten.extend(loaded.history.append((event,)))
    return loaded


def _event(row: Row, key: Key, before: Record | None) -> StoreEvent | None:
    if before is None:
        return None if row.dead else StoreEvent(EventType.ADDED, Record(key, row.revision, row.body), None)
    record = Record(before.key, row.revision, row.body)
    return StoreEvent(EventType.DELETED if row.dead else EventType.MODIFIED, record, before)
