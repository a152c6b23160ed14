"""Deletes objects whose owners are gone, and carries out foreground and orphan deletion of owners."""

import enum
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import NamedTuple, assert_never

import msgspec

from understudy.embedded.controllers.runtime.controller import ChangeHandler
from understudy.embedded.controllers.runtime.object_graph import GraphEntry, ObjectGraph
from understudy.embedded.controllers.runtime.work_queue import WorkQueue
from understudy.kinds.children.actions import finalizer_removal
from understudy.kinds.children.partial_objects import FullOwnerReference
from understudy.objects.resources import Resource
from understudy.ports import Clock, Cluster, PatchForm, Ref, Refused

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
INCOMPLETE_PAUSE = 0.5


class OwnerState(enum.Enum):
    """The state of one owner of an object."""

    THERE = enum.auto()
    WAITING = enum.auto()  # in foreground deletion: it waits for its dependents
    GONE = enum.auto()
    UNKNOWN = enum.auto()  # of a kind that is not served


class Keep(NamedTuple):
    pass


class Unlink(NamedTuple):
    """Remove these owner references; the object has other owners."""

    uids: frozenset[str]


class Remove(NamedTuple):
    propagation: str


Decision = Keep | Unlink | Remove


def decide_collection(
    owners: Sequence[tuple[FullOwnerReference, OwnerState]], dependents: Sequence[GraphEntry]
) -> Decision:
    """What to do with an object that has owners. `dependents` are the objects it owns itself."""
    states = {state for _, state in owners}
    if OwnerState.UNKNOWN in states:
        return Keep()
    lost = frozenset(owner.uid for owner, state in owners if state is not OwnerState.THERE)
    if OwnerState.THERE in states:
        return Unlink(lost) if lost else Keep()
    # A cycle of owners must be broken somewhere.
    waits = OwnerState.WAITING in states and dependents and not any(entry.leaving for entry in dependents)
    return Remove("Foreground" if waits else "Background")


class _Uid(msgspec.Struct, gc=False):
    uid: str = ""


class _Head(msgspec.Struct, gc=False):
    metadata: _Uid


_head = msgspec.json.Decoder(_Head).decode


class GarbageCollector:
    """Keys are uids. An owner that the graph does not know is gone only if the API confirms it."""

    name = "garbage collector"

    def __init__(self, graph: ObjectGraph, cluster: Cluster, clock: Clock) -> None:
        self.queue: WorkQueue[str] = WorkQueue(clock)
        self._graph = graph
        self._cluster = cluster
        self._clock = clock
        self._absent: dict[str, None] = {}  # uids that the API confirmed to be absent, so that a thousand pods ask once
        graph.watch(self._on_change)

    def watches(self) -> Mapping[Resource, ChangeHandler]:
        return {}

    def _on_change(self, before: GraphEntry | None, after: GraphEntry | None) -> None:
        entry = after or before
        if entry is None or (before is not None and after is not None and _ties(before) == _ties(after)):
            return
        if after is not None and (after.owners or after.leaving):
            self.queue.add(after.uid)
        if after is None or after.leaving:
            for dependent in self._graph.dependents(entry.uid):
                self.queue.add(dependent.uid)
        if before is not None and (after is None or after.owners != before.owners):
            for owner in before.owners:  # an owner in foreground deletion has one dependent less
                self.queue.add(owner.uid)

    async def reconcile(self, key: str) -> float | None:
        entry = self._graph.get(key)
        if entry is None:
            return None
        if not self._graph.complete:
            return self._clock.now() + INCOMPLETE_PAUSE
        if entry.leaving:
            await self._leave(entry)
        elif entry.owners:
            await self._consider(entry)
        return None

    async def _leave(self, entry: GraphEntry) -> None:
        dependents = self._graph.dependents(entry.uid)
        if ORPHAN in entry.meta.finalizers:
            for dependent in dependents:
                await self._unlink(dependent, frozenset({entry.uid}))
            await self._remove_finalizer(entry, ORPHAN)
        elif FOREGROUND in entry.meta.finalizers and not any(_blocks(each, entry.uid) for each in dependents):
            await self._remove_finalizer(entry, FOREGROUND)

    async def _consider(self, entry: GraphEntry) -> None:
        states = [(owner, await self._owner_state(entry, owner)) for owner in entry.owners]
        decision = decide_collection(states, self._graph.dependents(entry.uid))
        match decision:
            case Keep():
                pass
            case Unlink(uids):
                await self._unlink(entry, uids)
            case Remove(propagation):
                await self._remove(entry, propagation)
            case _:
                assert_never(decision)

    async def _owner_state(self, entry: GraphEntry, owner: FullOwnerReference) -> OwnerState:
        known = self._graph.get(owner.uid)
        if known is not None and known.meta.namespace in ("", entry.meta.namespace):
            waiting = known.leaving and FOREGROUND in known.meta.finalizers
            return OwnerState.WAITING if waiting else OwnerState.THERE
        if owner.uid in self._absent:
            return OwnerState.GONE
        resource = self._graph.resource(owner.api_version, owner.kind)
        if resource is None or (resource.namespaced and not entry.meta.namespace):
            return OwnerState.UNKNOWN
        if await self._exists(
            Ref(resource, entry.meta.namespace if resource.namespaced else "", owner.name), owner.uid
        ):
            return OwnerState.THERE
        self._absent[owner.uid] = None
        if len(self._absent) > 1000:
            del self._absent[next(iter(self._absent))]
        return OwnerState.GONE

    async def _exists(self, ref: Ref, uid: str) -> bool:
        try:
            return _head(await self._cluster.get(ref)).metadata.uid == uid
        except Refused as error:
            if error.code != HTTPStatus.NOT_FOUND:
                raise
            return False

    async def _unlink(self, entry: GraphEntry, uids: frozenset[str]) -> None:
        kept = [msgspec.to_builtins(owner) for owner in entry.owners if owner.uid not in uids]
        change = {
            "metadata": {"ownerReferences": kept, "uid": entry.uid, "resourceVersion": entry.meta.resource_version}
        }
        await self._patch(entry, change)

    async def _remove_finalizer(self, entry: GraphEntry, finalizer: str) -> None:
        await self._patch(entry, finalizer_removal(entry.uid, entry.meta.finalizers, finalizer))

    async def _patch(self, entry: GraphEntry, patch: object) -> None:
        form = PatchForm.JSON if isinstance(patch, list) else PatchForm.MERGE
        try:
            await self._cluster.patch(entry.ref, patch, form=form)
        except Refused as error:
            if error.code != HTTPStatus.NOT_FOUND:
                raise

    async def _remove(self, entry: GraphEntry, propagation: str) -> None:
        try:
            await self._cluster.delete(entry.ref, uid=entry.uid, propagation=propagation)
        except Refused as error:
            if error.code not in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):  # gone, or replaced by another object
                raise


def _ties(entry: GraphEntry) -> tuple[object, ...]:
    """The parts of an object that garbage collection depends on."""
    return entry.owners, entry.leaving, entry.meta.finalizers


def _blocks(dependent: GraphEntry, uid: str) -> bool:
    return any(owner.uid == uid and owner.block_owner_deletion for owner in dependent.owners)
