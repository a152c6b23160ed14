"""The controller of one job kind: caches parents and children, lets the kind decide, and writes the result."""

from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec

from understudy.embedded.controllers.child_writer import ChildWriter, Parent
from understudy.embedded.controllers.runtime.controller import ChangeHandler
from understudy.embedded.controllers.runtime.object_version import ObjectChange, observed_as
from understudy.embedded.controllers.runtime.work_queue import WorkQueue
from understudy.kinds.children.actions import NO_ACTIONS, Document, ObservedChildren
from understudy.kinds.children.partial_objects import PartialObject
from understudy.kinds.job_kind import JobController
from understudy.objects.resources import Resource
from understudy.ports import Clock, Refused, Unreachable

MOST_ROUNDS = 20  # decisions per reconcile, so that a kind that always wants more does not block the other keys
QUIET = 0.05  # seconds between two reconciles because of children, so that many changes are one reconcile
SOON = 0.003  # the same after a deletion: a child may be replaced at once, and others may be deleted together with it
PER_CHILD = 100e-6  # seconds added to both for each child, since each reconcile looks at all of them

ChildKey = tuple[str, str, str]  # resource key, namespace, name
Departed = tuple[PartialObject, ...]


class JobKindController:
    """Keys are uids of parents. A child without a parent has a key of its own while the kind wants something of it."""

    def __init__(self, controller: JobController, writer: ChildWriter, clock: Clock) -> None:
        self.name = controller.resource.kind
        self.queue: WorkQueue[str] = WorkQueue(clock)
        self._controller = controller
        self._writer = writer
        self._clock = clock
        self._parents: dict[str, bytes] = {}
        self._children: dict[str, dict[ChildKey, PartialObject]] = {}  # by the uid of the parent
        self._keys: dict[ChildKey, str] = {}
        self._departed: dict[str, list[PartialObject]] = {}  # since the last reconcile, by the uid of the parent
        self._orphans: dict[str, dict[ChildKey, None]] = {}  # of parents that are gone; not released yet
        self._looked: dict[str, float] = {}
        self._consulted: dict[str, dict[tuple[str, str], Document]] = {r.key: {} for r in controller.reads}

    def watches(self) -> Mapping[Resource, ChangeHandler]:
        controller = self._controller
        return {
            controller.resource: self._on_parent,
            **{child: self._child_handler(child) for child in controller.owns},
            **{resource: self._reference_handler(resource) for resource in controller.reads},
        }

    def _on_parent(self, change: ObjectChange) -> None:
        uid = change.read(PartialObject).metadata.uid
        if change.is_deleted:
            self._parents.pop(uid, None)
            self._orphans[uid] = dict.fromkeys(self._children.get(uid, ()))
        else:
            self._parents[uid] = change.raw
        self.queue.add(uid)

    def _child_handler(self, resource: Resource) -> ChangeHandler:
        struct = observed_as(resource)

        def observe(change: ObjectChange) -> None:
            child = change.read(struct)
            meta = child.metadata
            key = (resource.key, meta.namespace, meta.name)
            former, before = self._forget(key)
            owner = None if change.is_deleted else self._owner(resource, child)
            if change.is_deleted:
                self._writer.deleted.discard(meta.uid)
                if former in self._parents:
                    self._departed.setdefault(former, []).append(child)
            elif owner is not None:
                self._keys[key] = owner
                self._children.setdefault(owner, {})[key] = child
                if owner not in self._parents:
                    self._orphans.setdefault(owner, {})[key] = None
                goes = meta.leaving and before is not None and not before.metadata.leaving
                self._touch(owner, SOON if goes else QUIET)
            if former is not None and former != owner and former in self._parents:
                self._touch(former, SOON)

        return observe

    def _reference_handler(self, resource: Resource) -> ChangeHandler:
        """Referenced objects change rarely; every parent is reconciled then."""
        consulted = self._consulted[resource.key]

        def observe(change: ObjectChange) -> None:
            document: Document = msgspec.json.decode(change.raw)
            key = (document["metadata"].get("namespace", ""), document["metadata"]["name"])
            if change.is_deleted:
                consulted.pop(key, None)
            else:
                consulted[key] = document
            for uid in self._parents:
                self._touch(uid)

        return observe

    def _forget(self, key: ChildKey) -> tuple[str | None, PartialObject | None]:
        """Returns the owner it had, and its last version."""
        owner = self._keys.pop(key, None)
        if owner is None:
            return None, None
        siblings = self._children[owner]
        child = siblings.pop(key)
        if not siblings:
            del self._children[owner]
        return owner, child

    def _owner(self, resource: Resource, child: PartialObject) -> str | None:
        controller = child.metadata.controller
        if controller is None:
            alone = ObservedChildren({resource.key: (child,)})
            return None if self._controller.release(alone) == NO_ACTIONS else f"alone {child.metadata.uid}"
        parent = self._controller.resource
        group = controller.api_version.rpartition("/")[0]
        return controller.uid if (group, controller.kind) == (parent.group, parent.kind) else None

    def _touch(self, owner: str, pause: float = QUIET) -> None:
        """Queues the owner, `pause` seconds after its last reconcile at the earliest."""
        pause += PER_CHILD * len(self._children.get(owner, ()))
        self.queue.add_at(owner, self._looked.get(owner, 0.0) + pause)

    async def reconcile(self, key: str) -> float | None:
        for _ in range(MOST_ROUNDS):
            self._looked[key] = self._clock.now()
            raw = self._parents.get(key)
            if raw is None:
                self._looked.pop(key, None)
                self._departed.pop(key, None)
                self._writer.forget(key)
                await self._free(key)
                return None
            self._orphans.pop(key, None)
            parent = Parent(self._controller.resource, msgspec.json.decode(raw))
            observed = self._observed(self._children.get(key, {}), tuple(self._departed.get(key, ())))
            wanted = self._controller.reconcile(parent.document, observed, self._clock.now())
            done = not await self._writer.apply(parent, wanted)
            self._have_been_seen(key, len(observed.departed))
            if done:
                return wanted.again_at
        return self._clock.now() + QUIET

    async def _free(self, key: str) -> None:
        """Each orphan is released once, and again if it changes: the deletion of one is no reason to look at all."""
        siblings, keys = self._children.get(key, {}), self._orphans.pop(key, {})
        orphans = {child: siblings[child] for child in keys if child in siblings}
        if not orphans:
            return
        _, namespace, _ = next(iter(orphans))
        try:
            await self._writer.free(namespace, self._controller.release(self._observed(orphans)))
        except (Refused, Unreachable):
            self._orphans[key] = {**keys, **self._orphans.get(key, {})}
            raise

    def _observed(self, children: Mapping[ChildKey, PartialObject], departed: Departed = ()) -> ObservedChildren:
        found: dict[str, list[PartialObject]] = {}
        for (resource, _, _), child in children.items():
            found.setdefault(resource, []).append(self._as_leaving(child))
        return ObservedChildren(found, self._consulted, departed)

    def _have_been_seen(self, key: str, count: int) -> None:
        """Forgets the departed children that a completed reconcile has seen; more may have departed since."""
        if departed := self._departed.get(key):
            del departed[:count]
            if not departed:
                del self._departed[key]

    def _as_leaving(self, child: PartialObject) -> PartialObject:
        """A child that was deleted here counts as terminating before the watch says so, and is not deleted twice."""
        meta = child.metadata
        if meta.uid not in self._writer.deleted or meta.leaving:
            return child
        leaving = msgspec.structs.replace(meta, deletion_timestamp=datetime.fromtimestamp(self._clock.now(), UTC))
        return msgspec.structs.replace(child, metadata=leaving)
