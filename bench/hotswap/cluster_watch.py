"""Follows pods, nodes, events and incidents through the API, and records when each change arrived."""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Mapping

from bench.hotswap import api_objects
from bench.hotswap.api_objects import Node, Pod
from bench.hotswap.process_table import ProcessTable
from bench.hotswap.timeline import Trace
from understudy.client import KubeClient
from understudy.model.incidents import Incident
from understudy.objects.incidents import incident_of
from understudy.objects.resources import EVENTS, INCIDENTS, NODES, PODS, Resource
from understudy.ports import Change, ChangeType

LIMIT = 90.0  # seconds after which what is waited for will not come any more
EVENTS_SHOWN = 30  # events shown where something went wrong
CALM = 0.25  # seconds without news of pods and nodes


class NeverSeen(Exception):
    """A state was not reached in time. The message says which, and what was seen instead."""


class ClusterWatch:
    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._unsynced: set[Resource] = {PODS, NODES, EVENTS, INCIDENTS}
        self._changed = asyncio.Event()
        self._stirred = time.monotonic()
        self._tasks: list[asyncio.Task[None]] = []
        self._reported: deque[str] = deque(maxlen=EVENTS_SHOWN)  # by events of jobs and nodes
        self.process_table = ProcessTable()
        self.pods: dict[str, Pod] = {}
        self.nodes: dict[str, Node] = {}
        self.unwell_at: dict[str, float] = {}  # nodes that were well at the last fault: when they were seen not to be
        self.traces: dict[str, Trace] = {}
        self.records: dict[str, Incident] = {}  # the cluster's own, by name
        self.swaps: dict[str, int] = {}  # uids of events that report a swap, with how many times they did

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        takers = {PODS: self._pod, NODES: self._node, EVENTS: self._event, INCIDENTS: self._incident}
        self._tasks = [asyncio.create_task(self._follow(resource, taker)) for resource, taker in takers.items()]
        try:
            await self.until("all there is", lambda: not self._unsynced)
            yield
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    # What is to be seen

    def members(self, gang: str) -> dict[str, Pod]:
        """The gang's pods that are not being deleted, by uid."""
        return {uid: pod for uid, pod in self.pods.items() if pod.gang == gang and pod.stays}

    def whole(self, gangs: Mapping[str, int], lost: Collection[str] = ()) -> bool:
        """Whether each of these gangs has so many running members, none of them on a lost node."""
        for gang, size in gangs.items():
            members = self.members(gang).values()
            if len(members) != size or not all(pod.runs and pod.node not in lost for pod in members):
                return False
        return True

    @property
    def understudies(self) -> int:
        """The number of understudies that run, ready to step in."""
        return sum(pod.is_understudy and pod.runs for pod in self.pods.values())

    def at_peace(self, gangs: Mapping[str, int], understudies: int) -> bool:
        quiet = time.monotonic() - self._stirred >= CALM and self.understudies >= understudies
        return quiet and self.whole(gangs) and all(node.well for node in self.nodes.values())

    async def until(
        self, what: str, seen: Callable[[], bool], every: float | None = None, limit: float = LIMIT
    ) -> None:
        """Waits until `seen` is true. Looks at each change, and also at intervals of `every` where time alone can make
        it true."""
        deadline = time.monotonic() + limit
        while True:
            self._changed.clear()
            for task in self._tasks:
                if task.done():
                    task.result()
            if seen():
                return
            if time.monotonic() > deadline:
                raise NeverSeen(f"never seen within {limit:.0f} s: {what}\n{self.picture()}")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(every or limit):
                    await self._changed.wait()

    async def calm(self, gangs: Mapping[str, int], understudies: int = 0) -> None:
        what = "all gangs whole, understudies ready, nodes well, and nothing stirs"
        await self.until(what, lambda: self.at_peace(gangs, understudies), CALM / 4)

    async def alive(self, uids: Collection[str]) -> float | None:
        """The time at which each of these pods has a living process; None where that was so at the first look."""
        first, bodies = True, {self.pods[uid].body for uid in uids}
        while not self.process_table.look().keys() >= bodies:
            first = False
            await asyncio.sleep(0.001)
        return None if first else time.monotonic()

    def forget_the_gone(self) -> None:
        self.traces = {uid: trace for uid, trace in self.traces.items() if uid in self.pods}

    def picture(self) -> str:
        pods = (
            f"{p.metadata.name} on {p.node or '-'} {p.status.phase}{'' if p.stays else ' leaves'}"
            for p in self.pods.values()
        )
        unwell = (f"node {name} is not well" for name, node in self.nodes.items() if not node.well)
        return "\n".join((*sorted(pods), *unwell, *self._reported))

    # As it comes

    async def _follow(self, resource: Resource, take: Callable[[Change, float], None]) -> None:
        async for change in self._client.follow(resource):
            now = time.monotonic()
            if change.type is ChangeType.SYNCED:
                self._unsynced.discard(resource)
            else:
                take(change, now)
            self._changed.set()

    def _pod(self, change: Change, now: float) -> None:
        pod = api_objects.pod(change.raw)
        trace = self.traces.get(pod.uid)
        if trace is None:
            trace = self.traces[pod.uid] = Trace(pod.metadata.name, pod.gang, pod.place, added=now)
        gone = change.type is ChangeType.DELETED
        _note(trace, pod, gone, now)
        if gone:
            self.pods.pop(pod.uid, None)
        else:
            self.pods[pod.uid] = pod
        self._stirred = now

    def _node(self, change: Change, now: float) -> None:
        node = api_objects.node(change.raw)
        name = node.metadata.name
        if change.type is ChangeType.DELETED:
            self.nodes.pop(name, None)
        else:
            self.nodes[name] = node
        if change.type is ChangeType.DELETED or not node.well:
            self.unwell_at.setdefault(name, now)
        self._stirred = now

    def _event(self, change: Change, _now: float) -> None:
        event = api_objects.event(change.raw)
        about = event.involved_object
        if about.kind != "Pod":
            self._reported.append(f"{about.kind} {about.name} {event.reason}: {event.message}")
        if event.reason == "HotSwapped" and about.kind != "Pod" and change.type != ChangeType.DELETED:
            self.swaps[event.metadata.uid] = max(1, event.count or 1)

    def _incident(self, change: Change, _now: float) -> None:
        if change.type is not ChangeType.DELETED:
            found = incident_of(change.raw)
            self.records[found.name] = found


def _note(trace: Trace, pod: Pod, gone: bool, now: float) -> None:
    trace.node = pod.node or trace.node
    if trace.bound is None and pod.node:
        trace.bound = now
    if trace.running is None and pod.runs:
        trace.running = now
    if trace.disrupted is None and pod.disrupted:
        trace.disrupted = now
    if trace.leaving is None and pod.metadata.deletion_timestamp:
        trace.leaving = now
    if trace.gone is None and (gone or pod.over):
        trace.gone = now
