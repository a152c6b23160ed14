"""The event queue of the agent: writes events about pods and nodes in the background, so that nothing waits for it."""

import asyncio
import contextlib
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from http import HTTPStatus

import msgspec

from understudy.control.record.event_formats import EventReporter, EventSubject, EventText, core_event
from understudy.kinds.annotations import format_time
from understudy.objects.resources import EVENTS
from understudy.ports import Cluster, PatchForm, Ref, Refused, Unreachable

COMPONENT = "understudy-agent"
_MOST_WAITING = 10_000
_MOST_REMEMBERED = 4_096
_LONGEST_NAME = 220
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 10.0  # seconds between attempts while the API is unreachable
_QUIET = 5.0  # seconds in which repetitions are counted but not written
_INVALID = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)

log = logging.getLogger(__name__)


class AgentEvent(msgspec.Struct, frozen=True):
    subject: EventSubject
    text: EventText
    node: str = ""  # where it happened
    name: str = ""  # set where the event is recorded once in the life of the cluster


class _WrittenEvent(msgspec.Struct):
    name: str
    count: int
    written_at: float


class AgentEventQueue:
    """Writes events in order, one after the other; repetitions raise the count of the first.

    `delay` is in seconds: when many pods start, their processes need the machine more than the events do.
    """

    def __init__(self, cluster: Cluster, delay: float = 0.0, now: Callable[[], float] = time.time) -> None:
        self._delay = delay
        self._cluster = cluster
        self._now = now
        self._queue: asyncio.Queue[tuple[AgentEvent, float]] = asyncio.Queue(_MOST_WAITING)
        self._written: OrderedDict[AgentEvent, _WrittenEvent] = OrderedDict()
        self._writer: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._writer = asyncio.create_task(self._write_all())

    def record(self, event: AgentEvent) -> None:
        with contextlib.suppress(asyncio.QueueFull):
            self._queue.put_nowait((event, self._now()))

    async def close(self) -> None:
        if self._writer is not None:
            self._writer.cancel()
            await asyncio.gather(self._writer, return_exceptions=True)

    async def _write_all(self) -> None:
        while True:
            event, moment = await self._queue.get()
            await asyncio.sleep(max(0.0, moment + self._delay - self._now()))
            try:
                await self._write(event, moment)
            except Refused as refusal:
                if refusal.code in _INVALID:  # others are of the moment: a namespace that goes, a full disk
                    log.warning("event %s of %s is not recorded: %s", event.text.reason, event.subject.name, refusal)

    async def _write(self, event: AgentEvent, moment: float) -> None:
        written = self._written.get(event)
        namespace = event.subject.namespace or "default"
        if written is not None:
            written.count += 1
            if moment - written.written_at < _QUIET:
                return
            written.written_at = moment
            patch = {"count": written.count, "lastTimestamp": format_time(int(moment))}
            ref = Ref(EVENTS, namespace, written.name)
            try:
                await self._retry_until_answered(lambda: self._cluster.patch(ref, patch, form=PatchForm.MERGE))
                return
            except Refused as refusal:
                if refusal.code != HTTPStatus.NOT_FOUND:
                    raise
        name = event.name or f"{event.subject.name[:_LONGEST_NAME]}.{secrets.token_hex(8)}"
        self._written[event] = _WrittenEvent(name, 1, moment)
        if len(self._written) > _MOST_REMEMBERED:
            self._written.popitem(last=False)
        body = core_event(name, event.subject, event.text, EventReporter(COMPONENT, event.node, event.node), moment)
        await self._retry_until_answered(lambda: self._cluster.create(Ref(EVENTS, namespace), body))

    async def _retry_until_answered(self, write: Callable[[], Awaitable[object]]) -> None:
        """Repeats the write until the API answers. Events keep their names, so that none is created twice."""
        pause = _FIRST_PAUSE
        while True:
            try:
                await write()
                return
            except Unreachable:
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)


class PodEvents:
    """Records events about one pod."""

    def __init__(self, queue: AgentEventQueue, subject: EventSubject, node: str) -> None:
        self._queue = queue
        self._subject = subject
        self._node = node

    def normal(self, reason: str, message: str, container: str = "") -> None:
        self._record(EventText(reason, message), container)

    def warning(self, reason: str, message: str, container: str = "") -> None:
        self._record(EventText(reason, message, warning=True), container)

    def _record(self, text: EventText, container: str) -> None:
        field = f"spec.containers{{{container}}}" if container else ""
        self._queue.record(AgentEvent(msgspec.structs.replace(self._subject, field=field), text, self._node))
