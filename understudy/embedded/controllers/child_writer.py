"""Writes what a kind decided about its children, in the required order. Each step can be repeated safely."""

import asyncio
import random
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from understudy.control.record.event_formats import EventSubject
from understudy.embedded.controllers.runtime.event_aggregator import EventAggregator
from understudy.kinds.children.actions import ChildActions, CreateChild, DeleteChild, Document, EventNote, PatchChild
from understudy.objects.resources import Resource
from understudy.ports import Clock, Cluster, PatchForm, Ref, Refused, Unreachable

ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # no vowels, so no words
SUFFIX = 5
NAME_TRIES = 8
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
CONCURRENCY = 8  # writes for one parent: the connections are shared with the scheduling loop and other controllers


class Parent(msgspec.Struct, frozen=True):
    """The object that owns the children, in its last known version."""

    resource: Resource
    document: Document

    @property
    def metadata(self) -> Document:
        found: Document = self.document["metadata"]
        return found

    @property
    def ref(self) -> Ref:
        return Ref(self.resource, self.metadata.get("namespace", ""), self.metadata["name"])

    @property
    def about(self) -> EventSubject:
        api_version = self.document.get("apiVersion", self.resource.api_version)
        ref = self.ref
        return EventSubject(api_version, self.resource.kind, ref.namespace, ref.name, self.metadata["uid"])


