"""Events on jobs and pods and conditions on pods: written in the background, each once and not too often."""

import asyncio
import contextlib
import hashlib
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from http import HTTPStatus

import msgspec

from understudy.control.clock import wait_for
from understudy.control.record.event_formats import CoreEventFormat, EventFormat, EventRate, EventSubject, EventText
from understudy.control.record.writes import RecordWrites
from understudy.kinds.annotations import format_time
from understudy.objects.meta import Condition
from understudy.objects.pods import Pod
from understudy.objects.resources import PODS
from understudy.ports import Clock, ClusterReader, Ref, Refused, Unreachable
from understudy.write_priority import WritePriority

MAX_BUCKETS = 4096  # the bucket that was used longest ago is forgotten first; it counts as full then


class EventRateLimiter:
    def __init__(self, allowance: EventRate) -> None:
        self._allowance = allowance
        self._tokens: dict[tuple[str, str], tuple[float, float]] = {}  # tokens left, and when they were counted

    def take(self, key: tuple[str, str], now: float) -> bool:
        """Whether a token was left."""
        full = float(self._allowance.at_once)
        left, since = self._tokens.pop(key, (full, now))
        left = min(full, left + max(0.0, now - since) / self._allowance.every)
        taken = left >= 1.0
        self._tokens[key] = (left - 1.0 if taken else left, now)
        if len(self._tokens) > MAX_BUCKETS:
            del self._tokens[next(iter(self._tokens))]
        return taken


CONCURRENCY = 8  # the other connections are left to urgent writes
PAUSE = 0.01  # between two batches: at most 800 writes a second
RETRY = 1.0
MAX_DELAY = 10.0  # seconds by which urgent writes may delay other writes that are due
REPEAT_AFTER = 10.0  # seconds between two reasons written on a waiting pod, however often the reason changes
MAX_COUNTS = 20_000
# status codes after which the same write may succeed a moment later
RETRYABLE = (
    HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.INTERNAL_SERVER_ERROR, HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT,
)  # fmt: skip
_CORE = CoreEventFormat()
_log = logging.getLogger(__name__)
PendingWrite = Callable[[], Awaitable[None]]


class _Conditions(msgspec.Struct, frozen=True):
    conditions: tuple[Condition, ...] = ()


class _PodConditions(msgspec.Struct, frozen=True):
    """The part of a pod that shows what was written before."""

    status: _Conditions = _Conditions()


