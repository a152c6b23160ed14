"""A cluster in memory: what `ports.Cluster` promises, with versions, graceful deletes and watches; nothing runs.

Tests put documents in and look at them as plain dicts. Writes of the loop are counted and can be made to fail.
"""

import asyncio
import copy
import itertools
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from understudy.client.evictions import evict_pods
from understudy.kinds.annotations import format_time
from understudy.kinds.registry import JOB_RESOURCES
from understudy.objects import resources
from understudy.objects.resources import PODS, Resource
from understudy.ports import Change, ChangeType, Clock, PatchForm, PodBinding, PodEviction, Ref, Refused
from understudy.simulate.patches import Document as Document
from understudy.simulate.patches import merged, patched

Key = tuple[str, str, str]  # (resource, namespace, name)

_RESOURCES = {(r.group, r.kind): r for r in (*vars(resources).values(), *JOB_RESOURCES) if isinstance(r, Resource)}


class Killed(BaseException):
    """The process that wrote was killed before this write."""


class Watch(NamedTuple):
    resource: str
    namespace: str
    label: str  # `name=value`, or nothing
    queue: asyncio.Queue[Change | Refused]

    def wants(self, key: Key, document: Document) -> bool:
        labels = [f"{name}={value}" for name, value in document["metadata"].get("labels", {}).items()]
        return self.resource == key[0] and self.namespace in ("", key[1]) and self.label in ("", *labels)