class ChildWriter:
    """`deleted` has the uids of children that were deleted here, until the controller sees their deletion."""

    def __init__(self, cluster: Cluster, clock: Clock, recorder: EventAggregator, chance: random.Random) -> None:
        self.deleted: set[str] = set()
        self._fertile: set[str] = set()  # the uids of parents whose last children were all accepted
        self._cluster = cluster
        self._clock = clock
        self._recorder = recorder
        self._chance = chance

    async def apply(self, parent: Parent, wanted: ChildActions) -> bool:
        """Returns whether there was anything to write. Raises Refused; earlier writes stay."""
        namespace = parent.ref.namespace
        wrote = await self._write_status(parent, wanted)
        gone: set[str] = set()  # children that no longer exist, though the watch has not said so yet
        patches = [self._patch(namespace, patch, gone) for patch in wanted.patches]
        if wanted.deletes:  # a new child may need a name, or a place, that a deletion frees
            await _all_of(patches)
            await _all_of(self._delete(parent, delete) for delete in wanted.deletes)
            patches = []
        await _all_of([*patches, self._create_all(parent, wanted.creates)])
        for note in wanted.notes:
            self._tell(parent, note)
        if wanted.expired:
            await self._tolerating(
                self._cluster.delete(parent.ref, uid=parent.metadata["uid"], propagation="Background")
            )
        # A patch of a deleted child is no progress: it would be repeated until the watch shows the deletion.
        patched = any(patch.name not in gone for patch in wanted.patches)
        return wrote or patched or bool(wanted.deletes or wanted.creates)

    def forget(self, uid: str) -> None:
        """Call it when the parent was deleted."""
        self._fertile.discard(uid)

    async def free(self, namespace: str, wanted: ChildActions) -> None:
        """Applies the patches to children whose parent is gone."""
        await _all_of(self._patch(namespace, patch, set()) for patch in wanted.patches)

    async def _write_status(self, parent: Parent, wanted: ChildActions) -> bool:
        if wanted.status is None:
            return False
        change = merge_patch(parent.document.get("status") or {}, wanted.status)
        if not change:
            return False
        seen = {"uid": parent.metadata["uid"], "resourceVersion": parent.metadata["resourceVersion"]}
        patch = {"metadata": seen, "status": change}
        await self._cluster.patch(parent.ref, patch, sub="status", form=PatchForm.MERGE)
        return True

    async def _patch(self, namespace: str, patch: PatchChild, gone: set[str]) -> None:
        """Adds the name to `gone` if the child does not exist."""
        form = PatchForm.JSON if isinstance(patch.patch, list) else PatchForm.MERGE
        ref = Ref(patch.resource, namespace, patch.name)
        try:
            await self._cluster.patch(ref, patch.patch, sub=patch.sub, form=form)
        except Refused as error:
            if error.code != HTTPStatus.NOT_FOUND:
                raise
            gone.add(patch.name)

    async def _delete(self, parent: Parent, delete: DeleteChild) -> None:
        ref = Ref(delete.resource, parent.ref.namespace, delete.name)
        await self._tolerating(
            self._cluster.delete(ref, uid=delete.uid, propagation=delete.propagation),
            HTTPStatus.NOT_FOUND,
            HTTPStatus.CONFLICT,
        )
        if delete.uid:
            self.deleted.add(delete.uid)
        self._tell(parent, delete.note, delete.name)

    async def _tolerating(self, request: Coroutine[Any, Any, Any], *codes: int) -> None:
        """Ignores these refusals: 404 means that the object is gone, 409 that another one took its place."""
        try:
            await request
        except Refused as error:
            if error.code not in (codes or (HTTPStatus.NOT_FOUND,)):
                raise

    async def _create_all(self, parent: Parent, creates: Sequence[CreateChild]) -> None:
        """The first child alone, unless the last ones were all accepted: if it is refused, the others would be too."""
        if not creates:
            return
        uid = parent.metadata["uid"]
        rest = list(creates)
        if uid not in self._fertile:
            await self._create(parent, rest.pop(0))
        self._fertile.discard(uid)
        await _all_of(self._create(parent, create) for create in rest)
        self._fertile.add(uid)

    async def _create(self, parent: Parent, create: CreateChild) -> None:
        place = Ref(create.resource, parent.ref.namespace)
        tries = NAME_TRIES if "name" not in create.document["metadata"] else 1
        while True:
            document = self._named(create.document)
            name: str = document["metadata"]["name"]
            try:
                await self._persist(place, document)
                break
            except Refused as error:
                tries -= 1
                if error.code == HTTPStatus.CONFLICT and create.if_absent:
                    return
                if error.code == HTTPStatus.CONFLICT and tries:
                    continue
                self._tell(parent, EventNote("FailedCreate", f"Error creating: {error.message}", "Warning"))
                raise
        self._tell(parent, create.note, name)

    def _named(self, document: Document) -> Document:
        meta = document["metadata"]
        if "name" in meta:
            return document
        chance = "".join(self._chance.choices(ALPHABET, k=SUFFIX))
        return {**document, "metadata": {**meta, "name": f"{meta['generateName']}{chance}"}}

    async def _persist(self, place: Ref, document: Document) -> None:
        """Tries until there is an answer. After an unanswered request, a conflict means that it created the object."""
        pause, unsure = FIRST_PAUSE, False
        while True:
            try:
                await self._cluster.create(place, document)
                return
            except Unreachable:
                unsure = True
                await self._clock.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
            except Refused as error:
                if not (unsure and error.code == HTTPStatus.CONFLICT):
                    raise
                await self._cluster.get(Ref(place.resource, place.namespace, document["metadata"]["name"]))
                return

    def _tell(self, parent: Parent, note: EventNote | None, name: str = "") -> None:
        if note is not None:
            named = EventNote(note.reason, note.message.replace("{name}", name), note.type) if name else note
            self._recorder.record(parent.about, named)


async def _all_of(requests: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Runs all, then raises the first exception. Requests of other controllers come in between, however many these
    are."""
    waiting = iter(requests)
    failures: list[Exception] = []

    async def worker() -> None:
        for request in waiting:
            try:
                await request
            except Exception as error:
                failures.append(error)

    await asyncio.gather(*(worker() for _ in range(CONCURRENCY)))
    if failures:
        raise failures[0]


def merge_patch(old: Mapping[str, Any], new: Mapping[str, Any]) -> Document:
    """The merge patch from one to the other. Absent and empty values are equal."""
    change: Document = {key: None for key in old if key not in new and not _empty(old[key])}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            if inner := merge_patch(before, value):
                change[key] = inner
        elif value != before and not (_empty(value) and _empty(before)):
            change[key] = value
    return change


def _empty(value: object) -> bool:
    return value is None or value == {} or value == [] or value == ""
