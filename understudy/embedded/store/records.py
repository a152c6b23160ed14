"""What the store keeps and reports: records, writes, events, limits and errors."""

import enum
from collections.abc import Callable

import msgspec


class Key(msgspec.Struct, frozen=True, gc=False, order=True):
    resource: str  # `pods`, `jobs.batch`
    namespace: str  # '' for cluster-wide resources
    name: str


class Record(msgspec.Struct, frozen=True, gc=False):
    """An object at one revision, which is also the resourceVersion in the body."""

    key: Key
    revision: int
    body: bytes


class Put(msgspec.Struct, frozen=True, gc=False):
    """Create or replace. `body` is called once, with the revision of the write."""

    key: Key
    body: Callable[[int], bytes]


class Remove(msgspec.Struct, frozen=True, gc=False):
    """Delete. `body` gives the last state for watchers, with the revision of the deletion."""

    key: Key
    body: Callable[[int], bytes]


Write = Put | Remove


class EventType(enum.StrEnum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class StoreEvent(msgspec.Struct, frozen=True, gc=False):
    """One durable change. `before` is the replaced state, from which selectors see what begins or ceases to match."""

    type: EventType
    record: Record
    before: Record | None


class Limits(msgspec.Struct, frozen=True):
    """How much of the past is kept for watches to resume from, and how much is done at once."""

    history_events: int = 100_000
    history_bytes: int = 32 << 20  # of replaced and deleted bodies
    commit_writes: int = 128  # a single submission may have more
    commit_bytes: int = 4 << 20
    forget_events: int = 256  # compacted at once, between two commits
    forget_bytes: int = 1 << 20
    delivery_events: int = 1_000


class StoreUnusable(Exception):
    """The database cannot be opened; the message names the file and what to do."""


class Compacted(Exception):
    """A watch asked for history that is no longer kept, or fell behind it."""


class WriteFailed(Exception):
    """The disk refused the write, and with it all writes in flight: the store is as it was before them."""


class StoreFull(WriteFailed):
    """The disk has no room for the write. Later ones may succeed."""


class StoreClosed(Exception):
    """The store was closed; it takes no more writes."""