class FakeCluster:
    def __init__(self, clock: Clock, absent: Sequence[str] = ()) -> None:
        self.clock = clock
        self.absent = set(absent)  # resources this cluster does not serve
        self.documents: dict[Key, Document] = {}
        self.writes: list[str] = []
        self.before_write: Callable[[str], None] = lambda _: None  # may raise
        self._revision = 100
        self._uids = itertools.count(1)
        self._watches: list[Watch] = []
        self._held_back: dict[str, list[tuple[Watch, Change]]] = {}  # resource -> changes not told yet

    # For tests

    def put(self, document: Document) -> Document:
        """Creates or replaces an object."""
        resource = _RESOURCES[document["apiVersion"].rpartition("/")[0], document["kind"]]
        meta = document.setdefault("metadata", {})
        if resource.namespaced:
            meta.setdefault("namespace", "default")
        key = (resource.key, meta.get("namespace", "") if resource.namespaced else "", meta["name"])
        new = key not in self.documents
        old = self.documents.get(key, {"metadata": {}})
        meta.setdefault("uid", old["metadata"].get("uid") or f"uid-{next(self._uids)}")
        meta.setdefault("creationTimestamp", old["metadata"].get("creationTimestamp") or format_time(self.clock.now()))
        self.documents[key] = document
        self._tell(key, ChangeType.ADDED if new else ChangeType.MODIFIED)
        return document

    def find(self, resource: Resource, name: str, namespace: str = "default") -> Document:
        return self.documents[resource.key, namespace if resource.namespaced else "", name]

    def all(self, resource: Resource) -> list[Document]:
        return [document for (key, _, _), document in sorted(self.documents.items()) if key == resource.key]

    def change(self, document: Document) -> None:
        """After a document was changed in place."""
        self._tell(self._key_of(document), ChangeType.MODIFIED)

    def take_away(self, document: Document) -> None:
        key = self._key_of(document)
        self._tell(key, ChangeType.DELETED)
        del self.documents[key]

    def hold_back(self, resource: Resource) -> None:
        """From now on no watch delivers changes of this resource."""
        self._held_back.setdefault(resource.key, [])

    def let_through(self, resource: Resource) -> None:
        for watch, change in self._held_back.pop(resource.key):
            watch.queue.put_nowait(change)

    def break_off(self, resource: str) -> None:
        """The resource is not served any more: its watches end with an error."""
        self.absent.add(resource)
        for watch in self._watches:
            if watch.resource == resource:
                watch.queue.put_nowait(Refused(404, "NotFound", f"there is no {resource}"))

    @property
    def idle(self) -> bool:
        """Whether every watcher has heard everything."""
        return all(watch.queue.empty() for watch in self._watches)

    def _key_of(self, document: Document) -> Key:
        return next(key for key, known in self.documents.items() if known is document)

    def _tell(self, key: Key, change: ChangeType) -> None:
        self._revision += 1
        self.documents[key]["metadata"]["resourceVersion"] = str(self._revision)
        raw = msgspec.json.encode(self.documents[key])
        for watch in self._watches:
            if watch.wants(key, self.documents[key]):
                if key[0] in self._held_back:
                    self._held_back[key[0]].append((watch, Change(change, raw)))
                else:
                    watch.queue.put_nowait(Change(change, raw))

    # ports.Cluster

    def age(self) -> float:
        return 0.0

    async def follow(
        self, resource: Resource, *, namespace: str = "", labels: str = "", fields: str = "", decoded: bool = False
    ) -> AsyncIterator[Change]:
        assert not fields
        del decoded  # a cluster may deliver text only
        if resource.key in self.absent:
            raise Refused(404, "NotFound", f"there is no {resource.key}")
        watch = Watch(resource.key, namespace, labels, asyncio.Queue())
        self._watches.append(watch)
        try:
            there = [msgspec.json.encode(d) for key, d in sorted(self.documents.items()) if watch.wants(key, d)]
            for raw in there:
                yield Change(ChangeType.ADDED, raw)
            yield Change(ChangeType.SYNCED)
            while True:
                change = await watch.queue.get()
                if isinstance(change, Refused):
                    raise change
                yield change
        finally:
            self._watches.remove(watch)

    async def get(self, ref: Ref) -> bytes:
        return msgspec.json.encode(self._found(ref))

    async def create(self, ref: Ref, body: Mapping[str, Any], sub: str = "") -> bytes:
        if sub == "eviction":
            raise Refused(405, "MethodNotAllowed", "this cluster has no evictions; delete it")
        await self._write(f"create {ref.resource.key} {body['metadata']['name']}")
        assert not sub
        key = (ref.resource.key, ref.namespace, body["metadata"]["name"])
        if key in self.documents:
            raise Refused(409, "AlreadyExists", f"{key[2]} already exists")
        return msgspec.json.encode(self.put(copy.deepcopy(dict(body))))

    async def patch(self, ref: Ref, patch: Any, *, sub: str = "", form: PatchForm = PatchForm.STRATEGIC) -> bytes:
        await self._write(f"patch {ref.resource.key}{f'/{sub}' if sub else ''} {ref.name}")
        document = self._found(ref)
        changed = copy.deepcopy(document)
        if form is PatchForm.JSON:
            changed = patched(changed, patch, form)
        else:
            uid = patch.get("metadata", {}).get("uid", document["metadata"]["uid"])
            if uid != document["metadata"]["uid"]:
                raise Refused(409, "Conflict", f"{ref.name} has another uid")
            seen = patch.get("metadata", {}).get("resourceVersion", document["metadata"]["resourceVersion"])
            if seen != document["metadata"]["resourceVersion"]:
                raise Refused(409, "Conflict", f"{ref.name} has been changed")
            wanted = {"status": patch["status"]} if sub == "status" else patch
            changed = patched(changed, wanted, form)
        if changed != document:
            document.clear()
            document.update(changed)
            self.change(document)
        return msgspec.json.encode(document)

    async def delete(self, ref: Ref, *, grace: int | None = None, uid: str = "", propagation: str = "") -> None:
        await self._write(f"delete {ref.resource.key} {ref.name}{' at once' if grace == 0 else ''}")
        assert not propagation
        document = self._found(ref)
        if uid and document["metadata"]["uid"] != uid:
            raise Refused(409, "Conflict", f"{ref.name} has another uid")
        if ref.resource is PODS and grace != 0 and document["spec"].get("nodeName"):
            document["metadata"].setdefault("deletionTimestamp", format_time(self.clock.now()))
            self.change(document)
        else:
            self.take_away(document)

    async def bind(self, namespace: str, bindings: Sequence[PodBinding]) -> None:
        there = {key[2] for key, pod in self.documents.items() if key[0] == PODS.key and pod["spec"].get("nodeName")}
        await self._write(f"bind {', '.join(f'{s.pod} {s.node}' for s in bindings if s.pod not in there)}")
        pods = [self._found(Ref(PODS, namespace, binding.pod)) for binding in bindings]
        for pod, binding in zip(pods, bindings, strict=True):
            meta, taken = pod["metadata"], pod["spec"].get("nodeName", "")
            failed = pod.get("status", {}).get("phase") == "Failed"
            if meta["uid"] != binding.uid or "deletionTimestamp" in meta or failed or taken not in ("", binding.node):
                raise Refused(409, "Conflict", f"{binding.pod} cannot be bound")
        for pod, binding in zip(pods, bindings, strict=True):
            if binding.pod in there:
                continue
            pod["spec"]["nodeName"] = binding.node
            if binding.annotations:
                pod["metadata"]["annotations"] = {**pod["metadata"].get("annotations", {}), **binding.annotations}
            condition = {"type": "PodScheduled", "status": "True"}
            pod.update(merged(pod, {"status": {"conditions": [condition]}}, by_type=True))
            pod["status"].pop("nominatedNodeName", None)  # as of Kubernetes 1.35
            self.change(pod)

    async def release(self, namespace: str, releases: Sequence[PodEviction]) -> None:
        await evict_pods(self, namespace, releases)

    async def _write(self, what: str) -> None:
        await asyncio.sleep(0)  # lets other tasks run in between
        self.before_write(what)
        self.writes.append(what)

    def _found(self, ref: Ref) -> Document:
        key = (ref.resource.key, ref.namespace if ref.resource.namespaced else "", ref.name)
        if key not in self.documents:
            raise Refused(404, "NotFound", f"{ref.resource.key} {ref.name} not found")
        return self.documents[key]
