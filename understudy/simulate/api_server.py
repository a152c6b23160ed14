"""The simulated API server: objects in memory with versions, conflicts, graceful deletion, finalizers and watches.

It applies one request at a time. Stored versions never change, so readers can share them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from understudy.kinds.annotations import format_time
from understudy.kinds.decoding import decode_json
from understudy.kinds.registry import JOB_RESOURCES
from understudy.objects.errors import BadObject
from understudy.objects.meta import KubeObject
from understudy.objects.resources import PODS, PRIORITY_CLASSES, Resource
from understudy.ports import ChangeType, PatchForm, PodBinding, PodEviction, Ref, Refused
from understudy.simulate.patches import Document, merged, patched

Name = tuple[str, str]  # (namespace, name)
FOREGROUND = "foregroundDeletion"
TRACKING = "batch.kubernetes.io/job-tracking"
DEFAULT_GRACE = 30
ENDED = ("Succeeded", "Failed")
PROPAGATIONS = {"Foreground": FOREGROUND}


class Version:
    """One state of one object. JSON text and decoded object are built when they are first needed."""

    __slots__ = ("_obj", "_raw", "document", "name", "node", "resource", "revision", "seen", "uid")

    def __init__(self, resource: Resource, name: Name, document: Document, revision: int) -> None:
        self.resource = resource
        self.name = name
        self.document = document
        self.revision = revision
        self.uid: str = document["metadata"]["uid"]
        self.node: str = document["spec"].get("nodeName", "") if resource is PODS else ""
        self.seen: Any = None  # the object as the simulated operators decoded it
        self._raw = b""
        self._obj: KubeObject | BadObject | None = None

    @property
    def raw(self) -> bytes:
        if not self._raw:
            self._raw = msgspec.json.encode(self.document)
        return self._raw

    @property
    def obj(self) -> KubeObject | None:
        """None where it cannot be decoded."""
        if self._obj is None:
            try:
                self._obj = decode_json(self.raw)
            except BadObject as error:
                self._obj = error
        return None if isinstance(self._obj, BadObject) else self._obj

    @property
    def metadata(self) -> Document:
        found: Document = self.document["metadata"]
        return found

    @property
    def leaving(self) -> bool:
        return "deletionTimestamp" in self.document["metadata"]

    @property
    def phase(self) -> str:
        phase: str = self.document.get("status", {}).get("phase", "")
        return phase

    @property
    def takes_room(self) -> bool:
        """Whether it is a pod that occupies a seat."""
        return bool(self.node) and self.phase not in ENDED


class Watcher(Protocol):
    def wants(self, version: Version) -> bool: ...

    def push(self, change: ChangeType, version: Version) -> None: ...


Observer = Callable[[Version | None, Version | None, str], None]  # before, after, writer
Rule = Callable[[Resource, Document], None]  # may raise Refused


class ApiServer:
    def __init__(self, now: Callable[[], float], served: Iterable[Resource]) -> None:
        """`served` are the resources it knows. Of several versions of one resource, it serves the listed one."""
        self._now = now
        self._served = {resource.key: resource for resource in served}
        self._revision = 100
        self._uids = 0
        self.objects: dict[str, dict[Name, Version]] = {key: {} for key in self._served}
        self.by_uid: dict[str, Version] = {}
        self.by_owner: dict[str, dict[str, Version]] = {}  # uid of the owner -> uid -> dependent
        self.watchers: dict[str, list[Watcher]] = {key: [] for key in self._served}
        self.observers: list[Observer] = []
        self.is_down = False  # a fault: no request is answered
        self.rules: list[Rule] = []  # admission: may refuse new objects
        self.classes: dict[str, Document] = {}  # PriorityClasses

    # Reading

    def serves(self, resource: Resource) -> bool:
        return self._served.get(resource.key) == resource

    def all(self, resource: Resource) -> list[Version]:
        found = self.objects[resource.key]
        return [found[name] for name in sorted(found)]

    def get(self, ref: Ref) -> Version | None:
        return self.objects[ref.resource.key].get((ref.namespace if ref.resource.namespaced else "", ref.name))

    def found(self, ref: Ref) -> Version:
        if not self.serves(ref.resource):
            raise Refused(404, "NotFound", f"there is no {ref.resource.key}")
        version = self.get(ref)
        if version is None:
            raise Refused(404, "NotFound", f"{ref.resource.key} {ref.name} not found")
        return version

    # Writing

    def create(self, resource: Resource, body: Mapping[str, Any], writer: str) -> Version:
        if not self.serves(resource):
            raise Refused(404, "NotFound", f"there is no {resource.key}")
        document: Document = msgspec.json.decode(msgspec.json.encode(body))
        for rule in self.rules:
            rule(resource, document)
        meta = document.setdefault("metadata", {})
        namespace = meta.setdefault("namespace", "default") if resource.namespaced else ""
        name = (namespace, meta["name"])
        if name in self.objects[resource.key]:
            raise Refused(409, "AlreadyExists", f"{resource.key} {meta['name']} already exists")
        self._uids += 1
        meta.update(uid=f"uid-{self._uids}", creationTimestamp=format_time(int(self._now())), generation=1)
        if resource is PODS:
            self._admit_pod(document)
        elif resource.key == PRIORITY_CLASSES.key:
            self.classes[meta["name"]] = document
        return self._store(resource, name, document, writer)

    def _admit_pod(self, document: Document) -> None:
        spec = document["spec"]
        given = self.classes.get(spec.get("priorityClassName", ""))
        if given is not None:
            spec["priority"] = given["value"]
            spec.setdefault("preemptionPolicy", given.get("preemptionPolicy", "PreemptLowerPriority"))
        spec.setdefault("terminationGracePeriodSeconds", DEFAULT_GRACE)
        document["status"] = {"phase": "Pending"}

    def patch(self, ref: Ref, patch: Any, sub: str, form: PatchForm, writer: str) -> Version:
        version = self.found(ref)
        if not isinstance(patch, list):
            patch = msgspec.json.decode(msgspec.json.encode(patch))
            self._check(version, patch.get("metadata") or {})
            if sub == "status":
                patch = {"status": patch.get("status") or {}}
            elif "metadata" in patch:
                own = {key: value for key, value in patch["metadata"].items() if key not in ("uid", "resourceVersion")}
                patch = {**patch, "metadata": own}
        return self.replace(version, patched(version.document, patch, form), writer)

    def _check(self, version: Version, meta: Mapping[str, Any]) -> None:
        if meta.get("uid", version.uid) != version.uid:
            raise Refused(409, "Conflict", f"{version.name[1]} has another uid")
        if meta.get("resourceVersion", str(version.revision)) != str(version.revision):
            raise Refused(409, "Conflict", f"{version.name[1]} has been changed")

    def merge(self, version: Version, patch: Document, writer: str) -> Version:
        """A write of a simulated actor: a merge patch that merges conditions by type."""
        return self.replace(version, merged(version.document, patch, by_type=True), writer)

    def replace(self, version: Version, document: Document, writer: str) -> Version:
        if document == version.document:
            return version
        meta = document["metadata"]
        if "deletionTimestamp" in meta and not meta.get("finalizers") and not meta.get("deletionGracePeriodSeconds"):
            self._remove(version, document, writer)
            return version
        return self._store(version.resource, version.name, document, writer)

    def delete(self, ref: Ref, grace: int | None, uid: str, propagation: str, writer: str) -> None:
        version = self.found(ref)
        if uid and version.uid != uid:
            raise Refused(409, "Conflict", f"{ref.name} has another uid")
        self.remove(version, grace, propagation, writer)

    def remove(self, version: Version, grace: int | None, propagation: str, writer: str) -> None:
        """Deletes at once, or marks the object, which goes when no finalizer or grace period is left."""
        document = self._marked(version, grace, PROPAGATIONS.get(propagation, ""))
        meta = document["metadata"]
        if meta.get("finalizers") or meta["deletionGracePeriodSeconds"]:
            self.replace(version, document, writer)
        else:
            self._remove(version, document, writer)

    def _marked(self, version: Version, grace: int | None, finalizer: str) -> Document:
        document = version.document
        meta = dict(document["metadata"])
        seconds = 0
        if version.resource is PODS and version.takes_room:
            seconds = document["spec"]["terminationGracePeriodSeconds"] if grace is None else grace
        if "deletionTimestamp" not in meta or seconds < (meta.get("deletionGracePeriodSeconds") or 0):
            meta["deletionTimestamp"] = format_time(int(self._now()) + seconds)
            meta["deletionGracePeriodSeconds"] = seconds
        if finalizer and finalizer not in meta.get("finalizers", ()):
            meta["finalizers"] = [*meta.get("finalizers", ()), finalizer]
        return {**document, "metadata": meta}

    # Seats

    def bind(self, namespace: str, seatings: Sequence[PodBinding], writer: str) -> None:
        """Binds all pods or none. Those that are bound already have to sit there still."""
        pods = [self._seatable(namespace, seating, again=True) for seating in seatings]
        for pod, seating in zip(pods, seatings, strict=True):
            if not pod.node:
                self._seat(pod, seating.node, dict(seating.annotations), writer)

    def bind_one(self, ref: Ref, body: Mapping[str, Any], writer: str) -> None:
        meta = body["metadata"]
        seating = PodBinding(ref.name, meta.get("uid", ""), body["target"]["name"], meta.get("annotations") or {})
        pod = self._seatable(ref.namespace, seating, again=False)
        self._seat(pod, seating.node, dict(seating.annotations), writer)

    def _seatable(self, namespace: str, seating: PodBinding, again: bool) -> Version:
        pod = self.get(Ref(PODS, namespace, seating.pod))
        if pod is None:
            raise Refused(409 if again else 404, "NotFound", f"pod {seating.pod} is gone")
        failed = pod.document.get("status", {}).get("phase") == "Failed"
        taken = pod.node and not (again and pod.node == seating.node and not failed)
        if pod.uid != seating.uid or pod.leaving or taken or pod.document["spec"].get("schedulingGates"):
            raise Refused(409, "Conflict", f"{seating.pod} cannot be bound to {seating.node}")
        return pod

    def _seat(self, pod: Version, node: str, annotations: dict[str, str], writer: str) -> None:
        notes = {"metadata": {"annotations": annotations}} if annotations else {}
        old = pod.document.get("status", {}).get("conditions") or ()
        others = [condition for condition in old if condition["type"] != "PodScheduled"]
        conditions = [*others, {"type": "PodScheduled", "status": "True"}]
        document = merged(pod.document, {**notes, "spec": {"nodeName": node}}, by_type=False)
        status = {**document.get("status", {}), "conditions": conditions}
        status.pop("nominatedNodeName", None)
        self.replace(pod, {**document, "status": status}, writer)

    def depart(self, namespace: str, departures: Sequence[PodEviction], writer: str) -> None:
        """Marks and deletes pods in one write."""
        for departure in departures:
            pod = self.get(Ref(PODS, namespace, departure.pod))
            if pod is None or pod.uid != departure.uid:
                continue
            document = merged(pod.document, {"status": {"conditions": [dict(departure.condition)]}}, by_type=True)
            if departure.excused:
                document = merged(document, {"metadata": {"$deleteFromPrimitiveList/finalizers": [TRACKING]}}, True)
            self.remove(self.replace(pod, document, writer), departure.grace, "", writer)

    # Storage

    def _store(self, resource: Resource, name: Name, document: Document, writer: str) -> Version:
        self._revision += 1
        document = {**document, "metadata": {**document["metadata"], "resourceVersion": str(self._revision)}}
        stored = self.objects[resource.key]
        before = stored.get(name)
        after = stored[name] = Version(self._served[resource.key], name, document, self._revision)
        self.by_uid[after.uid] = after
        self._index(before, after)
        self._tell(ChangeType.ADDED if before is None else ChangeType.MODIFIED, after)
        for observe in self.observers:
            observe(before, after, writer)
        return after

    def _remove(self, version: Version, document: Document, writer: str) -> None:
        """`document` is the last state, which watches deliver."""
        self._revision += 1
        del self.objects[version.resource.key][version.name], self.by_uid[version.uid]
        meta = {**document["metadata"], "resourceVersion": str(self._revision)}
        last = Version(version.resource, version.name, {**document, "metadata": meta}, self._revision)
        self._index(version, None)
        self._tell(ChangeType.DELETED, last)
        for observe in self.observers:
            observe(version, None, writer)

    def _index(self, before: Version | None, after: Version | None) -> None:
        for version, there in ((before, False), (after, True)):
            for owner in version.metadata.get("ownerReferences", ()) if version is not None else ():
                assert version is not None
                stored = self.by_owner.setdefault(owner["uid"], {})
                if there:
                    stored[version.uid] = version
                else:
                    stored.pop(version.uid, None)

    def _tell(self, change: ChangeType, version: Version) -> None:
        for watcher in self.watchers[version.resource.key]:
            if watcher.wants(version):
                watcher.push(change, version)


def job_of(server: ApiServer, kind: str, name: str, namespace: str = "default") -> Version | None:
    resource = next(resource for resource in JOB_RESOURCES if resource.kind == kind)
    return server.objects.get(resource.key, {}).get((namespace, name))
