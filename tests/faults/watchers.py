"""Watchers that write down all they are told: one that speaks to the API itself, one that uses `follow`."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import cast
from urllib.parse import urlencode

import msgspec

from tests.faults.server_process import LOOK
from tests.faults.writers import NAMESPACE, State, decode
from understudy.client import KubeClient
from understudy.client.connection import split_lines
from understudy.objects.resources import CONFIG_MAPS
from understudy.ports import Change, ChangeType, Unreachable


class Told(msgspec.Struct, frozen=True):
    type: str
    state: State


class _Line(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Status(msgspec.Struct):
    code: int
    reason: str


class _Bookmark(msgspec.Struct):
    metadata: "_BookmarkMetadata"


class _BookmarkMetadata(msgspec.Struct, rename="camel"):
    resource_version: str


class _List(msgspec.Struct):
    metadata: _BookmarkMetadata
    items: list[msgspec.Raw]


_line = msgspec.json.Decoder(_Line).decode
_list = msgspec.json.Decoder(_List).decode


async def listed(client: KubeClient, selector: str = "") -> tuple[int, list[State]]:
    """The revision of the list, and what is in it."""
    found = _list(
        await client.request("GET", f"{CONFIG_MAPS.path(NAMESPACE)}?{urlencode({'labelSelector': selector})}")
    )
    return int(found.metadata.resource_version), [decode(item).state for item in found.items]


class Watcher:
    """Resumes where it was, lists again when it is told that this is too far back, and checks what it hears."""

    def __init__(self, client: KubeClient, selector: str = "", *, bookmarks: bool = False) -> None:
        self.heard: list[Told] = []
        self.present: dict[str, State] = {}
        self.lists = 0
        self.begun = 0  # the revision of the last list: what was before it is not heard of
        self.revision = 0
        self._client = client
        self._selector = selector
        self._bookmarks = bookmarks

    async def begin(self) -> None:
        await self._list()

    async def run(self, last: str) -> None:
        """Until the object of this name is there."""
        while last not in self.present:
            try:
                async with contextlib.aclosing(self._lines()) as heard:
                    async for line in heard:
                        if line.type == "ERROR":
                            assert msgspec.json.decode(line.object, type=_Status).code == 410
                            await self._list()
                            break
                        self._hear(line)
                        if last in self.present:
                            break
            except Unreachable:
                await asyncio.sleep(LOOK)

    async def _list(self) -> None:
        revision, states = await listed(self._client, self._selector)
        assert revision >= self.revision, f"a list of revision {revision} after an event of {self.revision}"
        self.lists += 1
        self.begun = self.revision = revision
        self.heard.clear()
        self.present = {state.name: state for state in states}

    async def _lines(self) -> AsyncGenerator[_Line, None]:
        query = {"watch": "true", "resourceVersion": str(self.revision), "timeoutSeconds": "2"}
        query |= {"labelSelector": self._selector, "allowWatchBookmarks": str(self._bookmarks).lower()}
        path = f"{CONFIG_MAPS.path(NAMESPACE)}?{urlencode(query)}"
        async with contextlib.aclosing(cast("AsyncGenerator[bytes, None]", self._client.stream(path))) as pieces:
            async for text in split_lines(pieces):
                yield _line(text)

    def _hear(self, line: _Line) -> None:
        if line.type == "BOOKMARK":
            at = int(msgspec.json.decode(line.object, type=_Bookmark).metadata.resource_version)
            assert at >= self.revision
            self.revision = at
            return
        state = decode(line.object).state
        assert state.revision > self.revision, f"{line.type} {state} after revision {self.revision}"
        self.revision = state.revision
        self.heard.append(Told(line.type, state))
        self._apply(line.type, state)

    def _apply(self, kind: str, state: State) -> None:
        before = self.present.get(state.name)
        match kind:
            case "ADDED":
                assert before is None, f"{state} was added, though there was {before}"
                self.present[state.name] = state
            case "MODIFIED":
                assert before is not None
                assert before.uid == state.uid
                self.present[state.name] = state
            case "DELETED":
                assert before is not None
                assert before.uid == state.uid
                del self.present[state.name]
            case other:
                raise AssertionError(f"{other} is no event")


class Follower:
    """What a user of `follow` ends up with."""

    def __init__(self, client: KubeClient) -> None:
        self.heard: list[Told] = []
        self.present: dict[str, State] = {}
        self.synced = asyncio.Event()
        self._client = client

    async def run(self, last: str) -> None:
        changes = cast("AsyncGenerator[Change, None]", self._client.follow(CONFIG_MAPS, namespace=NAMESPACE))
        async with contextlib.aclosing(changes):
            async for change in changes:
                self._hear(change)
                if last in self.present:
                    return

    def _hear(self, change: Change) -> None:
        if change.type is ChangeType.SYNCED:
            self.synced.set()
            return
        state = decode(change.raw).state
        self.heard.append(Told(change.type.value, state))
        before = self.present.pop(state.name, None)
        assert (before is None) == (change.type is ChangeType.ADDED)
        assert before is None or (before.uid == state.uid and before.revision < state.revision)
        if change.type is not ChangeType.DELETED:
            self.present[state.name] = state