class EventRecorder:
    def __init__(
        self,
        cluster: ClusterReader,
        writer: RecordWrites,
        clock: Clock,
        delay: float = 0.0,
        form: EventFormat = _CORE,
    ) -> None:
        """`delay` are the seconds before an event is written, so that urgent writes go first. With 0, there is no
        delay."""
        self._cluster = cluster
        self._writer = writer
        self._clock = clock
        self._delay = delay
        self._form = form
        self._buckets = EventRateLimiter(form.allowance) if form.allowance is not None else None
        self._waiting: dict[object, tuple[float, PendingWrite]] = {}  # pending writes, and when each is due
        self._priority = WritePriority(delay, MAX_DELAY if delay else 0.0)
        self._more = asyncio.Event()
        self._writes_under_way = 0
        self._being_written: dict[str, asyncio.Event] = {}  # uid -> set when the write has ended
        self._counts: dict[str, int] = {}  # how often an event has occurred
        self._seats: dict[str, str] = {}  # by uid: the node that is or will be nominated
        self._wait_messages: dict[str, tuple[str, float]] = {}  # by uid: the last reason written, and when

    @property
    def idle(self) -> bool:
        """Whether no write is due now."""
        now = self._clock.now()
        return not self._writes_under_way and not any(due <= now for due, _ in self._waiting.values())

    @contextlib.contextmanager
    def urgent_write(self) -> Iterator[None]:
        """During the block, and for a while after it, only overdue events are written."""
        try:
            with self._priority.urgent(self._clock.now):
                yield
        finally:
            self._more.set()

    # Written later, in the background

    def event(self, subject: EventSubject, text: EventText) -> None:
        self._later((subject, text), self._clock.now() + self._delay, lambda: self.write(subject, text))

    def record_wait(self, subject: EventSubject, message: str, gated: bool = False, with_event: bool = True) -> None:
        """A pod, or a job without pods, waits. The reason is written if it has changed. Most pods wait for less than
        the delay, so that nothing is written."""
        text, written_at = self._wait_messages.get(subject.uid, ("", float("-inf")))
        if text == message:
            self._waiting.pop(subject.uid, None)
            return
        due = max(self._clock.now() + self._delay, written_at + REPEAT_AFTER)
        if (waiting := self._waiting.get(subject.uid)) is not None:
            due = min(due, waiting[0])  # a new reason does not delay the write again
        condition = "SchedulingGated" if gated else "Unschedulable"
        self._later(subject.uid, due, lambda: self._write_wait(subject, message, condition, with_event))

    def record_nomination(self, pod: Pod, node: str) -> bool:
        """Shows the held seat on the pod, for kubectl; '' for none. Most pods are bound before that is written. Returns
        whether the seat has changed."""
        uid = pod.metadata.uid
        if self._seats.get(uid) == node:
            return False
        self._seats[uid] = node
        self._later((uid, "seat"), self._clock.now() + self._delay, lambda: self._write_nomination(pod, node))
        return True

    def forget(self, uid: str) -> None:
        """The object does not wait any longer, or it is gone."""
        self._wait_messages.pop(uid, None)
        self._waiting.pop(uid, None)
        self._waiting.pop((uid, "seat"), None)
        self._seats.pop(uid, None)

    async def cancel(self, uids: Iterable[str]) -> None:
        """No reason for waiting is written on these pods any more, not even late: they are about to be bound."""
        for uid in uids:
            self.forget(uid)
            if (over := self._being_written.get(uid)) is not None:
                await over.wait()
                self.forget(uid)  # the write may have failed and have been delayed

    def _later(self, key: object, due: float, write: PendingWrite) -> None:
        self._waiting[key] = (due, write)
        self._more.set()

    async def run(self) -> None:
        while True:
            self._more.clear()
            now = self._clock.now()
            until = self._priority.due_until(now)
            due = [key for key, (at, _) in self._waiting.items() if at <= until][:CONCURRENCY]
            if not due:
                soonest = min((at for at, _ in self._waiting.values()), default=None)
                look = None if soonest is None else self._priority.next_look(soonest)
                await wait_for(self._more, self._clock, look)
                continue
            self._writes_under_way += 1
            try:
                batch = [(key, self._waiting.pop(key)[1]) for key in due]
                await asyncio.gather(*(self._try(key, write) for key, write in batch))
                await self._clock.sleep(PAUSE)
            finally:
                self._writes_under_way -= 1

    async def _try(self, key: object, write: PendingWrite) -> None:
        try:
            await write()
        except (Refused, Unreachable) as error:
            if isinstance(error, Refused) and error.code not in RETRYABLE:  # most likely the object is gone
                _log.debug("not told: %s", error)
            elif key not in self._waiting:  # otherwise there is a newer write
                self._later(key, self._clock.now() + RETRY, write)

    # Written at once

    async def write(self, subject: EventSubject, text: EventText) -> None:
        """Writes an event. If the same has happened before, raises the count of the existing event."""
        now, form = self._clock.now(), self._form
        if self._buckets is not None and not self._buckets.take((subject.uid or subject.name, text.reason), now):
            _log.debug("not told, there was too much of it: %s %s: %s", subject.kind, subject.name, text.reason)
            return
        ref = Ref(form.resource, subject.namespace or "default", _event_name(subject, form.series_key(subject, text)))
        event = form.new(ref.name, subject, text, now)
        count = self._counts.get(ref.name, 0)
        if count == 0:
            if await self._writer.create_event(ref, event):
                self._count(ref.name, 1)
                return
            count = await self._count_so_far(ref)
        if await self._writer.update_event(ref, form.again(count + 1, now)):
            self._count(ref.name, count + 1)
        elif await self._writer.create_event(ref, event):  # the event has expired
            self._count(ref.name, 1)

    async def _count_so_far(self, ref: Ref) -> int:
        return self._form.count(msgspec.json.decode(await self._cluster.get(ref)))

    def _count(self, name: str, count: int) -> None:
        if len(self._counts) >= MAX_COUNTS:
            self._counts.clear()
        self._counts[name] = count

    async def set_condition(self, pod: Pod, condition: dict[str, str]) -> None:
        """Sets a condition of a pod. A pod that is gone, or that was replaced, is left alone."""
        meta = pod.metadata
        try:
            ref = Ref(PODS, meta.namespace, meta.name)
            await self._writer.update_pod_status(ref, meta.uid, {"conditions": [condition]})
        except Refused as error:
            if error.code not in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):
                raise

    async def _write_nomination(self, pod: Pod, node: str) -> None:
        meta = pod.metadata
        ref = Ref(PODS, meta.namespace, meta.name)
        await self._writer.update_pod_status(ref, meta.uid, {"nominatedNodeName": node or None})

    async def _write_wait(self, subject: EventSubject, message: str, condition: str, with_event: bool) -> None:
        over = self._being_written[subject.uid] = asyncio.Event()
        before = self._wait_messages.get(subject.uid)
        try:
            await self._write_reason(subject, message, condition, with_event)
        except (Refused, Unreachable):  # it may have been written all the same, so any reason counts as new from now on
            self._wait_messages[subject.uid] = ("", before[1] if before is not None else float("-inf"))
            raise
        finally:
            del self._being_written[subject.uid]
            over.set()

    async def _write_reason(self, subject: EventSubject, message: str, condition: str, with_event: bool) -> None:
        known = subject.uid in self._wait_messages
        self._wait_messages[subject.uid] = (message, self._clock.now())
        if subject.kind != "Pod":
            await self.write(subject, EventText("Waiting", message, warning=True))
        elif known or not await self._shows_already(subject, message):
            status = {"conditions": [_unschedulable(message, condition, format_time(int(self._clock.now())))]}
            await self._writer.update_pod_status(Ref(PODS, subject.namespace, subject.name), subject.uid, status)
            if with_event:
                await self.write(subject, EventText("FailedScheduling", message, warning=True))

    async def _shows_already(self, subject: EventSubject, message: str) -> bool:
        """Whether the pod shows the same already, written by an earlier scheduler: a restart repeats nothing."""
        pod = msgspec.json.decode(
            await self._cluster.get(Ref(PODS, subject.namespace, subject.name)), type=_PodConditions
        )
        return any(c.type == "PodScheduled" and c.message == message for c in pod.status.conditions)


def _unschedulable(message: str, reason: str, now: str) -> dict[str, str]:
    return {
        "type": "PodScheduled",
        "status": "False",
        "reason": reason,
        "message": message,
        "lastTransitionTime": now,
    }


def _event_name(subject: EventSubject, series_key: str) -> str:
    """The same name for the same occurrence at the same object, so that it can be counted."""
    return f"{subject.name[:200]}.{hashlib.blake2b(series_key.encode(), digest_size=8).hexdigest()}"
