"""Namespaces in deletion: deletes all objects in them, then removes their finalizer."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from http import HTTPStatus

import msgspec

from understudy.embedded.controllers.runtime.controller import ChangeHandler
from understudy.embedded.controllers.runtime.object_graph import GraphEntry, ObjectGraph
from understudy.embedded.controllers.runtime.shared_cluster import list_objects
from understudy.embedded.controllers.runtime.work_queue import WorkQueue
from understudy.kinds.children.actions import Document
from understudy.kinds.children.partial_objects import PartialObject
from understudy.objects.resources import EVENTS, NAMESPACES, Resource
from understudy.ports import Clock, Cluster, Ref, Refused

PAUSE = 1.0  # seconds until objects that still exist are checked again
AT_ONCE = 32

Replace = Callable[[str, Document], Awaitable[object]]  # a PUT: the finalizers of a namespace change in no other way
_read = msgspec.json.Decoder(PartialObject).decode


class NamespaceLifecycleController:
    """Keys are names of namespaces."""

    name = "namespace lifecycle"

    def __init__(self, graph: ObjectGraph, cluster: Cluster, clock: Clock, replace: Replace) -> None:
        self.queue: WorkQueue[str] = WorkQueue(clock)
        self._graph = graph
        self._cluster = cluster
        self._clock = clock
        self._replace = replace
        self._leaving: dict[str, GraphEntry] = {}
        graph.watch(self._on_change)

    def watches(self) -> Mapping[Resource, ChangeHandler]:
        return {}

    def _on_change(self, before: GraphEntry | None, after: GraphEntry | None) -> None:
        entry = after or before
        if entry is None:
            return
        if entry.resource == NAMESPACES:
            self._leaving.pop(entry.meta.name, None)
            if after is not None and after.leaving:
                self._leaving[after.meta.name] = after
                self.queue.add(after.meta.name)
        elif entry.meta.namespace in self._leaving:
            self.queue.add(entry.meta.namespace)

    async def reconcile(self, key: str) -> float | None:
        namespace = self._leaving.get(key)
        if namespace is None:
            return None
        if not self._graph.complete:
            return self._clock.now() + PAUSE
        if objects_in_namespace := self._graph.objects_in_namespace(key):
            await self._delete_all((entry.ref, entry.uid) for entry in objects_in_namespace if not entry.leaving)
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
                await self._delete_if_there(ref, uid)

        await asyncio.gather(*(delete(ref, uid) for ref, uid in objects))

    async def _delete_if_there(self, ref: Ref, uid: str) -> None:
        try:
            await self._cluster.delete(ref, uid=uid, propagation="Background")
        except Refused as error:
            if error.code not in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):
                raise

    async def _finalize(self, namespace: GraphEntry) -> None:
        try:
            document = msgspec.json.decode(await self._cluster.get(namespace.ref))
            if document["metadata"]["uid"] == namespace.uid:
                document["spec"]["finalizers"] = []
                await self._replace(namespace.ref.path("finalize"), document)
        except Refused as error:
            if error.code != HTTPStatus.NOT_FOUND:
                raise
