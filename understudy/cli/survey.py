"""All that the scheduler of a cluster goes by, read once: lists in pages, with GET alone, into objects and notes."""

import asyncio
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import msgspec

from understudy.control.following import SOURCES, Source
from understudy.kinds.decoding import decode_json
from understudy.objects import resources as known
from understudy.objects.errors import BadObject
from understudy.objects.meta import KubeObject, seconds
from understudy.objects.nodes import Lease
from understudy.objects.resources import Resource
from understudy.ports import Refused

if TYPE_CHECKING:
    from understudy.client import KubeClient

PAGE = 500
TRIES = 3  # a list that takes so long that its pages expire is begun anew
_NEEDED = (known.NODES, known.PODS)  # whoever may not see these sees nothing
_FORBIDDEN, _NOT_FOUND, _EXPIRED = 403, 404, 410


class Survey(msgspec.Struct, frozen=True):
    objects: tuple[KubeObject, ...]  # in the order in which a view wants to be told
    now: float
    notes: tuple[str, ...] = ()  # what could not be seen or read


class _ListMetadata(msgspec.Struct, frozen=True, gc=False):
    more: str = msgspec.field(name="continue", default="")


class _Page(msgspec.Struct, frozen=True):
    metadata: _ListMetadata = _ListMetadata()
    items: list[msgspec.Raw] | None = None


_page = msgspec.json.Decoder(_Page).decode


class Surveyor:
    """Asks a cluster for lists. What it may not see or cannot read, it notes; of nodes and pods that is an error."""

    def __init__(self, client: "KubeClient") -> None:
        self._client = client
        self._hidden: list[str] = []
        self._notes: list[str] = []

    async def survey(self, sources: Iterable[Source] = SOURCES) -> Survey:
        found = await asyncio.gather(*(self._source(source) for source in sources))
        objects = _told_in_order(obj for objects in found for obj in objects)
        if self._hidden:
            self._notes.append(
                f"not allowed to list {', '.join(sorted(self._hidden))}: what they would say is left out"
            )
        return Survey(tuple(objects), _now(objects), tuple(self._notes))

    async def _source(self, source: Source) -> list[KubeObject]:
        for resource in source.versions:
            try:
                items = await self._listed(resource, source.namespace)
            except Refused as error:
                if error.code not in (_FORBIDDEN, _NOT_FOUND) or resource in _NEEDED:
                    raise
                if error.code == _FORBIDDEN:
                    self._hidden.append(resource.key)
                    return []
                continue
            return self._decoded(resource, items)
        return []

    async def _listed(self, resource: Resource, namespace: str) -> list[msgspec.Raw]:
        for _ in range(TRIES - 1):
            try:
                return await self._pages(resource, namespace)
            except Refused as error:
                if error.code != _EXPIRED:
                    raise
        return await self._pages(resource, namespace)

    async def _pages(self, resource: Resource, namespace: str) -> list[msgspec.Raw]:
        items: list[msgspec.Raw] = []
        query = {"limit": str(PAGE)}
        while True:
            answer = await self._client.request("GET", f"{resource.path(namespace)}?{urlencode(query)}")
            page = _page(answer)
            items += page.items or ()
            if not page.metadata.more:
                return items
            query["continue"] = page.metadata.more

    def _decoded(self, resource: Resource, items: Iterable[msgspec.Raw]) -> list[KubeObject]:
        """What cannot be read is passed over, as the scheduler does."""
        head = msgspec.json.encode({"apiVersion": resource.api_version, "kind": resource.kind})[:-1] + b","
        found = []
        for item in items:  # the items of a list leave it to the list to say what they are
            try:
                found.append(decode_json(head + bytes(item).lstrip()[1:]))
            except BadObject as error:
                self._notes.append(f"{error}; passed over")
        return found


def _told_in_order(objects: Iterable[KubeObject]) -> list[KubeObject]:
    """Leases last, the newest first: it says until when nodes could be heard, and so how old the others are."""

    def order(obj: KubeObject) -> tuple[bool, float]:
        return (isinstance(obj, Lease), -(_renewed(obj) or 0.0))

    return sorted(objects, key=order)


def _now(objects: Iterable[KubeObject]) -> float:
    """By our clock, which may be behind that of the cluster: what it has written has happened."""
    return max((time.time(), *(renewed for obj in objects if (renewed := _renewed(obj)) is not None)))


def _renewed(obj: KubeObject) -> float | None:
    return seconds(obj.spec.renew_time) if isinstance(obj, Lease) else None
