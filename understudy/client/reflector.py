"""Lists and watches a resource for ever: one stream of changes without gaps and without repetitions."""

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncGenerator, Iterator
from http import HTTPStatus
from urllib.parse import urlencode

import msgspec

from understudy.client.connection import split_lines
from understudy.client.errors import error_from, successful_body
from understudy.client.pool import ConnectionPool, StreamSilent
from understudy.client.watch_decoder import ERROR, ObjectKey, ObservedObject, WatchDecoder
from understudy.objects.resources import Resource
from understudy.ports import Change, ChangeType, Refused, Unreachable

PAGE = 500
WATCH_SECONDS = (240, 480)  # requested duration of a watch; random, so that watches do not all end together
OVERTIME = 30.0  # seconds beyond that after which the server is taken to have stopped
FIRST_PAUSE, LONGEST_PAUSE, LONGER = 0.02, 2.0, 1.5
SPREAD = 0.5  # seconds over which reflectors list again after an expired revision: all expire together
SETTLED = 1.0  # seconds after which a silent watch counts as quiet, not as failing
# responses that a retry will not change
_FINAL = {
    HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND,
    HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_ACCEPTABLE, HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
}  # fmt: skip


class Selection(msgspec.Struct, frozen=True):
    """The objects of a resource to follow."""

    resource: Resource
    namespace: str = ""
    labels: str = ""
    fields: str = ""
    decoded: bool = False

    def path(self, **query: str) -> str:
        if self.labels:
            query["labelSelector"] = self.labels
        if self.fields:
            query["fieldSelector"] = self.fields
        return f"{self.resource.path(self.namespace)}?{urlencode(query)}"


class _KnownObject(msgspec.Struct, gc=False):
    """The last state reported of an object. Its text is kept for readers of texts: a later list may show that the
    object is gone, and the change to report then needs its last state."""

    uid: str
    revision: str
    raw: bytes


class _RevisionExpired(Exception):
    """The server no longer has the events since the last revision; a new list is needed."""


class Reflector:
    """`changes` may be called once."""

    def __init__(
        self, pool: ConnectionPool, selection: Selection, chance: random.Random, silence: float | None = None
    ) -> None:
        """A watch without data for `silence` seconds is opened again. This detects a lost server."""
        self._pool = pool
        self._silence = silence
        self._selection = selection
        self._chance = chance
        self._reading = WatchDecoder(selection.resource, selection.decoded)
        self._known: dict[ObjectKey, _KnownObject] = {}
        self._revision = ""  # where to continue watching; '': a list comes first
        self._failures = 0  # in a row
        self._told_at = time.monotonic()  # when the reported state was last known to be complete

    @property
    def age(self) -> float:
        """Seconds, by a clock that all threads share and that runs while an event loop is blocked."""
        return time.monotonic() - self._told_at

    async def changes(self) -> AsyncGenerator[Change, None]:
        """Raises Refused if these cannot be listed at all: no such resource, or no permission."""
        synced = False
        while True:
            try:
                if not self._revision:
                    async for change in self._listed():
                        yield change
                if not synced:
                    synced = True
                    yield Change(ChangeType.SYNCED)
                async with contextlib.aclosing(self._watched()) as watched:
                    async for change in watched:
                        yield change
            except _RevisionExpired:
                await self._lose_place()
            except Refused as error:
                if error.code in _FINAL and not self._revision:
                    raise
                if error.code in _FINAL or error.code == HTTPStatus.GONE:
                    await self._lose_place()
            except StreamSilent:
                continue
            except (Unreachable, msgspec.DecodeError):
                pass
            else:
                continue
            await self._pause()

    async def _listed(self) -> AsyncGenerator[Change, None]:
        """Yields the difference between the listed objects and those reported before."""
        left = set(self._known)
        more, first = "", True
        while first or more:
            query = {"limit": str(PAGE), **({"continue": more} if more else {})}
            page = self._reading.page(successful_body(await self._pool.fetch("GET", self._selection.path(**query))))
            for observed in page.objects:
                left.discard(observed.key)
                for change in self._changes(observed):
                    yield change
            more, first = page.more, False
        for key in left:
            yield self._gone(key, self._known.pop(key))
        self._revision = page.revision or "0"

    async def _watched(self) -> AsyncGenerator[Change, None]:
        """Ends when the server ends the watch, as it does every few minutes."""
        loop = asyncio.get_running_loop()
        seconds = self._chance.randint(*WATCH_SECONDS)
        path = self._selection.path(
            watch="true", allowWatchBookmarks="true", resourceVersion=self._revision, timeoutSeconds=str(seconds)
        )
        async with self._pool.stream(path, seconds + OVERTIME, self._silence) as (status, pieces):
            if status != HTTPStatus.OK:
                raise error_from(status, b"".join([piece async for piece in pieces]))
            self._told_at = time.monotonic()
            steady_at, silent = loop.time() + SETTLED, True
            try:
                async for text in split_lines(pieces):
                    silent = False
                    for change in self._heard(*self._reading.line(text)):
                        yield change
            finally:
                if loop.time() >= steady_at:
                    self._failures = 0
        if loop.time() < steady_at and silent:
            raise Unreachable("the watch ended at once")

    def _heard(self, happened: str, observed: ObservedObject) -> Iterator[Change]:
        if happened == ERROR:
            raise _RevisionExpired
        self._failures = 0
        self._told_at = time.monotonic()
        if happened == "DELETED":
            self._known.pop(observed.key, None)
            yield Change(ChangeType.DELETED, observed.raw, observed.obj)
        elif happened != "BOOKMARK":
            yield from self._changes(observed)
        self._revision = observed.revision or self._revision

    def _changes(self, observed: ObservedObject) -> Iterator[Change]:
        """The changes that report this state: none if it was reported before."""
        before = self._known.get(observed.key)
        if before is not None and before.uid != observed.uid:  # replaced by a new object of the same name in between
            yield self._gone(observed.key, before)
            before = None
        kept = b"" if self._selection.decoded else observed.raw
        self._known[observed.key] = _KnownObject(observed.uid, observed.revision, kept)
        if before is None:
            yield Change(ChangeType.ADDED, observed.raw, observed.obj)
        elif before.revision != observed.revision:
            yield Change(ChangeType.MODIFIED, observed.raw, observed.obj)

    def _gone(self, key: ObjectKey, seen: _KnownObject) -> Change:
        return Change(ChangeType.DELETED, seen.raw or self._reading.gone(key, seen.uid))

    async def _lose_place(self) -> None:
        """The next step is a new list. If a list expired between two pages, it is read again from the start: its
        objects stay reported, and deletions are reported only after a complete list."""
        self._revision = ""
        await asyncio.sleep(self._chance.uniform(0.0, SPREAD))

    async def _pause(self) -> None:
        """Longer with every failure in a row, and randomized, so that reflectors do not retry in step."""
        longest = min(FIRST_PAUSE * LONGER ** min(self._failures, 20), LONGEST_PAUSE)
        self._failures += 1
        await asyncio.sleep(longest * self._chance.uniform(0.5, 1.0))
