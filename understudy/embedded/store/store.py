"""The store: objects in memory for readers, every change durable before it is visible, watches that miss no change.

Writers read `newest` and submit without an await in between, so that no other write comes between the two.
"""

import asyncio
import builtins
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from understudy.embedded.store.change_log import ChangeLog, is_full
from understudy.embedded.store.current_state import load
from understudy.embedded.store.group_commit import GroupCommitter, Outcome, Submission
from understudy.embedded.store.lock_file import LockFile
from understudy.embedded.store.records import (
    Compacted,
    EventType,
    Key,
    Limits,
    Put,
    Record,
    StoreClosed,
    StoreEvent,
    StoreFull,
    Write,
    WriteFailed,
)
from understudy.embedded.store.subscriptions import Feed, Subscription

DEFAULT_LIMITS = Limits()

Accompaniment = Callable[[Sequence[StoreEvent]], Sequence[Write]]


class Store:
    """Made by `Store.open`, and used from one event loop."""

    def __init__(self, log: ChangeLog, lock: LockFile, limits: Limits) -> None:
        loaded = load(log, limits)
        self._lock = lock
        self._state = loaded.state
        self._feed = Feed(loaded.history)
        self._assigned = loaded.history.revision
        self._pending: dict[Key, StoreEvent] = {}  # the newest of each key that is not durable yet
        self._in_flight: deque[Submission] = deque()
        self._closing: asyncio.Future[None] | None = None
        self._accompaniment: Accompaniment | None = None
        self._committer = GroupCommitter(log, limits, Outcome(self._on_durable, self._on_failed))
        self._committer.forget(loaded.forgotten)

    @classmethod
    def open(cls, path: Path, limits: Limits = DEFAULT_LIMITS) -> Self:
        """Reads all objects into memory. Raises StoreUnusable: StoreInUse, StoreDamaged."""
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = LockFile.take(path)
        try:
            log = ChangeLog.open(path)
            try:
                return cls(log, lock, limits)
            except BaseException:
                log.close()
                raise
        except BaseException:
            lock.release()
            raise

    @property
    def revision(self) -> int:
        """The revision of the newest durable change. It only grows."""
        return self._feed.history.revision

    def last_change(self, resource: str) -> int:
        """The revision of the newest durable change to the resource; 0 without changes since the start."""
        return self._feed.history.last(resource)

    def newest(self, key: Key) -> Record | None:
        """The state the next write starts from, durable or not."""
        event = self._pending.get(key)
        return _left_by(event) if event else self._state.get(key)

    def get(self, key: Key) -> Record | None:
        """The durable state."""
        return self._state.get(key)

    def list(self, resource: str, namespace: str = "") -> builtins.list[Record]:
        """The durable state, ordered by namespace and name. No namespace: all namespaces."""
        return self._state.list(resource, namespace)

    def list_newest(self, resource: str, namespace: str) -> builtins.list[Record]:
        """What a list will be when all that was submitted is durable, in no order."""
        found = {record.key: record for record in self._state.list(resource, namespace)}
        for key, event in self._pending.items():
            if key.resource == resource and key.namespace == namespace:
                found.pop(key, None)
                if event.type is not EventType.DELETED:
                    found[key] = event.record
        return [*found.values()]

    def resources(self) -> builtins.list[str]:
        """The resources that have objects, durable or not."""
        return sorted({*self._state.resources(), *(key.resource for key in self._pending)})

    def accompany(self, accompaniment: Accompaniment) -> None:
        """Further writes, made from the events of every submission, become durable with it. `newest` shows the events
        to it; its own writes are not shown to it again."""
        self._accompaniment = accompaniment

    def submit(self, writes: Sequence[Write]) -> asyncio.Future[tuple[Record, ...]]:
        """All of the writes or none: `newest` shows them at once, readers and watchers when the future is done.
        Raises KeyError for a removal of a missing object; the future may raise WriteFailed."""
        if self._closing:
            raise StoreClosed("the store is closed and takes no more writes")
        done: asyncio.Future[tuple[Record, ...]] = asyncio.get_running_loop().create_future()
        if not writes:
            done.set_result(())
            return done
        submission = Submission(self._stage(writes), len(writes), done)
        self._in_flight.append(submission)
        self._committer.submit(submission)
        return done

    def watch(self, resource: str, since: int | None = None) -> Subscription:
        """The events of the resource after revision `since`, or from now on. Raises Compacted."""
        if since is None:
            return Subscription(self._feed, resource, self.revision)
        if since > self.revision:
            raise Compacted(f"revision {since} has not been reached: it comes from another cluster, or was made up")
        self._feed.history.after(resource, since)
        return Subscription(self._feed, resource, since)

    async def close(self) -> None:
        """Closes the store after all submissions. Subscriptions end."""
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_future()
            self._closing.add_done_callback(self._on_closed)
            self._committer.stop(self._closing)
        await asyncio.shield(self._closing)

    def _stage(self, writes: Sequence[Write]) -> tuple[StoreEvent, ...]:
        """Changes nothing if it raises, also if one of the bodies raises."""
        if self._accompaniment is None:
            return self._stage_alone(writes)
        assigned, before = self._assigned, {write.key: self._pending.get(write.key) for write in writes}
        events = self._stage_alone(writes)
        try:
            more = self._accompaniment(events)
            return events + self._stage_alone(more) if more else events
        except BaseException:
            self._assigned = assigned
            for key, event in before.items():
                if event is None:
                    del self._pending[key]
                else:
                    self._pending[key] = event
            raise

    def _stage_alone(self, writes: Sequence[Write]) -> tuple[StoreEvent, ...]:
        staged: dict[Key, StoreEvent] = {}
        events = []
        for revision, write in enumerate(writes, self._assigned + 1):
            earlier = staged.get(write.key)
            event = _event(write, revision, _left_by(earlier) if earlier else self.newest(write.key))
            staged[event.record.key] = event
            events.append(event)
        self._pending.update(staged)
        self._assigned += len(events)
        return tuple(events)

    def _on_durable(self, batch: builtins.list[Submission]) -> None:
        events = [event for submission in batch for event in submission.events]
        for event in events:
            self._state.apply(event)
            if self._pending[event.record.key] is event:
                del self._pending[event.record.key]
        if forgotten := self._feed.publish(events):
            self._committer.forget(forgotten)
        for submission in batch:
            self._in_flight.popleft()
            if not submission.done.done():
                asked = submission.events[: submission.asked]
                submission.done.set_result(tuple([event.record for event in asked]))

    def _on_failed(self, error: Exception) -> None:
        """All submissions in flight fail with the commit, because they may depend on it. Their revisions are not used
        again."""
        self._pending.clear()
        for submission in self._in_flight:
            if not submission.done.done():
                failure = _failure(error)
                failure.__cause__ = error
                submission.done.set_exception(failure)
        self._in_flight.clear()
        self._committer.resume()

    def _on_closed(self, _: asyncio.Future[None]) -> None:
        self._feed.end()
        self._lock.release()


def _event(write: Write, revision: int, before: Record | None) -> StoreEvent:
    if before is None:
        if not isinstance(write, Put):
            raise KeyError(write.key)
        return StoreEvent(EventType.ADDED, Record(write.key, revision, write.body(revision)), None)
    # All revisions of an object share one key, to save the memory of a key for each write.
    record = Record(before.key, revision, write.body(revision))
    return StoreEvent(EventType.MODIFIED if isinstance(write, Put) else EventType.DELETED, record, before)


def _failure(error: Exception) -> WriteFailed:
    kind = StoreFull if is_full(error) else WriteFailed
    return kind(f"the database did not take the write: {error}")


def _left_by(event: StoreEvent) -> Record | None:
    return None if event.type is EventType.DELETED else event.record
