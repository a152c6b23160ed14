"""The writer: one thread that makes submissions durable in order, each time all that have gathered in one commit."""

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

Told = TypeVar("Told")


class Submission(msgspec.Struct, frozen=True, gc=False):
    """Events that become durable together or not at all."""

    events: tuple[StoreEvent, ...]
    done: asyncio.Future[tuple[Record, ...]]


class Forget(msgspec.Struct, frozen=True):
    forgotten: Sequence[CompactedEvent]


class Resume(msgspec.Struct, frozen=True):
    """A failure has been dealt with: what was submitted before this is void, what follows is not."""


class Stop(msgspec.Struct, frozen=True):
    done: asyncio.Future[None]


class Outcome(msgspec.Struct, frozen=True):
    """Whom to tell, on the event loop."""

    durable: Callable[[list[Submission]], None]
    failed: Callable[[Exception], None]


class GroupCommitter:
    """After a failure it writes nothing until `resume`: what was submitted meanwhile may rest on what has failed."""

    def __init__(self, log: ChangeLog, limits: Limits, outcome: Outcome) -> None:
        self._log = log
        self._limits = limits
        self._outcome = outcome
        self._queue: SimpleQueue[Submission | Forget | Resume | Stop] = SimpleQueue()
        self._forgotten: deque[CompactedEvent] = deque()
        self._stop: Stop | None = None
        threading.Thread(target=self._run, name="store-writer", daemon=True).start()

    def submit(self, submission: Submission) -> None:
        self._queue.put(submission)

    def forget(self, forgotten: Sequence[CompactedEvent]) -> None:
        """In the order of their revisions, each after it was durable."""
        self._queue.put(Forget(forgotten))

    def resume(self) -> None:
        self._queue.put(Resume())

    def stop(self, done: asyncio.Future[None]) -> None:
        """Closes the log once all that was submitted is dealt with."""
        self._queue.put(Stop(done))

    def _run(self) -> None:
        while batch := self._gather():
            self._commit(batch)
            self._tend()
        while self._tend():
            pass
        self._log.close()
        if self._stop:
            _tell(self._stop.done.get_loop(), self._stop.done.set_result, None)

    def _gather(self) -> list[Submission]:
        """Waits for one submission and takes what else is there. Nothing, when it is time to stop."""
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
                case Forget(forgotten):
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
            _tell(loop, self._outcome.failed, error)
            self._skip_what_is_void()
        else:
            _tell(loop, self._outcome.durable, batch)

    def _skip_what_is_void(self) -> None:
        while not self._stop:
            match self._queue.get():
                case Submission():
                    pass  # it fails with the commit it came after
                case Forget(forgotten):
                    self._forgotten.extend(forgotten)
                case Stop() as stop:
                    self._stop = stop
                case Resume():
                    return
                case never:
                    assert_never(never)

    def _tend(self) -> bool:
        """Chores, a bite after each commit, when those who wait for the commit have their answer already. True where
        there may be more to do."""
        try:
            self._log.checkpoint_when_due()
            bite = self._bite()
            if bite:
                self._log.forget(bite)
                for _ in bite:
                    self._forgotten.popleft()
        except Exception as error:  # must not end the thread that others wait for
            logger.warning("the database was not tidied up; the next write tries again: %s", error)
            return False
        else:
            return bool(bite)

    def _bite(self) -> list[CompactedEvent]:
        """The oldest that are forgotten but still in the log, or nothing while they are few."""
        bite: list[CompactedEvent] = []
        size = 0
        for forgotten in self._forgotten:
            bite.append(forgotten)
            size += forgotten.bytes
            if len(bite) >= self._limits.forget_events or size >= self._limits.forget_bytes:
                return bite
        return []


def _tell(loop: asyncio.AbstractEventLoop, callback: Callable[[Told], object], what: Told) -> None:
    # A loop that was closed before the store: the process is ending, and nobody is left to be told.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(callback, what)
