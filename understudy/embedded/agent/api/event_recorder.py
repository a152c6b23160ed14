"""The event recorder: writes events about pods and nodes in the background, so that nothing waits for it."""

import asyncio
import contextlib
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

import msgspec

from understudy.kinds.annotations import format_time
from understudy.objects.resources import EVENTS
from understudy.ports import Cluster, PatchForm, Ref, Refused, Unreachable

NORMAL, WARNING = "Normal", "Warning"
COMPONENT = "understudy-agent"
_MOST_WAITING = 10_000
_MOST_REMEMBERED = 4_096
_LONGEST_NAME = 220
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 10.0  # seconds between attempts while the API is unreachable
_QUIET = 5.0  # seconds in which repetitions are counted but not written
_INVALID = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)

log = logging.getLogger(__name__)


class EventSubject(msgspec.Struct, frozen=True):
    """The object that an event is about."""

    kind: str
    name: str
    uid: str
    namespace: str = ""
    field: str = ""  # such as spec.containers{main}
    node: str = ""


class AgentEvent(msgspec.Struct, frozen=True):
    subject: EventSubject
    type: str
    reason: str
    message: str
    name: str = ""  # set where the event is recorded once in the life of the cluster


class _WrittenEvent(msgspec.Struct):
    name: str
    count: int
    written_at: float


class EventRecorder:
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
                    log.warning("event %s of %s is not recorded: %s", event.reason, event.subject.name, refusal)

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
        body = event_document(event, name, moment)
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


def event_document(event: AgentEvent, name: str, moment: float) -> dict[str, Any]:
    subject = event.subject
    about = {"apiVersion": "v1", "kind": subject.kind, "name": subject.name, "uid": subject.uid}
    about |= {"namespace": subject.namespace} if subject.namespace else {}
    about |= {"fieldPath": subject.field} if subject.field else {}
    source = {"component": COMPONENT, "host": subject.node} if subject.node else {"component": COMPONENT}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": subject.namespace or "default"},
        "involvedObject": about,
        "type": event.type,
        "reason": event.reason,
        "message": event.message,
        "source": source,
        "firstTimestamp": format_time(int(moment)),
        "lastTimestamp": format_time(int(moment)),
        "count": 1,
        "reportingComponent": COMPONENT,
        "reportingInstance": subject.node,
    }


class PodEventRecorder:
    """Records events about one pod."""

    def __init__(self, recorder: EventRecorder, subject: EventSubject) -> None:
        self._recorder = recorder
        self._subject = subject

    def normal(self, reason: str, message: str, container: str = "") -> None:
        self._record(NORMAL, reason, message, container)

    def warning(self, reason: str, message: str, container: str = "") -> None:
        self._record(WARNING, reason, message, container)

    def _record(self, kind: str, reason: str, message: str, container: str) -> None:
        field = f"spec.containers{{{container}}}" if container else ""
        self._recorder.record(AgentEvent(msgspec.structs.replace(self._subject, field=field), kind, reason, message))
