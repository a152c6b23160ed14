"""From the log back to what was in memory: the present state, and the history a watch can resume from."""

from typing import NamedTuple

from understudy.embedded.store.history import Forgotten, History
from understudy.embedded.store.log import Log, Row, StoreDamaged
from understudy.embedded.store.records import Event, EventType, Key, Limits, Record
from understudy.embedded.store.shelves import Shelves


class Loaded(NamedTuple):
    shelves: Shelves
    history: History
    forgotten: list[Forgotten]  # what is beyond limits that have become tighter


def load(log: Log, limits: Limits) -> Loaded:
    horizon = log.horizon()
    loaded = Loaded(Shelves(), History(horizon, limits), [])
    for row in log.rows():
        key = Key(row.resource, row.namespace, row.name)
        event = _event(row, key, loaded.shelves.get(key))
        if event is None:
            raise StoreDamaged(log.path, f"revision {row.revision} removes an object that is not there")
        loaded.shelves.apply(event)
        if row.revision > horizon:
            loaded.forgotten.extend(loaded.history.append((event,)))
    return loaded


def _event(row: Row, key: Key, before: Record | None) -> Event | None:
    if before is None:
        return None if row.dead else Event(EventType.ADDED, Record(key, row.revision, row.body), None)
    record = Record(before.key, row.revision, row.body)
    return Event(EventType.DELETED if row.dead else EventType.MODIFIED, record, before)
