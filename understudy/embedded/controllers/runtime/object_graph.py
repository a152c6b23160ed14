"""The owners and finalizers of all objects of all resources, built in or custom."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any

import msgspec

from understudy.embedded.controllers.runtime.object_version import ObjectChange, ObjectHead
from understudy.embedded.controllers.runtime.shared_cluster import SharedCluster
from understudy.kinds.children.partial_objects import FullOwnerReference
from understudy.objects import resources
from understudy.objects.resources import DEFINITIONS, Resource
from understudy.ports import ChangeType, Clock, Ref, Refused

log = logging.getLogger(__name__)

PAUSE = 1.0  # seconds before a failed watch is tried again
# Without Events: they have no owners, and are too many to cache.
BUILT_IN = (
    resources.NAMESPACES,
    resources.NODES,
    resources.PODS,
    resources.SERVICES,
    resources.ENDPOINTS,
    resources.CONFIG_MAPS,
    resources.SECRETS,
    resources.SERVICE_ACCOUNTS,
    resources.CLAIMS,
    resources.VOLUMES,
    resources.LEASES,
    resources.PRIORITY_CLASSES,
    resources.BUDGETS,
    resources.RESOURCE_QUOTAS,
    resources.LIMIT_RANGES,
    resources.ENDPOINT_SLICES,
    resources.REPLICATION_CONTROLLERS,
    resources.INGRESSES,
    resources.INGRESS_CLASSES,
    resources.NETWORK_POLICIES,
    resources.AUTOSCALERS,
    resources.STORAGE_CLASSES,
    resources.VALIDATING_WEBHOOKS,
    resources.MUTATING_WEBHOOKS,
    resources.VALIDATING_POLICIES,
    resources.VALIDATING_POLICY_BINDINGS,
    resources.MUTATING_POLICIES,
    resources.MUTATING_POLICY_BINDINGS,
    resources.API_SERVICES,
    resources.RUNTIME_CLASSES,
    resources.CSI_DRIVERS,
    resources.POD_TEMPLATES,
    resources.SIGNING_REQUESTS,
    resources.JOBS,
    resources.CRON_JOBS,
    resources.DEPLOYMENTS,
    resources.REPLICA_SETS,
    resources.STATEFUL_SETS,
    resources.DAEMON_SETS,
    resources.CONTROLLER_REVISIONS,
    resources.ROLES,
    resources.ROLE_BINDINGS,
    resources.CLUSTER_ROLES,
    resources.CLUSTER_ROLE_BINDINGS,
    resources.DEFINITIONS,
)


class GraphEntry(msgspec.Struct, frozen=True, gc=False):
    resource: Resource
    meta: ObjectHead

    @property
    def uid(self) -> str:
        return self.meta.uid

    @property
    def ref(self) -> Ref:
        return Ref(self.resource, self.meta.namespace, self.meta.name)

    @property
    def leaving(self) -> bool:
        return bool(self.meta.deletion_timestamp)

    @property
    def owners(self) -> tuple[FullOwnerReference, ...]:
        return self.meta.owner_references


GraphListener = Callable[[GraphEntry | None, GraphEntry | None], None]  # the old and the new entry; None: absent


class ObjectGraph:
    """`run` keeps it up to date. Listeners are called synchronously for every change."""

    def __init__(self, cluster: SharedCluster, clock: Clock) -> None:
        self._cluster = cluster
        self._clock = clock
        self._entries: dict[str, GraphEntry] = {}
        self._dependents: dict[str, set[str]] = {}
        self._by_namespace: dict[str, set[str]] = {}
        self._resources: dict[str, Resource] = {}
        self._synced: set[str] = set()
        self._followers: dict[str, asyncio.Task[None]] = {}
        self._listeners: list[GraphListener] = []

    @property
    def complete(self) -> bool:
        """Whether all objects of all resources are known."""
        return bool(self._resources) and self._synced >= self._resources.keys()

    def get(self, uid: str) -> GraphEntry | None:
        return self._entries.get(uid)

    def dependents(self, uid: str) -> list[GraphEntry]:
        return self._each(self._dependents.get(uid, ()))

    def objects_in_namespace(self, namespace: str) -> list[GraphEntry]:
        return self._each(self._by_namespace.get(namespace, ()))

    def resource(self, api_version: str, kind: str) -> Resource | None:
        group = api_version.rpartition("/")[0]
        return next((r for r in self._resources.values() if (r.group, r.kind) == (group, kind)), None)

    def _each(self, uids: set[str] | tuple[()]) -> list[GraphEntry]:
        return [self._entries[uid] for uid in sorted(uids)]

    def watch(self, listener: GraphListener) -> None:
        """Calls the listener for all known objects, then for every change."""
        self._listeners.append(listener)
        for entry in list(self._entries.values()):
            listener(None, entry)

    async def run(self) -> None:
        """Runs for ever."""
        try:
            for resource in BUILT_IN:
                self._begin(resource)
            await asyncio.Event().wait()
        finally:
            tasks = list(self._followers.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, resource: Resource) -> None:
        if resource.key not in self._resources:
            self._resources[resource.key] = resource
            self._followers[resource.key] = asyncio.create_task(self._follow(resource), name=f"list {resource.key}")

    def _end(self, resource: Resource) -> None:
        if self._resources.pop(resource.key, None) is not None:
            self._followers.pop(resource.key).cancel()

    async def _follow(self, resource: Resource) -> None:
        """Restarts when the watch ends. Its objects are forgotten until then, and `complete` is False."""
        while True:
            subscription = self._cluster.subscribe(resource, lambda change: self._on_change(resource, change))
            try:
                await asyncio.wait([subscription.ended])
            finally:
                subscription.cancel()
                self._forget(resource)
            error = subscription.ended.exception()
            log.info("the watch of %s ended: %s", resource.key, error)
            if isinstance(error, Refused) and error.code == HTTPStatus.NOT_FOUND:  # not served, so it has no objects
                self._synced.add(resource.key)
            await self._clock.sleep(PAUSE)

    def _forget(self, resource: Resource) -> None:
        self._synced.discard(resource.key)
        for uid in [entry.uid for entry in self._entries.values() if entry.resource == resource]:
            self._put(uid, None)

    def _on_change(self, resource: Resource, change: ObjectChange) -> None:
        if change.type is ChangeType.SYNCED:
            self._synced.add(resource.key)
            return
        if resource == DEFINITIONS:
            self._define(change)
        entry = GraphEntry(resource, change.object_version.head)
        self._put(entry.uid, None if change.is_deleted else entry)

    def _define(self, change: ObjectChange) -> None:
        resource = stored_resource(msgspec.json.decode(change.raw))
        if change.is_deleted:
            self._end(resource)
        else:
            self._begin(resource)

    def _put(self, uid: str, after: GraphEntry | None) -> None:
        before = self._entries.pop(uid, None)
        for index, key in _places(before, self._dependents, self._by_namespace):
            index[key].discard(uid)
            if not index[key]:
                del index[key]
        if after is not None:
            self._entries[uid] = after
            for index, key in _places(after, self._dependents, self._by_namespace):
                index.setdefault(key, set()).add(uid)
        if before is not None or after is not None:
            for listener in list(self._listeners):
                listener(before, after)


Index = dict[str, set[str]]


def _places(entry: GraphEntry | None, dependents: Index, objects_in_namespace: Index) -> Iterator[tuple[Index, str]]:
    """The indexes and keys of an entry."""
    if entry is not None:
        for uid in {owner.uid for owner in entry.owners}:
            yield dependents, uid
        if entry.meta.namespace:
            yield objects_in_namespace, entry.meta.namespace


def stored_resource(document: dict[str, Any]) -> Resource:
    """The resource of a CustomResourceDefinition, in its stored version."""
    spec = document["spec"]
    versions = spec["versions"]
    stored = next((version for version in versions if version.get("storage")), versions[0])
    names = spec["names"]
    return Resource(spec["group"], stored["name"], names["plural"], names["kind"], spec["scope"] == "Namespaced")
