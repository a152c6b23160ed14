"""Namespaces that are being deleted: everything in them is deleted, and when nothing is left they may go."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping

import msgspec

from understudy.embedded.controllers.runtime.controller import ChangeHandler
from understudy.embedded.controllers.runtime.listing import list_objects
from understudy.embedded.controllers.runtime.object_graph import GraphEntry, ObjectGraph
from understudy.embedded.controllers.runtime.work_queue import WorkQueue
from understudy.kinds.children.actions import Document
from understudy.kinds.children.partial_objects import PartialObject
from understudy.objects.resources import EVENTS, NAMESPACES, Resource
from understudy.ports import Clock, Cluster, Ref, Refused

PAUSE = 1.0  # seconds until what does not want to go is looked at again
AT_ONCE = 32

Replace = Callable[[str, Document], Awaitable[object]]  # a PUT: nothing else changes who holds a namespace
_read = msgspec.json.Decoder(PartialObject).decode


class NamespaceLifecycleController:
    """Works by the name of the namespace."""

    name = "namespace emptier"

    def __init__(self, catalogue: ObjectGraph, cluster: Cluster, clock: Clock, replace: Replace) -> None:
        self.worklist: WorkQueue[str] = WorkQueue(clock)
        self._catalogue = catalogue
        self._cluster = cluster
        self._clock = clock
        self._replace = replace
        self._leaving: dict[str, GraphEntry] = {}
        catalogue.watch(self._hear)

    def hearings(self) -> Mapping[Resource, ChangeHandler]:
        return {}

    def _hear(self, before: GraphEntry | None, after: GraphEntry | None) -> None:
        entry = after or before
        if entry is None:
            return
        if entry.resource == NAMESPACES:
            self._leaving.pop(entry.meta.name, None)
            if after is not None and after.leaving:
                self._leaving[after.meta.name] = after
                self.worklist.add(after.meta.name)
        elif entry.meta.namespace in self._leaving:
            self.worklist.add(entry.meta.namespace)

    async def settle(self, key: str) -> float | None:
        namespace = self._leaving.get(key)
        if namespace is None:
            return None
        if not self._catalogue.complete:
            return self._clock.now() + PAUSE
        if inhabitants := self._catalogue.inhabitants(key):
            await self._delete_all((entry.ref, entry.uid) for entry in inhabitants if not entry.leaving)
            return self._clock.now() + PAUSE
        if events := await list_objects(self._cluster, EVENTS, key):
            metas = [_read(raw).metadata for raw in events]
            await self._delete_all((Ref(EVENTS, key, meta.name), meta.uid) for meta in metas)
            return self._clock.now()
        await self._finalize(namespace)
        return None

    async def _delete_all(self, objects: Iterable[tuple[Ref, str]]) -> None:
        gate = asyncio.Semaphore(AT_ONCE)

        async def delete(ref: Ref, uid: str) -> None:
            async with gate:
                await self._forgiving_delete(ref, uid)

        await asyncio.gather(*(delete(ref, uid) for ref, uid in objects))

    async def _forgiving_delete(self, ref: Ref, uid: str) -> None:
        try:
            await self._cluster.delete(ref, uid=uid, propagation="Background")
        except Refused as error:
            if error.code not in (404, 409):
                raise

    async def _finalize(self, namespace: GraphEntry) -> None:
        try:
            document = msgspec.json.decode(await self._cluster.get(namespace.ref))
            if document["metadata"]["uid"] == namespace.uid:
                document["spec"]["finalizers"] = []
                await self._replace(namespace.ref.path("finalize"), document)
        except Refused as error:
            if error.code != 404:
                raise
