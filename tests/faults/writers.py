"""Writers at full speed that record every acknowledged write: each has objects of its own, which no other changes."""

import asyncio
import random
from http import HTTPStatus
from typing import Any

import msgspec

from tests.faults.server_process import LOOK
from understudy.client import KubeClient
from understudy.objects.resources import CONFIG_MAPS, SECRETS
from understudy.ports import Ref, Refused, Unreachable

NAMESPACE = "default"
BULK = "x" * 400_000


class Metadata(msgspec.Struct, rename="camel"):
    name: str
    uid: str
    resource_version: str
    labels: dict[str, str] = {}


class ConfigMap(msgspec.Struct):
    metadata: Metadata
    data: dict[str, str] = {}

    @property
    def state(self) -> "State":
        meta = self.metadata
        return State(meta.name, meta.uid, int(meta.resource_version), int(self.data.get("number", 0)))


class State(msgspec.Struct, frozen=True):
    """An object as a client received it: its name, its revision and its content."""

    name: str
    uid: str
    revision: int
    number: int


decode = msgspec.json.Decoder(ConfigMap).decode


class Ledger(msgspec.Struct):
    """What the server has acknowledged to any of its writers."""

    stored: list[State] = []
    removed: list[State] = []  # as they were before
    newest: int = 0  # the newest revision that any client has received
    progress: asyncio.Event = msgspec.field(default_factory=asyncio.Event)

    def told(self, revision: int, floor: int) -> None:
        """`floor` is what was the newest when the question was put."""
        assert revision > floor, f"revision {revision} was given out after {floor}"
        self.newest = max(self.newest, revision)
        self.progress.set()


class Writer:
    """Creates, updates and deletes objects of its own until it is told to stop."""

    def __init__(self, client: KubeClient, ledger: Ledger, number: int, seed: str) -> None:
        self.known: dict[str, State | None] = {f"w{number}-{slot}": None for slot in range(6)}
        self._client = client
        self._ledger = ledger
        self._chance = random.Random(f"{seed} {number}")
        self._count = 0

    async def run(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            name = self._chance.choice(list(self.known))
            before = self.known[name]
            removes = before is not None and self._chance.random() < 0.25
            self._count += 1
            try:
                self.known[name] = await (self._remove(before) if removes and before else self._store(name, before))
            except Unreachable:
                self.known[name] = await self._found(name, before, removes=removes)

    async def _store(self, name: str, before: State | None) -> State:
        labels = {"parity": "odd" if self._count % 2 else "even"}
        body: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "labels": labels},
            "data": {"number": str(self._count)},
        }
        method, path = "POST", CONFIG_MAPS.path(NAMESPACE)
        if before is not None:
            method, path = "PUT", CONFIG_MAPS.path(NAMESPACE, name)
            body["metadata"] |= {"uid": before.uid, "resourceVersion": str(before.revision)}
        floor = self._ledger.newest
        state = decode(await self._client.request(method, path, body)).state
        assert (state.name, state.number) == (name, self._count)
        assert before is None or state.uid == before.uid
        self._ledger.told(state.revision, floor)
        self._ledger.stored.append(state)
        return state

    async def _remove(self, before: State) -> None:
        await self._client.delete(Ref(CONFIG_MAPS, NAMESPACE, before.name), uid=before.uid)
        self._ledger.removed.append(before)
        self._ledger.progress.set()

    async def _found(self, name: str, before: State | None, *, removes: bool) -> State | None:
        """A write without an answer was done whole or not at all."""
        while True:
            try:
                state = decode(await self._client.get(Ref(CONFIG_MAPS, NAMESPACE, name))).state
            except Unreachable:
                await asyncio.sleep(LOOK)
            except Refused as refused:
                _check_absent(refused)
                assert before is None or removes, f"{before} was acknowledged and is gone"
                return None
            else:
                if state != before:
                    assert state.number == self._count, f"{state} instead of {before}"
                    assert not removes
                    assert before is None or (state.uid == before.uid and state.revision > before.revision)
                return state


class BulkyWriter:
    """Writes much, so that the server has to forget the oldest events."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._count = 0

    async def write(self, times: int) -> None:
        for _ in range(times):
            self._count += 1
            meta = {"name": "bulky", "annotations": {"count": str(self._count)}}
            body = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": {"bulk": BULK}}
            while not await self._written(body):
                await asyncio.sleep(LOOK)

    async def _written(self, body: dict[str, Any]) -> bool:
        try:
            await self._client.request("PUT", SECRETS.path(NAMESPACE, "bulky"), body)
        except Unreachable:
            return False
        except Refused as refused:
            _check_absent(refused)
            return await self._created(body)
        return True

    async def _created(self, body: dict[str, Any]) -> bool:
        try:
            await self._client.create(Ref(SECRETS, NAMESPACE), body)
        except Unreachable:
            return False
        return True


def _check_absent(refused: Refused) -> None:
    assert refused.code == HTTPStatus.NOT_FOUND, f"{refused.code}: {refused}"
