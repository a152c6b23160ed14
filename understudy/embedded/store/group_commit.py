"""Group commit: one thread makes submissions durable in order, each time all that have gathered in one commit."""

import asyncio
import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import TypeVar, assert_never

import msgspec

from understudy.embedded.store.change_log import ChangeLog
from understudy.embedded.store.records import Limits, Record, StoreEvent
from understudy.embedded.store.watch_history import CompactedEvent

logger = logging.getLogger(__name__)

Argument = TypeVar("Argument")


class Submission(msgspec.Struct, frozen=True, gc=False):
    """Events that become durable together, or not at all."""

    events: tuple[StoreEvent, ...]
    asked: int  # the first of the events answer the writes that were submitted; the others accompany them
    done: asyncio.Future[tuple[Record, ...]]


class Compact(msgspec.Struct, frozen=True):
    forgotten: Sequence[CompactedEvent]


class Resume(msgspec.Struct, frozen=True):
    """The failure has been handled: submissions before this are void, those after it are written."""


class Stop(msgspec.Struct, frozen=True):
    done: asyncio.Future[None]


class Outcome(msgspec.Struct, frozen=True):
    """Callbacks on the event loop."""

    durable: Callable[[list[Submission]], None]
    failed: Callable[[Exception], None]


class GroupCommitter:
    """After a failure nothing is written until `resume`, because submissions made meanwhile may depend on the failed
    one."""

    def __init__(self, log: ChangeLog, limits: Limits, outcome: Outcome) -> None:
        self._log = log
        self._limits = limits
        self._outcome = outcome
        self._queue: SimpleQueue[Submission | Compact | Resume | Stop] = SimpleQueue()
        self._forgotten: deque[CompactedEvent] = deque()
        self._stop: Stop | None = None
        threading.Thread(target=self._run, name="store-writer", daemon=True).start()

    def submit(self, submission: Submission) -> None:
        self._queue.put(submission)

    def forget(self, forgotten: Sequence[CompactedEvent]) -> None:
        """In the order of revisions, each after it is durable."""
        self._queue.put(Compact(forgotten))

    def resume(self) -> None:
        self._queue.put(Resume())

    def stop(self, done: asyncio.Future[None]) -> None:
        """Closes the log after all submissions."""
        self._queue.put(Stop(done))

    def _run(self) -> None:
        while batch := self._gather():
            self._commit(batch)
            self._maintain()
        while self._maintain():
            pass
        self._log.close()
        if self._stop:
            _call_back(self._stop.done.get_loop(), self._stop.done.set_result, None)

    def _gather(self) -> list[Submission]:
        """Waits for one submission and takes all others in the queue. Empty when the thread has to stop."""
        batch: list[Submission] = []
        writes = size = 0
        while not self._stop and writes < self._limits.commit_writes and size < self._limits.commit_bytes:
            if batch and self._queue.empty():
                break
            match self._queue.get():
                case Submission() as submission:
                    batch.append(submission)
                    writes += len(submission.events)
                    size += sum(len(event.record.body) for event in submission.events)
                case Compact(forgotten):
                    self._forgotten.extend(forgotten)
                case Stop() as stop:
                    self._stop = stop
                case Resume():
                    raise AssertionError("resumed without a failure")
                case never:
                    assert_never(never)
        return batch

    def _commit(self, batch: list[Submission]) -> None:
        loop = batch[0].done.get_loop()
        try:
            self._log.append([event for submission in batch for event in submission.events])
        except Exception as error:
            _call_back(loop, self._outcome.failed, error)
            self._skip_void()
        else:
            _call_back(loop, self._outcome.durable, batch)

    def _skip_void(self) -> None:
        while not self._stop:
            match self._queue.get():
                case Submission():
                    pass  # fails together with the commit before it
                case Compact(forgotten):
                    self._forgotten.extend(forgotten)
                case Stop() as stop:
                    self._stop = stop
                case Resume():
                    return
                case never:
                    assert_never(never)

    def _maintain(self) -> bool:
        """Checkpoints and compacts a little after each commit, when its writers have their responses. True if there may
        be more to do."""
        try:
            self._log.checkpoint_when_due()
            batch = self._compaction_batch()
            if batch:
                self._log.forget(batch)
                for _ in batch:
                    self._forgotten.popleft()
        except Exception as error:  # must not end the writer thread
            logger.warning("the database was not compacted; the next write tries again: %s", error)
            return False
        else:
            return bool(batch)

    def _compaction_batch(self) -> list[CompactedEvent]:
        """The oldest compacted events that are still in the log; empty while they are few."""
        batch: list[CompactedEvent] = []
        size = 0
        for forgotten in self._forgotten:
            batch.append(forgotten)
            size += forgotten.bytes
            if len(batch) >= self._limits.forget_events or size >= self._limits.forget_bytes:
                return batch
        return []


def _call_back(loop: asyncio.AbstractEventLoop, callback: Callable[[Argument], object], argument: Argument) -> None:
    # The loop was closed before the store: the process is ending.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(callback, argument)
