"""A Kubernetes API in memory: what is written is kept and sent to all watches; its clock is moved by the test."""

import asyncio
import contextlib
import copy
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from tests.control.virtual_clock import BEGIN, VirtualClock
from tests.objects.documents import Document
from understudy.client.evictions import evict_pods
from understudy.embedded.api.patches.json_patch import json_patch, merge_patch
from understudy.embedded.api.patches.strategic_merge import strategic_merge_patch
from understudy.embedded.schema.errors import ApiError
from understudy.objects.resources import NAMESPACES, PODS, Resource
from understudy.ports import Change, ChangeType, PatchForm, PodBinding, PodEviction, Ref, Refused, Unreachable

__all__ = ["BEGIN", "FakeClock", "FakeCluster", "moment", "quiet"]

LIST_KEYS = {"status.conditions": ("type",), "metadata.finalizers": (), "spec.taints": ("key", "effect")}
Place = tuple[str, str, str]  # resource key, namespace, name
Fault = Callable[[str, Ref], str]  # (verb, ref) -> '', 'before' or 'after': where the connection breaks


def moment(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class FakeClock(VirtualClock):
    async def advance(self, seconds: float) -> None:
        await quiet()
        await self.let_pass(seconds)
        await quiet()


async def quiet(turns: int = 60) -> None:
    """Everything that can happen without time passing has happened: nothing here waits for the outside world."""
    for _ in range(turns):
        await asyncio.sleep(0)


class _Follower:
    def __init__(self, label: str = "") -> None:
        self.label = label  # `name=value`: only objects that have it are told of
        self.changes: deque[Change] = deque()
        self.news = asyncio.Event()
        self.broken = False

    def tell(self, change: Change) -> None:
        if self.label and change.raw:
            labels = msgspec.json.decode(change.raw)["metadata"].get("labels", {})
            if self.label not in (f"{name}={value}" for name, value in labels.items()):
                return
        self.changes.append(change)
        self.news.set()


class FakeCluster:
    """`faults` may break a request; `held` keeps followers in the dark for as long as it is entered."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.objects: dict[Place, Document] = {}
        self.requests: list[tuple[str, str]] = []  # verb and path of every write
        self.fault: Fault = lambda _verb, _ref: ""
        self.unserved: set[str] = set()  # keys of resources, or the paths of single versions
        self._revision = 0
        self._uids = 0
        self._followers: dict[str, list[_Follower]] = {}
        self._open = asyncio.Event()
        self._open.set()

    # for tests

    def put(self, resource: Resource, document: Document) -> Document:
        """A write by another client."""
        document = copy.deepcopy(document)
        meta = document["metadata"]
        if not resource.namespaced:
            meta.pop("namespace", None)
        place = (resource.key, meta.get("namespace", ""), meta["name"])
        before = self.objects.get(place)
        meta.setdefault("uid", before["metadata"]["uid"] if before else self._uid())
        meta.setdefault("creationTimestamp", moment(self.clock.now()))
        self._store(place, document, ChangeType.MODIFIED if before else ChangeType.ADDED)
        return document

    def read(self, resource: Resource, name: str, namespace: str = "default") -> Document:
        return self.objects[resource.key, namespace if resource.namespaced else "", name]

    def names(self, resource: Resource, namespace: str | None = None) -> list[str]:
        return [n for key, ns, n in self.objects if key == resource.key and namespace in (None, ns)]

    def all(self, resource: Resource) -> list[Document]:
        return [document for (key, _, _), document in self.objects.items() if key == resource.key]

    def change(self, resource: Resource, name: str, change: Document, namespace: str = "default") -> None:
        """A merge patch by another client."""
        namespace = namespace if resource.namespaced else ""
        self._amend((resource.key, namespace, name), merge_patch(self.objects[resource.key, namespace, name], change))

    def remove(self, resource: Resource, name: str, namespace: str = "default") -> None:
        place = (resource.key, namespace if resource.namespaced else "", name)
        self._store(place, self.objects[place], ChangeType.DELETED)

    def writes(self, verb: str, resource: Resource) -> int:
        return sum(one == verb and f"/{resource.plural}" in path for one, path in self.requests)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        self._open.clear()
        try:
            yield
        finally:
            self._open.set()

    @contextlib.contextmanager
    def deaf(self) -> Iterator[None]:
        """No watch delivers what changes meanwhile, as if it had happened between two watches."""
        followers, self._followers = self._followers, {}
        try:
            yield
        finally:
            self._followers = followers

    def break_watches(self, resource: Resource) -> None:
        """Those who follow it are refused once, and may come again."""
        for follower in self._followers.get(resource.key, ()):
            follower.broken = True
            follower.news.set()

    def watches(self, resource: Resource) -> int:
        return len(self._followers.get(resource.key, ()))

    # as ports.Cluster

    def age(self) -> float:
        return 0.0

    async def follow(
        self, resource: Resource, *, namespace: str = "", labels: str = "", fields: str = "", decoded: bool = False
    ) -> AsyncIterator[Change]:
        assert not fields, "field selectors are not served here"
        assert not decoded, "the controllers read texts"
        if {resource.key, resource.path()} & self.unserved:
            raise Refused(404, "NotFound", "the server could not find the requested resource")
        follower = _Follower(labels)
        for (key, where, _), document in self.objects.items():
            if key == resource.key and namespace in ("", where):
                follower.tell(Change(ChangeType.ADDED, msgspec.json.encode(document)))
        follower.tell(Change(ChangeType.SYNCED))
        self._followers.setdefault(resource.key, []).append(follower)
        try:
            while True:
                await self._open.wait()
                while follower.changes and self._open.is_set():
                    yield follower.changes.popleft()
                if follower.broken:
                    raise Refused(500, "InternalError", "the watch broke")
                if not follower.changes:
                    follower.news.clear()
                    await follower.news.wait()
        finally:
            self._followers[resource.key].remove(follower)

    async def get(self, ref: Ref) -> bytes:
        await asyncio.sleep(0)
        return msgspec.json.encode(self._find(ref))

    async def create(self, ref: Ref, body: Mapping[str, Any], sub: str = "") -> bytes:
        if sub == "eviction":
            raise Refused(405, "MethodNotAllowed", "this cluster has no evictions; delete it")
        return await self._request("create", ref, sub, lambda: self._create(ref, body))

    async def patch(self, ref: Ref, patch: Any, *, sub: str = "", form: PatchForm = PatchForm.STRATEGIC) -> bytes:
        return await self._request("patch", ref, sub, lambda: self._patch(ref, patch, sub, form))

    async def delete(self, ref: Ref, *, grace: int | None = None, uid: str = "", propagation: str = "") -> None:
        await self._request("delete", ref, "", lambda: self._delete(ref, grace, uid, propagation))

    async def replace(self, path: str, document: Document) -> None:
        """PUT, of the finalize sub-resource of namespaces alone."""
        place = (NAMESPACES.key, "", document["metadata"]["name"])
        assert path == Ref(NAMESPACES, name=place[2]).path("finalize")
        self._amend(place, {**self.objects[place], "spec": document["spec"]})

    async def bind(self, namespace: str, bindings: Sequence[PodBinding]) -> None:
        for binding in bindings:
            self.change(PODS, binding.pod, {"spec": {"nodeName": binding.node}}, namespace)

    # how it is done

    async def release(self, namespace: str, releases: Sequence[PodEviction]) -> None:
        await evict_pods(self, namespace, releases)

    async def _request(self, verb: str, ref: Ref, sub: str, do: Callable[[], Document]) -> bytes:
        await asyncio.sleep(0)
        self.requests.append((verb, ref.path(sub)))
        breaks = self.fault(verb, ref)
        if breaks == "before":
            raise Unreachable("the connection broke")
        answer = msgspec.json.encode(do())
        await asyncio.sleep(0)
        if breaks == "after":
            raise Unreachable("the connection broke")
        return answer

    def _create(self, ref: Ref, body: Mapping[str, Any]) -> Document:
        document = copy.deepcopy(dict(body))
        meta = document["metadata"]
        place = (ref.resource.key, ref.namespace, meta["name"])
        if place in self.objects:
            raise Refused(409, "AlreadyExists", f"{place} already exists")
        meta |= {"uid": self._uid(), "creationTimestamp": moment(self.clock.now()), "generation": 1}
        if ref.resource.namespaced:
            meta["namespace"] = ref.namespace
        if ref.resource.key == PODS.key:
            document["status"] = {"phase": "Pending"}
        self._store(place, document, ChangeType.ADDED)
        return document

    def _patch(self, ref: Ref, patch: Any, sub: str, form: PatchForm) -> Document:
        old = self._find(ref)
        try:
            match form:
                case PatchForm.MERGE:
                    new = merge_patch(old, patch)
                case PatchForm.JSON:
                    new = json_patch(old, patch)
                case _:
                    new = strategic_merge_patch(old, patch, LIST_KEYS)
        except ApiError as error:
            raise Refused(error.code, error.reason, error.message) from None
        for field in ("uid", "resourceVersion"):
            if new["metadata"].get(field) != old["metadata"][field]:
                raise Refused(409, "Conflict", f"{field} differs")
        new["status" if sub == "" else "spec"] = old.get("status" if sub == "" else "spec", {})
        return self._amend((ref.resource.key, ref.namespace, ref.name), new)

    def _amend(self, place: Place, document: Document) -> Document:
        if document == self.objects[place]:
            return document
        over = _is_over(place[0], document)
        self._store(place, document, ChangeType.DELETED if over else ChangeType.MODIFIED)
        return document

    def _delete(self, ref: Ref, grace: int | None, uid: str, propagation: str) -> Document:
        document = copy.deepcopy(self._find(ref))
        meta = document["metadata"]
        if uid and uid != meta["uid"]:
            raise Refused(409, "Conflict", "uid differs")
        policies = {"Foreground": ["foregroundDeletion"], "Orphan": ["orphan"]}
        kept = [f for f in meta.get("finalizers", ()) if f not in ("foregroundDeletion", "orphan")]
        meta["finalizers"] = kept + policies.get(propagation, [])
        runs = document.get("status", {}).get("phase") in ("Pending", "Running") and document["spec"].get("nodeName")
        wanted = 0 if not runs else 30 if grace is None else grace
        meta["deletionGracePeriodSeconds"] = min(wanted, meta.get("deletionGracePeriodSeconds", wanted))
        meta.setdefault("deletionTimestamp", moment(self.clock.now() + wanted))
        return self._amend((ref.resource.key, ref.namespace, ref.name), document)

    def _find(self, ref: Ref) -> Document:
        found = self.objects.get((ref.resource.key, ref.namespace, ref.name))
        if found is None:
            raise Refused(404, "NotFound", f"{ref.path()} not found")
        return found

    def _uid(self) -> str:
        self._uids += 1
        return f"uid-{self._uids}"

    def _store(self, place: Place, document: Document, change: ChangeType) -> None:
        self._revision += 1
        document["metadata"]["resourceVersion"] = str(self._revision)
        if change is ChangeType.DELETED:
            del self.objects[place]
        else:
            self.objects[place] = document
        told = Change(change, msgspec.json.encode(document))
        for follower in self._followers.get(place[0], ()):
            follower.tell(told)


def _is_over(resource: str, document: Document) -> bool:
    meta = document["metadata"]
    held = resource == NAMESPACES.key and document["spec"].get("finalizers")
    waits = meta.get("finalizers") or meta.get("deletionGracePeriodSeconds")
    return "deletionTimestamp" in meta and not held and not waits
