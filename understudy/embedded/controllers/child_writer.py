"""Carries out what a kind wants of its children, in the order it must be done, each step safe to be done again."""

import asyncio
import random
from collections.abc import Coroutine, Iterable, Mapping, Sequence
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


class Parent(msgspec.Struct, frozen=True):
    """The object whose children are looked after, as it was last seen."""

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
    """`deleted` are the uids of children it has deleted; whoever sees one of them gone may discard it."""

    def __init__(self, cluster: Cluster, clock: Clock, recorder: EventAggregator, chance: random.Random) -> None:
        self.deleted: set[str] = set()
        self._fertile: set[str] = set()  # the uids of parents whose last children were all taken
        self._cluster = cluster
        self._clock = clock
        self._recorder = recorder
        self._chance = chance

    async def apply(self, parent: Parent, wanted: ChildActions) -> bool:
        """Whether anything was to be done. Raises what the cluster said no with; what was done until then is done."""
        namespace = parent.ref.namespace
        wrote = await self._write_status(parent, wanted)
        gone: set[str] = set()  # children that are not there any more, whatever the watch says
        patches = [self._patch(namespace, patch, gone) for patch in wanted.patches]
        if wanted.deletes:  # whoever is made may need a name, or a place, that is to become free first
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
        # A patch of what is gone changes nothing: to look again at once would send it again, until the watch tells.
        patched = any(patch.name not in gone for patch in wanted.patches)
        return wrote or patched or bool(wanted.deletes or wanted.creates)

    def forget(self, uid: str) -> None:
        """The parent is gone."""
        self._fertile.discard(uid)

    async def free(self, namespace: str, wanted: ChildActions) -> None:
        """What is wanted of children who have no parent any more: only patches."""
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
        """Adds the name of a child that is not there to `gone`."""
        form = PatchForm.JSON if isinstance(patch.patch, list) else PatchForm.MERGE
        ref = Ref(patch.resource, namespace, patch.name)
        try:
            await self._cluster.patch(ref, patch.patch, form=form)
        except Refused as error:
            if error.code != 404:
                raise
            gone.add(patch.name)

    async def _delete(self, parent: Parent, delete: DeleteChild) -> None:
        ref = Ref(delete.resource, parent.ref.namespace, delete.name)
        await self._tolerating(self._cluster.delete(ref, uid=delete.uid, propagation=delete.propagation), 404, 409)
        self.deleted.add(delete.uid)
        self._tell(parent, delete.note, delete.name)

    async def _tolerating(self, request: Coroutine[Any, Any, Any], *codes: int) -> None:
        """What is gone already needs nothing more; with 409 also what has been replaced."""
        try:
            await request
        except Refused as error:
            if error.code not in (codes or (404,)):
                raise

    async def _create_all(self, parent: Parent, creates: Sequence[CreateChild]) -> None:
        """The first alone, unless all went well the last time: where it is refused, so would be the others."""
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
                if error.code == 409 and tries:
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
        """Until there is an answer: an object that was made without our hearing of it has the same name."""
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
                if not (unsure and error.code == 409):
                    raise
                await self._cluster.get(Ref(place.resource, place.namespace, document["metadata"]["name"]))
                return

    def _tell(self, parent: Parent, note: EventNote | None, name: str = "") -> None:
        if note is not None:
            told = EventNote(note.reason, note.message.replace("{name}", name), note.type) if name else note
            self._recorder.record(parent.about, told)


async def _all_of(requests: Iterable[Coroutine[Any, Any, None]]) -> None:
    """All are tried; then the first that failed is told."""
    for result in await asyncio.gather(*requests, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result


def merge_patch(old: Mapping[str, Any], new: Mapping[str, Any]) -> Document:
    """The merge patch from one to the other. Nothing and something empty are the same."""
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
