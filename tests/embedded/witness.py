"""Sees everything that happens in a cluster, through the API, and checks at every change that the rules are kept.

Tests wait for what they expect to see; nobody sleeps and hopes.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any, TypeVar

import msgspec

from tests.decide import rules
from understudy.control.troubles import Troubles
from understudy.control.view import View
from understudy.embedded.control_role import EMBEDDED
from understudy.model.snapshot import Snapshot
from understudy.objects import resources
from understudy.objects.decoding import decode_json
from understudy.objects.errors import BadObject
from understudy.objects.resources import EVENTS, LEASES, PODS, Resource
from understudy.ports import Change, ChangeType, Cluster

Document = dict[str, Any]
Found = TypeVar("Found")

PATIENCE = 30.0  # seconds; what is waited for takes a fraction of one on a machine that has nothing else to do

_SEEN_ONLY = (EVENTS, resources.SERVICES, resources.CONFIG_MAPS)  # the view has no use for these
_FOLLOWED = (
    resources.PRIORITY_CLASSES,
    resources.NAMESPACES,
    resources.BUDGETS,
    resources.NODES,
    LEASES,
    PODS,
    resources.JOBS,
    resources.JOB_SETS,
    *_SEEN_ONLY,
)


class Witness:
    def __init__(self, cluster: Cluster, followed: Iterable[Resource]) -> None:
        self._cluster = cluster
        self._documents: dict[Resource, dict[tuple[str, str], Document]] = {one: {} for one in followed}
        self._unsynced = set(self._documents)
        self._changed = asyncio.Event()
        self.view = View(limits=EMBEDDED.limits, troubles=Troubles())
        self.wrong: list[str] = []
        self.stirred_at = time.monotonic()  # when something happened last, but for leases and what people are told

    @staticmethod
    @contextlib.asynccontextmanager
    async def of(cluster: Cluster, definitions: Iterable[Document] = ()) -> AsyncIterator["Witness"]:
        witness = Witness(cluster, (*_FOLLOWED, *_defined(definitions)))
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(witness._follow(resource)) for resource in witness._documents]
            await witness.until("everything has been seen once", lambda: not witness._unsynced)
            try:
                yield witness
            finally:
                for task in tasks:
                    task.cancel()

    # What is to be seen

    def all(self, resource: Resource) -> list[Document]:
        return [document for _, document in sorted(self._documents[resource].items())]

    def find(self, resource: Resource, name: str, namespace: str = "default") -> Document | None:
        return self._documents[resource].get((namespace if resource.namespaced else "", name))

    def pods_of(self, job: str) -> list[Document]:
        """The pods of a Job or JobSet that are there, or the pod of that name."""
        labels = ("batch.kubernetes.io/job-name", "jobset.sigs.k8s.io/jobset-name", "training.kubeflow.org/job-name")
        return [
            pod
            for pod in self.all(PODS)
            if pod["metadata"]["name"] == job
            or any(pod["metadata"].get("labels", {}).get(label) == job for label in labels)
        ]

    def told(self, kind: str, name: str, reason: str) -> list[str]:
        """The messages of events with this reason, about an object, or about any whose name begins so."""
        return [
            event["message"]
            for event in self.all(EVENTS)
            if event["involvedObject"]["kind"] == kind
            and event["involvedObject"]["name"].startswith(name)
            and event["reason"] == reason
        ]

    async def until(self, what: str, seen: Callable[[], Found]) -> Found:
        """Returns what is seen as soon as it is something."""
        deadline = time.monotonic() + PATIENCE
        while True:
            self._changed.clear()
            if found := seen():
                return found
            try:
                async with asyncio.timeout(deadline - time.monotonic()):
                    await self._changed.wait()
            except TimeoutError:
                raise AssertionError(f"never seen: {what}\n" + "\n".join(self._picture())) from None

    def _picture(self) -> Iterator[str]:
        for pod in self.all(PODS):
            meta, status = pod["metadata"], pod.get("status", {})
            leaving = " leaving" if "deletionTimestamp" in meta else ""
            conditions = [c.get("message") for c in status.get("conditions", ()) if c.get("message")]
            yield f"pod {meta['name']} on {pod['spec'].get('nodeName')} {status.get('phase')}{leaving} {conditions}"
        for event in self.all(EVENTS)[-20:]:
            yield f"{event['involvedObject']['name']} {event['reason']}: {event['message']}"

    def snapshot(self) -> Snapshot:
        return self.view.snapshot(time.time())

    # As it comes

    async def _follow(self, resource: Resource) -> None:
        async for change in self._cluster.follow(resource):
            if change.type is ChangeType.SYNCED:
                self._unsynced.discard(resource)
            else:
                self._take(resource, change)
            self._changed.set()

    def _take(self, resource: Resource, change: Change) -> None:
        document = msgspec.json.decode(change.raw)
        meta = document["metadata"]
        key = (meta.get("namespace", ""), meta["name"])
        gone = change.type is ChangeType.DELETED
        if gone:
            self._documents[resource].pop(key, None)
        else:
            self._documents[resource][key] = document
        if resource not in _SEEN_ONLY:
            self._show(change.raw, gone)
        if resource is PODS:
            self._check()
        if resource not in (LEASES, EVENTS):
            self.stirred_at = time.monotonic()

    def _show(self, raw: bytes, gone: bool) -> None:
        with contextlib.suppress(BadObject):  # whoever decides passes over it as well
            (self.view.remove if gone else self.view.put)(decode_json(raw))

    def _check(self) -> None:
        if self._unsynced:
            return
        board = rules.board_of(self.snapshot())
        for words in rules.overfull(board) + rules.quarrels(board):
            if words not in self.wrong:
                self.wrong.append(words)


def _defined(definitions: Iterable[Document]) -> Iterator[Resource]:
    for definition in definitions:
        spec = definition["spec"]
        version = spec["versions"][0]["name"]
        yield Resource(spec["group"], version, spec["names"]["plural"], spec["names"]["kind"])
