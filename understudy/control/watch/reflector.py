"""Follows all resources that the loop needs: turns changes in the cluster into objects for one reader."""

import asyncio
import contextlib
import logging
from collections.abc import Iterable
from http import HTTPStatus
from typing import Protocol

import msgspec

from understudy.kinds.decoding import decode_json
from understudy.kinds.registry import KINDS
from understudy.objects import resources
from understudy.objects.errors import BadObject
from understudy.objects.meta import KubeObject, ObjectMeta, title
from understudy.objects.nodes import LEASE_NAMESPACE
from understudy.objects.resources import Resource
from understudy.ports import Change, ChangeType, Clock, ClusterReader, Refused, Unreachable

ABSENT_RETRY = 15.0  # seconds before a kind that the cluster did not serve is asked for again
RETRY = 1.0

_log = logging.getLogger(__name__)


Name = tuple[str, str]  # (namespace, name)


class ObjectHeader(msgspec.Struct, frozen=True, rename="camel"):
    """The part of an object that names it."""

    kind: str
    api_version: str
    metadata: ObjectMeta

    @property
    def title(self) -> str:
        return title(self.kind, self.metadata.namespace, self.metadata.name)


class WatchedResource(msgspec.Struct, frozen=True):
    """A resource to follow: the first of several versions that the cluster serves."""

    versions: tuple[Resource, ...]
    namespace: str = ""
    optional: bool = False  # the cluster need not serve it


WATCHED_RESOURCES = (
    *(
        WatchedResource((resource,))
        for resource in (
            resources.PRIORITY_CLASSES,
            resources.NAMESPACES,
            resources.VOLUMES,
            resources.CLAIMS,
            resources.BUDGETS,
            resources.NODES,
            resources.PODS,
        )
    ),
    WatchedResource((resources.STORAGE_CLASSES,), optional=True),  # a cluster of one machine has none
    WatchedResource((resources.LEASES,), LEASE_NAMESPACE),
    *(
        WatchedResource((resource,), optional=True)
        for resource in (
            resources.TRAINING_RUNTIMES,
            resources.CLUSTER_TRAINING_RUNTIMES,
            resources.COSCHEDULING_GROUPS,
            resources.VOLCANO_GROUPS,
            resources.DRAIN_REQUESTS,
        )
    ),
    WatchedResource(
        (resources.POD_GROUPS, resources.POD_GROUPS_V1ALPHA3, resources.POD_GROUPS_V1ALPHA2),
        optional=True,
    ),
    *(WatchedResource(kind.versions, optional=bool(kind.operator)) for kind in KINDS.values()),
)


class ObjectHandler(Protocol):
    def put(self, obj: KubeObject) -> None: ...

    def remove(self, obj: KubeObject) -> None: ...

    def cannot_read(self, bare: ObjectHeader, error: BadObject, gone: bool) -> None: ...


class Reflector:
    """`synced` is set when every object that existed at the start has been delivered."""

    def __init__(
        self,
        cluster: ClusterReader,
        clock: Clock,
        reader: ObjectHandler,
        sources: Iterable[WatchedResource] = WATCHED_RESOURCES,
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._reader = reader
        self._sources = tuple(sources)
        self._unsynced = set(self._sources)
        self._logged_errors: dict[Resource, str] = {}
        self.synced = asyncio.Event()

    @property
    def unseen(self) -> tuple[str, ...]:
        """Resources whose objects have not all been delivered, by name."""
        return tuple(sorted(source.versions[0].key for source in self._unsynced))

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for source in self._sources:
                group.create_task(self._follow(source))

    async def _follow(self, source: WatchedResource) -> None:
        known: dict[Name, KubeObject] = {}
        while True:
            absent = 0
            for resource in source.versions:
                try:
                    await self._one(source, resource, known)
                except Refused as error:
                    absent += error.code == HTTPStatus.NOT_FOUND
                    if error.code != HTTPStatus.NOT_FOUND or not source.optional:
                        self._log_new_error(resource, error)
                except Unreachable as error:
                    self._log_new_error(resource, error)
            if source.optional and absent == len(source.versions):
                self._forget(known, known)
                self._has_synced(source)
                await self._clock.sleep(ABSENT_RETRY)
            else:
                await self._clock.sleep(RETRY)

    def _log_new_error(self, resource: Resource, error: Exception) -> None:
        """Logs once until the resource is followed again: most likely the next attempt fails in the same way."""
        if self._logged_errors.get(resource) != str(error):
            self._logged_errors[resource] = str(error)
            _log.warning("cannot follow %s: %s", resource.key, error)

    async def _one(self, source: WatchedResource, resource: Resource, known: dict[Name, KubeObject]) -> None:
        """Runs for ever unless it fails. Objects that are known and are not listed again are gone."""
        left = set(known)
        changes = self._cluster.follow(resource, namespace=source.namespace, decoded=True)
        async with contextlib.aclosing(changes):  # type: ignore[type-var]
            async for change in changes:
                if change.type is ChangeType.SYNCED:
                    self._forget(known, left)
                    left = set()
                    self._logged_errors.pop(resource, None)
                    self._has_synced(source)
                else:
                    left.discard(self._take(change, known))

    def _take(self, change: Change, known: dict[Name, KubeObject]) -> Name:
        gone = change.type is ChangeType.DELETED
        try:
            obj = change.obj or decode_json(change.raw)
        except BadObject as error:  # or a deletion without the full object
            return self._set_aside(change.raw, error, gone, known)
        name = (obj.metadata.namespace, obj.metadata.name)
        if gone:
            known.pop(name, None)
            self._reader.remove(obj)
        else:
            known[name] = obj
            self._reader.put(obj)
        return name

    def _set_aside(self, raw: bytes, error: BadObject, gone: bool, known: dict[Name, KubeObject]) -> Name:
        """The last readable state of an object that cannot be read any more counts until the object is gone."""
        try:
            bare = msgspec.json.decode(raw, type=ObjectHeader)
        except msgspec.DecodeError:
            _log.warning("something cannot be read: %s", error)
            return ("", "")
        name = (bare.metadata.namespace or "default", bare.metadata.name)
        before = known.pop(name, None) if gone else None
        if before is not None:
            self._reader.remove(before)
        self._reader.cannot_read(bare, error, gone)
        return name

    def _forget(self, known: dict[Name, KubeObject], gone: Iterable[Name]) -> None:
        for name in list(gone):
            self._reader.remove(known.pop(name))

    def _has_synced(self, source: WatchedResource) -> None:
        self._unsynced.discard(source)
        if not self._unsynced:
            self.synced.set()
