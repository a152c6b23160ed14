"""Where the embedded cluster keeps its objects: memory in front, a SQLite log behind, watches on top."""

from understudy.embedded.store.locking import StoreInUse
from understudy.embedded.store.log import StoreDamaged
from understudy.embedded.store.records import (
    Compacted,
    Event,
    EventType,
    Key,
    Limits,
    Put,
    Record,
    Remove,
    StoreClosed,
    StoreFull,
    StoreUnusable,
    Write,
    WriteFailed,
)
from understudy.embedded.store.store import Store
from understudy.embedded.store.watching import Subscription

__all__ = [
    "Compacted",
    "Event",
    "EventType",
    "Key",
    "Limits",
    "Put",
    "Record",
    "Remove",
    "Store",
    "StoreClosed",
    "StoreDamaged",
    "StoreFull",
    "StoreInUse",
    "StoreUnusable",
    "Subscription",
    "Write",
    "WriteFailed",
]
