"""Follows a job until it ends: a view that redraws itself on a terminal, or a line for every change."""

import asyncio
import contextlib
import shutil
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Protocol

import msgspec

from understudy.cli.input.times import short_duration
from understudy.cli.output.tables import status_colours, table
from understudy.cli.output.terminal import Screen, repaints
from understudy.cli.queries.events import events_of_job
from understudy.cli.queries.instances import Instance
from understudy.cli.queries.job_objects import JobObject
from understudy.cli.queries.job_status import SUCCEEDED
from understudy.cli.queries.jobs import JobSummary, pods_by_job, summarize
from understudy.cli.queries.lists import pod_selectors
from understudy.cli.queries.objects import EventInfo, PodInfo
from understudy.cli.session import FAILED, Session
from understudy.cli.views.events import event_object
from understudy.objects.resources import EVENTS, PODS
from understudy.ports import Change, ChangeType, Ref

SETTLE = 0.05  # seconds in which changes are collected and printed together
TICK = 1.0  # seconds after which a view on a terminal is drawn anew, since time passes


class ProgressView(Protocol):
    ticks: bool

    def report(self, job: JobSummary, events: list[EventInfo], now: float) -> None: ...


async def follow_job(session: Session, job: Ref, *, live: bool) -> int:
    """Follows the job to its end. Returns 0 if it succeeded, 1 if it failed or is gone. With `live` a terminal gets a
    view, not lines."""
    watched = JobWatch(job)
    tasks = [asyncio.create_task(stream) for stream in watched.streams(session)]
    view: ProgressView = ProgressScreen() if live and repaints(sys.stdout) else ProgressLines(time.time())
    try:
        return await _until_over(watched, view, tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _until_over(watched: "JobWatch", view: ProgressView, tasks: list[asyncio.Task[None]]) -> int:
    while True:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(TICK if view.ticks else None):
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
        view.report(job, watched.events(job), now)
        if job.finished:
            return 0 if job.status == SUCCEEDED else FAILED


class JobWatch:
    """Watches a job: its object, its pods, and the events of its namespace."""

    def __init__(self, ref: Ref) -> None:
        self.ref = ref
        self.changed = asyncio.Event()
        self.unsynced: set[str] = set()
        self._found: JobObject | None = None
        self._pods: dict[str, PodInfo] = {}
        self._events: dict[str, EventInfo] = {}

    def streams(self, session: Session) -> list[Coroutine[Any, Any, None]]:
        """The watches; each runs for ever."""
        client, ref = session.client, self.ref
        name = f"metadata.name={ref.name}"
        taken = [self._take("job", client.follow(ref.resource, namespace=ref.namespace, fields=name), self._job)]
        for labels in pod_selectors(ref.resource.kind, ref.name):
            pods = client.follow(PODS, namespace=ref.namespace, labels=labels)
            taken.append(self._take(labels, pods, self._pod))
        return [*taken, self._take("events", client.follow(EVENTS, namespace=ref.namespace), self._event)]

    def summary(self) -> JobSummary | None:
        if self._found is None:
            return None
        return summarize(self._found, pods_by_job(self._pods.values()).get(self._found.gang, ()))

    def events(self, job: JobSummary) -> list[EventInfo]:
        return events_of_job(job, self._events.values())

    async def _take(self, stream: str, news: AsyncIterator[Change], into: Callable[[bytes, bool], None]) -> None:
        self.unsynced.add(stream)
        async for change in news:
            if change.type is ChangeType.SYNCED:
                self.unsynced.discard(stream)
            else:
                into(change.raw, change.type is ChangeType.DELETED)
            self.changed.set()

    def _job(self, raw: bytes, gone: bool) -> None:
        self._found = None if gone else JobObject(self.ref.resource, msgspec.json.decode(raw))

    def _pod(self, raw: bytes, gone: bool) -> None:
        pod = msgspec.json.decode(raw, type=PodInfo)
        if gone:
            self._pods.pop(pod.metadata.uid, None)
        else:
            self._pods[pod.metadata.uid] = pod

    def _event(self, raw: bytes, gone: bool) -> None:
        event = msgspec.json.decode(raw, type=EventInfo)
        if gone:
            self._events.pop(event.metadata.name, None)
        else:
            self._events[event.metadata.name] = event


class ProgressLines:
    """Prints a line for every change: for files, pipes and logs of CI."""

    ticks = False

    def __init__(self, since: float) -> None:
        self._since = int(since)
        self._before: JobSummary | None = None
        self._reported: dict[str, int] = {}  # how often an event had happened when it was reported

    def report(self, job: JobSummary, events: list[EventInfo], now: float) -> None:
        said = change_lines(self._before, job, now)
        for event in events:
            name = event.metadata.name
            if event.at >= self._since and noteworthy(event) and self._reported.get(name) != event.times:
                self._reported[name] = event.times
                said.append(f"{event_object(event)}: {event.reason}: {' '.join(event.message.split())}")
        self._before = job
        for line in said:
            print(f"{time.strftime('%H:%M:%S', time.localtime(now))} {line}", flush=True)


class ProgressScreen:
    """Rewrites the same few lines of a terminal."""

    ticks = True

    def __init__(self) -> None:
        self._screen = Screen(sys.stdout)

    def report(self, job: JobSummary, events: list[EventInfo], now: float) -> None:
        size = shutil.get_terminal_size()
        self._screen.show(frame_lines(job, events[-1] if events else None, now, (size.columns, size.lines)))


_NOTEWORTHY = frozenset(("Preempted", "Requeued", "Resumed", "HotSwapped", "Shrunk", "Recovered", "Waiting"))


def change_lines(before: JobSummary | None, job: JobSummary, now: float) -> list[str]:
    """The instances first: what happens to a job happens through them."""
    known = {one.name: one for one in before.instances} if before else {}
    lines = [_instance_text(one) for one in job.instances if _differs(known.get(one.name), one)]
    lines += [f"{name} gone" for name in known.keys() - {one.name for one in job.instances}]
    if before is None or before.status != job.status:
        lines.append(_job_text(job, now))
    return lines


def noteworthy(event: EventInfo) -> bool:
    """Trouble, and what Understudy did; that containers are created and started the instances say."""
    return event.type == "Warning" or event.reason in _NOTEWORTHY


def _differs(before: Instance | None, one: Instance) -> bool:
    return before is None or (before.status, before.node, before.restarts) != (one.status, one.node, one.restarts)


def _instance_text(one: Instance) -> str:
    place = f" on {one.shown_node}" if one.node else ""
    again = f", started again {one.restarts} time{'s' * (one.restarts != 1)}" if one.restarts else ""
    code = f", exit code {one.exit_code}" if one.status == "FAILED" and one.exit_code is not None else ""
    return f"{one.name} {one.status}{place}{again}{code}"


def _job_text(job: JobSummary, now: float) -> str:
    lasted = f" after {short_duration(job.duration(now))}" if job.finished else ""
    reason = f": {job.reason}" if job.reason else ""
    return f"{job.name} {job.status}{lasted}{reason}"


FIXED = 5  # lines besides those of instances: the state, a blank, the head of the table, a blank, the event
FEWEST = 3


def frame_lines(job: JobSummary, event: EventInfo | None, now: float, size: tuple[int, int]) -> list[str]:
    """The lines of the view; `size` is columns and lines."""
    columns, lines = size
    paint = status_colours()
    state = [
        f"{job.name}  {job.status}  {job.trainer}",
        f"priority {job.priority}",
        f"age {short_duration(job.age(now))}",
    ]
    state += [f"training {short_duration(job.duration(now))}", f"GPUs {job.gpus_allocated}/{job.gpus_requested}"]
    said = [_cut("  ".join(state), columns).replace(job.status, paint(job.status), 1)]
    if job.reason:
        said.append(_cut(f"  {job.reason}", columns))
    shown, left = _fitting(job.instances, max(FEWEST, lines - FIXED - len(said)))
    if shown:
        rows = [["INSTANCE", "STATUS", "NODE", "UP"], *(_instance_row(one, now) for one in shown)]
        said += ["", *(_painted(_cut(line, columns), paint) for line in table(rows))]
    if left:
        said.append(f"and {left} more")
    if event is not None:
        message = " ".join(event.message.split())
        words = f"{short_duration(now - event.at)} ago  {event_object(event)}  {event.reason}: {message}"
        said += ["", _cut(words, columns)]
    return said


def _fitting(instances: tuple[Instance, ...], room: int) -> tuple[list[Instance], int]:
    """The instances that fit on the screen. Where not all fit, those that do not run are shown first."""
    if len(instances) <= room:
        return list(instances), 0
    order = sorted(instances, key=lambda one: one.status == "RUNNING")[: room - 1]
    return order, len(instances) - len(order)


def _instance_row(one: Instance, now: float) -> list[str]:
    up = short_duration((one.ended or now) - one.started) if one.started is not None else ""
    return [one.name, "TERMINATING" if one.leaving else one.status, one.shown_node, up]


def _painted(line: str, paint: Callable[[str], str]) -> str:
    for word in ("RUNNING", "PENDING", "FAILED", "SUCCEEDED"):
        if f" {word} " in f"{line} ":
            return line.replace(f" {word}", f" {paint(word)}", 1)
    return line


def _cut(text: str, columns: int) -> str:
    return text if len(text) < columns else f"{text[: max(0, columns - 2)]}…"
