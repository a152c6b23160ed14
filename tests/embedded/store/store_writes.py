"""Short forms for writes to a store and their events."""

import contextlib
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

from understudy.embedded.store.records import Key, Limits, Put, Record, Remove, StoreEvent
from understudy.embedded.store.store import Store
from understudy.embedded.store.subscriptions import Subscription

SHORT_MEMORY = Limits(history_events=10, forget_events=2)


def key(name: str, namespace: str = "default", resource: str = "pods") -> Key:
    return Key(resource, namespace, name)


def put(name: str, text: str = "", namespace: str = "default", resource: str = "pods") -> Put:
    return Put(key(name, namespace, resource), lambda revision: f"{name} {text} {revision}".encode())


def remove(name: str, namespace: str = "default", resource: str = "pods") -> Remove:
    return Remove(key(name, namespace, resource), lambda revision: f"{name} gone {revision}".encode())


@contextlib.asynccontextmanager
async def opened(path: Path, limits: Limits | None = None) -> AsyncIterator[Store]:
    store = Store.open(path, limits or Limits())
    try:
        yield store
    finally:
        await store.close()


def told(events: Iterable[StoreEvent]) -> list[str]:
    """Each event as `MODIFIED web 7, was 5`."""
    return [
        f"{event.type} {event.record.key.name} {event.record.revision}"
        + (f", was {event.before.revision}" if event.before else "")
        for event in events
    ]


async def everything(subscription: Subscription, last: int) -> list[StoreEvent]:
    """All events up to the revision `last`, which must be one of them."""
    events: list[StoreEvent] = []
    while not events or events[-1].record.revision < last:
        events += await subscription.take()
    return events


def names(records: Iterable[Record]) -> list[str]:
    return [record.key.name for record in records]
