"""Follows a job until it is over, through watches: a small view that redraws itself, or a line for every change."""

import asyncio
import contextlib
import shutil
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Protocol

import msgspec

from understudy.cli.finding import Found
from understudy.cli.jobs.changes import changes, noteworthy
from understudy.cli.jobs.frames import frame
from understudy.cli.jobs.gathering import selectors
from understudy.cli.jobs.happenings import belonging, source
from understudy.cli.jobs.seen import SeenEvent, SeenPod
from understudy.cli.jobs.statuses import SUCCEEDED
from understudy.cli.jobs.summaries import JobSummary, by_job, summarised
from understudy.cli.screen import Screen, repaints
from understudy.cli.target import FAILED, Session
from understudy.objects.resources import EVENTS, PODS
from understudy.ports import Change, ChangeType, Ref

SETTLE = 0.05  # seconds in which changes that come together are told together
TICK = 1.0  # seconds after which a view on a terminal is drawn anew, since time passes


class Teller(Protocol):
    ticks: bool

    def tell(self, job: JobSummary, events: list[SeenEvent], now: float) -> None: ...


async def follow(session: Session, job: Ref, *, live: bool) -> int:
    """0 when it has succeeded, 1 when it has failed or is gone. With `live` a terminal gets a view, not lines."""
    watched = Watched(job)
    tasks = [asyncio.create_task(stream) for stream in watched.streams(session)]
    teller: Teller = View() if live and repaints(sys.stdout) else Lines(time.time())
    try:
        return await _until_over(watched, teller, tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _until_over(watched: "Watched", teller: Teller, tasks: list[asyncio.Task[None]]) -> int:
    while True:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(TICK if teller.ticks else None):
                await watched.changed.wait()
                await asyncio.sleep(SETTLE)
        watched.changed.clear()
        for task in tasks:
            if task.done():
                task.result()
        if watched.unsynced:
            continue
        job, now = watched.summary(), time.time()
        if job is None:
            print(f"understudy: {watched.ref.resource.kind.lower()} {watched.ref.name} is gone", file=sys.stderr)
            return FAILED
        teller.tell(job, watched.events(job), now)
        if job.finished:
            return 0 if job.status == SUCCEEDED else FAILED


class Watched:
    """What is known of a job by now: its object, its pods, and the events of its namespace."""

    def __init__(self, ref: Ref) -> None:
        self.ref = ref
        self.changed = asyncio.Event()
        self.unsynced: set[str] = set()
        self._found: Found | None = None
        self._pods: dict[str, SeenPod] = {}
        self._events: dict[str, SeenEvent] = {}

    def streams(self, session: Session) -> list[Coroutine[Any, Any, None]]:
        """Each takes in one watch, for ever."""
        client, ref = session.client, self.ref
        name = f"metadata.name={ref.name}"
        taken = [self._take("job", client.follow(ref.resource, namespace=ref.namespace, fields=name), self._job)]
        for labels in selectors(ref.resource.kind, ref.name):
            pods = client.follow(PODS, namespace=ref.namespace, labels=labels)
            taken.append(self._take(labels, pods, self._pod))
        return [*taken, self._take("events", client.follow(EVENTS, namespace=ref.namespace), self._event)]

    def summary(self) -> JobSummary | None:
        if self._found is None:
            return None
        return summarised(self._found, by_job(self._pods.values()).get(self._found.gang, ()))

    def events(self, job: JobSummary) -> list[SeenEvent]:
        return belonging(job, self._events.values())

    async def _take(self, stream: str, news: AsyncIterator[Change], into: Callable[[bytes, bool], None]) -> None:
        self.unsynced.add(stream)
        async for change in news:
            if change.type is ChangeType.SYNCED:
                self.unsynced.discard(stream)
            else:
                into(change.raw, change.type is ChangeType.DELETED)
            self.changed.set()

    def _job(self, raw: bytes, gone: bool) -> None:
        self._found = None if gone else Found(self.ref.resource, msgspec.json.decode(raw))

    def _pod(self, raw: bytes, gone: bool) -> None:
        pod = msgspec.json.decode(raw, type=SeenPod)
        if gone:
            self._pods.pop(pod.metadata.uid, None)
        else:
            self._pods[pod.metadata.uid] = pod

    def _event(self, raw: bytes, gone: bool) -> None:
        event = msgspec.json.decode(raw, type=SeenEvent)
        if gone:
            self._events.pop(event.metadata.name, None)
        else:
            self._events[event.metadata.name] = event


class Lines:
    """A line for every change, as it comes: for files, pipes and logs of CI."""

    ticks = False

    def __init__(self, since: float) -> None:
        self._since = int(since)
        self._before: JobSummary | None = None
        self._told: dict[str, int] = {}  # how often an event had happened when it was told

    def tell(self, job: JobSummary, events: list[SeenEvent], now: float) -> None:
        said = changes(self._before, job, now)
        for event in events:
            name = event.metadata.name
            if event.at >= self._since and noteworthy(event) and self._told.get(name) != event.times:
                self._told[name] = event.times
                said.append(f"{source(event)}: {event.reason}: {' '.join(event.message.split())}")
        self._before = job
        for line in said:
            print(f"{time.strftime('%H:%M:%S', time.localtime(now))} {line}", flush=True)


class View:
    """The same few lines of a terminal, written anew."""

    ticks = True

    def __init__(self) -> None:
        self._screen = Screen(sys.stdout)

    def tell(self, job: JobSummary, events: list[SeenEvent], now: float) -> None:
        size = shutil.get_terminal_size()
        self._screen.show(frame(job, events[-1] if events else None, now, (size.columns, size.lines)))
