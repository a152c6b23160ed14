"""Follows a cluster through its API alone: lists, watches from where it was, lists again when the server says that this
is too far back; and keeps every state it is told, with its revision."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Sequence
from typing import Any, cast
from urllib.parse import urlencode

import msgspec

from tests.chaos import api_objects
from tests.chaos.api_objects import (
    JobState,
    ObservedClaim,
    ObservedEvent,
    ObservedIncident,
    ObservedNode,
    ObservedObject,
    PodState,
)
from tests.chaos.workloads import SLICE
from understudy.client import KubeClient
from understudy.client.connection import split_lines
from understudy.kinds.training_operator.pytorchjob import PYTORCH_JOBS
from understudy.objects.resources import (
    CLAIMS,
    EVENTS,
    INCIDENTS,
    JOB_SETS,
    JOBS,
    MPI_JOBS,
    NODES,
    PODS,
    TRAIN_JOBS,
    Resource,
)
from understudy.ports import Refused, Unreachable

JOB_KINDS = (JOBS, JOB_SETS, PYTORCH_JOBS, MPI_JOBS, TRAIN_JOBS)
FOLLOWED = (PODS, *JOB_KINDS, NODES, CLAIMS, EVENTS, INCIDENTS)
WATCH_SECONDS = 15  # a short watch finds out soon that its server stands still
GONE = 410
AGAIN = 0.1

Document = dict[str, Any]


class _Raw(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str


class _List(msgspec.Struct):
    metadata: _ListMeta
    items: list[msgspec.Raw]


_line = msgspec.json.Decoder(_Raw).decode
_list = msgspec.json.Decoder(_List).decode


class Gap(msgspec.Struct, frozen=True):
    """Between these revisions the observer had no watch: what happened there is not reported as a violation."""

    after: int
    until: int


class History(msgspec.Struct):
    """All states that were told, in the order of arrival; sort by revision for the order of the store."""

    pods: list[PodState] = []
    jobs: list[JobState] = []
    events: list[ObservedEvent] = []
    nodes: list[ObservedNode] = []
    claims: list[ObservedClaim] = []
    incidents: list[ObservedIncident] = []
    gaps: list[Gap] = []

    def keep(self, observed: ObservedObject) -> None:
        match observed:
            case PodState():
                self.pods.append(observed)
            case JobState():
                self.jobs.append(observed)
            case ObservedEvent():
                self.events.append(observed)
            case ObservedNode():
                self.nodes.append(observed)
            case ObservedClaim():
                self.claims.append(observed)
            case ObservedIncident():
                self.incidents.append(observed)

    def latest_jobs(self) -> dict[tuple[str, str], JobState]:
        """By kind and name, the last state of each."""
        return {
            (observed.kind, observed.name): observed for observed in sorted(self.jobs, key=lambda one: one.revision)
        }

    def latest_pods(self) -> dict[str, PodState]:
        """By uid, the last state of those that are there."""
        found = {observed.uid: observed for observed in sorted(self.pods, key=lambda one: one.revision)}
        return {uid: observed for uid, observed in found.items() if not observed.gone}

    def latest_nodes(self) -> dict[str, ObservedNode]:
        return {observed.name: observed for observed in sorted(self.nodes, key=lambda one: one.revision)}

    def latest_incidents(self) -> dict[str, ObservedIncident]:
        return {observed.name: observed for observed in sorted(self.incidents, key=lambda one: one.revision)}


class Observer:
    def __init__(self, client: KubeClient, resources: Sequence[Resource] = FOLLOWED) -> None:
        self.history = History()
        self.stirred = asyncio.Event()  # set by every change of pods, jobs and nodes
        self._client = client
        self._resources = resources
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> "Observer":
        ready = [asyncio.Event() for _ in self._resources]
        self._tasks = [
            asyncio.create_task(_Follower(self, resource, event).run())
            for resource, event in zip(self._resources, ready, strict=True)
        ]
        await asyncio.gather(*(event.wait() for event in ready))
        return self

    async def __aexit__(self, *_exc: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def client(self) -> KubeClient:
        return self._client

    def check(self) -> None:
        """Raises what ended a watch for good."""
        for task in self._tasks:
            if task.done():
                task.result()

    async def until_caught_up(self) -> None:
        """Every kind is listed once more: what was stored before this call is known after it."""
        for resource in self._resources:
            found = _list(await insist(lambda r=resource: self._client.request("GET", r.path())))
            for item in found.items:
                self.take(resource, bytes(item), gone=False)

    def take(self, resource: Resource, raw: bytes, gone: bool) -> None:
        at, document = time.monotonic(), msgspec.json.decode(raw)
        if resource is EVENTS:
            self.history.keep(api_objects.observe_event(document, at))
            return
        match resource:
            case r if r is PODS:
                observed: ObservedObject = api_objects.observe_pod(raw, document, at, gone)
            case r if r is NODES:
                observed = api_objects.observe_node(document, at, gone, SLICE)
            case r if r is CLAIMS:
                observed = api_objects.observe_claim(document, at)
            case r if r is INCIDENTS:
                observed = api_objects.observe_incident(document, at, gone)
            case _:
                observed = api_objects.observe_job(document, at, gone)
        self.history.keep(observed)
        self.stirred.set()


class _Follower:
    def __init__(self, observer: Observer, resource: Resource, ready: asyncio.Event) -> None:
        self._observer = observer
        self._resource = resource
        self._ready = ready
        self._revision = 0
        self._known: dict[str, bytes] = {}  # by uid, the last state told

    async def run(self) -> None:
        while True:
            try:
                if not self._revision:
                    await self._list()
                self._ready.set()
                await self._watch()
            except Unreachable:
                await asyncio.sleep(AGAIN)
            except Refused as refused:
                if refused.code == GONE:
                    self._lose_place()
                elif refused.code not in (404, 429) and refused.code < 500:
                    raise
                await asyncio.sleep(AGAIN)

    def _lose_place(self) -> None:
        self._observer.history.gaps.append(Gap(self._revision, 0))
        self._revision = 0

    async def _list(self) -> None:
        found = _list(await self._observer.client.request("GET", self._resource.path()))
        self._revision = int(found.metadata.resource_version)
        gaps = self._observer.history.gaps
        gaps[:] = [gap if gap.until else Gap(gap.after, self._revision) for gap in gaps]
        items = {_uid(item): bytes(item) for item in found.items}
        for uid in self._known.keys() - items.keys():  # gone unseen, at the latest now
            self._observer.take(self._resource, _at_revision(self._known[uid], self._revision), gone=True)
        for raw in items.values():
            self._observer.take(self._resource, raw, gone=False)
        self._known = items

    async def _watch(self) -> None:
        async with contextlib.aclosing(self._lines()) as heard:
            async for line in heard:
                if line.type == "ERROR":
                    self._lose_place()
                    return
                self._revision = int(msgspec.json.decode(line.object)["metadata"]["resourceVersion"])
                if line.type != "BOOKMARK":
                    raw, gone = bytes(line.object), line.type == "DELETED"
                    self._observer.take(self._resource, raw, gone)
                    if gone:
                        self._known.pop(_uid(raw), None)
                    else:
                        self._known[_uid(raw)] = raw

    async def _lines(self) -> AsyncGenerator[_Raw, None]:
        query = {"watch": "true", "resourceVersion": str(self._revision), "timeoutSeconds": str(WATCH_SECONDS)}
        path = f"{self._resource.path()}?{urlencode(query | {'allowWatchBookmarks': 'true'})}"
        pieces = cast("AsyncGenerator[bytes, None]", self._observer.client.stream(path))
        async with contextlib.aclosing(pieces):
            async for text in split_lines(pieces):
                yield _line(text)


async def insist(ask: Any) -> Any:
    """The answer, however often the server has to be asked for it."""
    while True:
        try:
            return await ask()
        except Unreachable:
            await asyncio.sleep(AGAIN)
        except Refused as refused:
            if refused.code < 500 and refused.code != 429:
                raise
            await asyncio.sleep(AGAIN)


def _uid(raw: bytes | msgspec.Raw) -> str:
    return str(msgspec.json.decode(raw)["metadata"]["uid"])


def _at_revision(raw: bytes, revision: int) -> bytes:
    document = msgspec.json.decode(raw)
    document["metadata"]["resourceVersion"] = str(revision)
    return msgspec.json.encode(document)
