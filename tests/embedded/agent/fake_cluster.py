"""A Cluster in memory, with the behaviour of Kubernetes that an agent needs, and methods to wait for its writes."""

import asyncio
import copy
import itertools
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from understudy.client.evictions import evict_pods
from understudy.objects.resources import EVENTS, PODS, Resource
from understudy.ports import Change, ChangeType, PatchForm, PodBinding, PodEviction, Ref, Refused, Unreachable

Document = dict[str, Any]
Key = tuple[str, str, str]
PATIENCE = 90.0


class FakeCluster:
    def __init__(self) -> None:
        self.objects: dict[Key, Document] = {}
        self.writes: list[tuple[str, str]] = []  # verbs and paths, in order
        self.reachable = True
        self.lists = asyncio.Event()  # set once lists are complete; watches wait until then
        self.lists.set()
        self.knocked = asyncio.Event()  # a request failed while the cluster was unreachable
        self._followers: list[tuple[str, asyncio.Queue[Change]]] = []
        self._changed = asyncio.Condition()
        self._numbers = itertools.count(1)
        self._own = uuid.uuid4().hex[:8]  # uids mark processes, so they are unique among all tests that run now

    def age(self) -> float:
        return 0.0

    async def follow(
        self, resource: Resource, *, namespace: str = "", labels: str = "", fields: str = "", decoded: bool = False
    ) -> AsyncIterator[Change]:
        assert (namespace, labels, fields, decoded) == ("", "", "", False), "not needed so far"
        await self.lists.wait()
        queue: asyncio.Queue[Change] = asyncio.Queue()
        for (key, _, _), document in self.objects.items():
            if key == resource.key:
                queue.put_nowait(Change(ChangeType.ADDED, msgspec.json.encode(document)))
        queue.put_nowait(Change(ChangeType.SYNCED))
        self._followers.append((resource.key, queue))
        while True:
            yield await queue.get()

    async def get(self, ref: Ref) -> bytes:
        self._reached()
        return msgspec.json.encode(self._found(ref))

    async def create(self, ref: Ref, body: Mapping[str, Any], sub: str = "") -> bytes:
        self._reached()
        assert not sub
        document = copy.deepcopy(dict(body))
        meta = document["metadata"]
        if ref.resource.namespaced:
            meta["namespace"] = ref.namespace
        key = (ref.resource.key, ref.namespace, meta["name"])
        self.writes.append(("create", ref.resource.path(ref.namespace, meta["name"])))
        if key in self.objects:
            raise Refused(409, "AlreadyExists", f"{meta['name']} exists")
        meta.setdefault("uid", f"uid-{self._own}-{next(self._numbers)}")
        self.objects[key] = document
        await self._tell(ChangeType.ADDED, ref.resource, document)
        return msgspec.json.encode(document)

    async def patch(self, ref: Ref, patch: Any, *, sub: str = "", form: PatchForm = PatchForm.STRATEGIC) -> bytes:
        self._reached()
        document = self._found(ref)
        self.writes.append(("patch", ref.path(sub)))
        patch = msgspec.json.decode(msgspec.json.encode(patch))
        uid = patch.get("metadata", {}).get("uid")
        if uid is not None and uid != document["metadata"]["uid"]:
            raise Refused(409, "Conflict", "another object of that name")
        if sub == "status":
            conditions = patch["status"].pop("conditions", None)
            _merge(document.setdefault("status", {}), patch["status"])
            _merge_conditions(document["status"], conditions or [])
        else:
            assert form is PatchForm.MERGE
            _merge(document, patch)
        await self._tell(ChangeType.MODIFIED, ref.resource, document)
        return msgspec.json.encode(document)

    async def delete(self, ref: Ref, *, grace: int | None = None, uid: str = "", propagation: str = "") -> None:
        self._reached()
        assert not propagation
        document = self._found(ref)
        self.writes.append(("delete", ref.path()))
        if uid and uid != document["metadata"]["uid"]:
            raise Refused(409, "Conflict", "another object of that name")
        if ref.resource == PODS and grace != 0:
            grace = document["spec"].get("terminationGracePeriodSeconds", 30) if grace is None else grace
            deadline = datetime.now(UTC) + timedelta(seconds=grace)
            document["metadata"]["deletionTimestamp"] = deadline.strftime("%Y-%m-%dT%H:%M:%SZ")
            document["metadata"]["deletionGracePeriodSeconds"] = grace
            await self._tell(ChangeType.MODIFIED, ref.resource, document)
        else:
            await self.erase(ref)

    async def bind(self, namespace: str, bindings: Sequence[PodBinding]) -> None:
        raise NotImplementedError("agents do not bind")

    # For tests

    async def release(self, namespace: str, releases: Sequence[PodEviction]) -> None:
        await evict_pods(self, namespace, releases)

    async def erase(self, ref: Ref) -> None:
        """Deletes an object as a forced deletion does."""
        document = self.objects.pop((ref.resource.key, ref.namespace, ref.name))
        await self._tell(ChangeType.DELETED, ref.resource, document)

    def pod(self, name: str, namespace: str = "default") -> Document:
        return self.objects[PODS.key, namespace, name]

    def events(self, name: str) -> list[tuple[str, str]]:
        """Reason and message of all events about one object."""
        found = [document for (key, _, _), document in self.objects.items() if key == EVENTS.key]
        return [(one["reason"], one["message"]) for one in found if one["involvedObject"]["name"] == name]

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE), self._changed:
            await self._changed.wait_for(holds)

    def _reached(self) -> None:
        if not self.reachable:
            self.knocked.set()
            raise Unreachable("no answer")

    def _found(self, ref: Ref) -> Document:
        try:
            return self.objects[ref.resource.key, ref.namespace, ref.name]
        except KeyError:
            raise Refused(404, "NotFound", f"{ref.path()} not found") from None

    async def _tell(self, kind: ChangeType, resource: Resource, document: Document) -> None:
        for key, queue in self._followers:
            if key == resource.key:
                queue.put_nowait(Change(kind, msgspec.json.encode(document)))
        async with self._changed:
            self._changed.notify_all()


def _merge(target: Document, patch: Mapping[str, Any]) -> None:
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict) and isinstance(target.get(key), dict):
            _merge(target[key], value)
        else:
            target[key] = value


def _merge_conditions(status: Document, conditions: Sequence[Document]) -> None:
    """Merges by type, as a strategic merge patch does."""
    known = {one["type"]: one for one in status.get("conditions", [])}
    for condition in conditions:
        _merge(known.setdefault(condition["type"], {}), condition)
    status["conditions"] = list(known.values())
