"""Watches the cluster of the demo: prints each change, and waits until the cluster reaches a state."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec

from understudy.cli.demo.drawing import draw_domains
from understudy.cli.demo.manifests import TOPOLOGY
from understudy.cli.demo.progress import ProgressPrinter
from understudy.cli.demo.state import DemoProcess, DemoState, demo_state, state_changes
from understudy.client import KubeClient
from understudy.client.connection import split_lines
from understudy.control.clock import SystemClock, wait_for
from understudy.control.view.cluster_view import ClusterView
from understudy.control.view.invalid_objects import InvalidObjects
from understudy.control.watch.reflector import ObjectHeader, Reflector, WatchedResource
from understudy.model.incidents import Incident
from understudy.model.snapshot import Snapshot
from understudy.objects.errors import BadObject
from understudy.objects.incidents import incident_of
from understudy.objects.meta import KubeObject
from understudy.objects.nodes import LEASE_NAMESPACE
from understudy.objects.resources import EVENTS, INCIDENTS, JOB_SETS, JOBS, LEASES, NODES, PODS, PRIORITY_CLASSES
from understudy.ports import Ref, Refused, Unreachable

LIMIT = 60.0  # seconds; what takes a few may take many where the machine is busy with other things
ROUTINE = "step "  # how lines begin that are no news
_SOURCES = (
    *(WatchedResource((resource,)) for resource in (PRIORITY_CLASSES, NODES, PODS, JOBS, JOB_SETS)),
    WatchedResource((LEASES,), LEASE_NAMESPACE),
)


class DemoFailed(Exception):
    """The story did not come about: what was waited for, and how things stood instead."""


class _EventSubject(msgspec.Struct, frozen=True):
    kind: str
    name: str


class Preempted(msgspec.Struct, frozen=True, rename="camel"):
    """An event on a job, as `kubectl events` shows it."""

    message: str
    involved_object: _EventSubject


class ClusterObserver:
    """`run` follows the cluster, for ever. Moments are seconds since 1970: when the news came in here."""

    def __init__(self, client: KubeClient, jobs: Sequence[str], printer: ProgressPrinter) -> None:
        self.state = DemoState()
        self.output: dict[str, list[str]] = {}  # by the uid of a pod: what its process printed
        self.preemptions: list[Preempted] = []
        self.incidents: dict[str, Incident] = {}  # that the cluster keeps, by name
        self._client = client
        self._jobs = jobs
        self._printer = printer
        self._clock = SystemClock()
        self._view = ClusterView(invalid_objects=InvalidObjects())
        self._following = Reflector(client, self._clock, self, _SOURCES)
        self._changed = asyncio.Event()
        self._listeners: set[asyncio.Task[None]] = set()
        self._unreadable = ""

    async def run(self) -> None:
        try:
            await asyncio.gather(self._following.run(), self._follow_preemptions(), self._follow_incidents())
        finally:
            for listener in self._listeners:
                listener.cancel()
            await asyncio.gather(*self._listeners, return_exceptions=True)

    def now(self) -> float:
        return self._clock.now()

    def snapshot(self) -> Snapshot:
        return self._view.snapshot(self.now())

    def picture(self) -> list[str]:
        running = {process.pod for process in self.state.processes.values()}
        starting = {pod.metadata.name for job in self._jobs for pod in self._view.pods_of(job)} - running
        return draw_domains(self.snapshot(), TOPOLOGY, starting)

    async def until(self, what: str, shows: Callable[[DemoState], bool]) -> float:
        """Waits until the state shows it, and returns the time. Raises DemoFailed after LIMIT seconds."""
        deadline = self.now() + LIMIT
        while not shows(self._update()):
            if self.now() >= deadline:
                raise DemoFailed(f"{what}: not within {LIMIT:g} s; {self._current_state()}")
            moments = (self._view.next_look(), deadline)
            await wait_for(self._changed, self._clock, min(at for at in moments if at is not None))
            self._changed.clear()
        return self.now()

    def _update(self) -> DemoState:
        before = self.state
        self.state = demo_state(self.snapshot(), {job: self._view.pods_of(job) for job in self._jobs})
        for line in state_changes(before, self.state):
            self._printer.report(line)
        self._printer.print_reports()
        self._printer.show(self.picture())
        for uid, process in self.state.processes.items():
            if uid not in self.output:
                self.output[uid] = []
                listener = asyncio.create_task(self._listen(process))
                self._listeners.add(listener)
                listener.add_done_callback(self._listeners.discard)
        return self.state

    def _current_state(self) -> str:
        pods = [pod for job in self._jobs for pod in self._view.pods_of(job)]
        words = [f"{pod.metadata.name} is {pod.status.phase} on {pod.spec.node_name or 'no node'}" for pod in pods]
        words += [f"{node} is lost" for node in self.state.lost]
        return ", ".join(filter(None, [self._unreadable, *sorted(words)])) or "there is no pod"

    async def _listen(self, process: DemoProcess) -> None:
        """Follows what a process prints until its log ends."""
        path = Ref(PODS, process.namespace, process.pod).path("log") + "?follow=true&timestamps=true"
        with contextlib.suppress(Refused, Unreachable):
            async for line in split_lines(self._client.stream(path)):
                moment, _, text = line.decode(errors="replace").partition(" ")
                self.output[process.uid].append(text)
                if not text.startswith(ROUTINE):
                    self._printer.report(f"{process.name} says: {text}", datetime.fromisoformat(moment).timestamp())
                self._changed.set()

    async def _follow_preemptions(self) -> None:
        """Follows the events that tell a job why it was preempted."""
        fields = f"reason={Preempted.__name__},involvedObject.kind={JOB_SETS.kind}"
        async for change in self._client.follow(EVENTS, fields=fields):
            if change.raw:
                event = msgspec.json.decode(change.raw, type=Preempted)
                self.preemptions.append(event)
                subject = event.involved_object
                self._printer.report(f"event on {subject.kind} {subject.name}: {Preempted.__name__}, {event.message}")
                self._changed.set()

    async def _follow_incidents(self) -> None:
        async for change in self._client.follow(INCIDENTS):
            if change.raw:
                incident = incident_of(change.raw)
                self.incidents[incident.name] = incident
                self._changed.set()

    # The watch delivers objects here

    def put(self, obj: KubeObject) -> None:
        self._view.put(obj)
        self._changed.set()

    def remove(self, obj: KubeObject) -> None:
        self._view.remove(obj)
        self._changed.set()

    def cannot_read(self, _bare: ObjectHeader, error: BadObject, gone: bool) -> None:
        self._unreadable = "" if gone else str(error)
