"""Operators of job kinds outside the product: they create pods slowly, in any order, in stages, or never.

understudy.kinds.children says what a job wants; this module decides when and in which portions it is created.
"""

from collections.abc import Sequence

import msgspec

from understudy.embedded.controllers.child_writer import merge_patch
from understudy.kinds.children.actions import ChildActions, CreateChild, ObservedChildren
from understudy.kinds.children.partial_objects import struct_for
from understudy.kinds.job_kind import JobController
from understudy.kinds.pod_labels import COMPLETION_INDEX, EXCLUSIVE, JOB_KEY
from understudy.kinds.registry import CONTROLLERS
from understudy.objects.resources import JOB_SETS, JOBS, PODS
from understudy.ports import PatchForm, Ref, Refused
from understudy.simulate.api_server import FOREGROUND, TRACKING, ApiServer, Version
from understudy.simulate.context import SimulationContext

WRITER = "operator"
_CONTROLLERS = {(controller.resource.group, controller.resource.kind): controller for controller in CONTROLLERS}


class Operators:
    """Works by uid of the parent, on the objects as they are at that time."""

    def __init__(self, context: SimulationContext, server: ApiServer) -> None:
        self._context = context
        self._server = server
        self._channel = context.channels.channel("operators")
        self._names = 0  # of pods with a generated name
        self._due: dict[str, float] = {}
        self._refused: dict[str, int] = {}  # uid -> refusals in a row
        self._made: dict[str, int] = {}  # uid -> the most pods of its next portion
        self._departed: dict[str, list[Version]] = {}
        self._parents: dict[str, Version] = {}
        self._decoders = {
            key: msgspec.json.Decoder(struct_for(key)).decode for key in ("pods", "jobs.batch", JOB_SETS.key)
        }

    def observe(self, before: Version | None, after: Version | None, _: str) -> None:
        version = after or before
        assert version is not None
        if (version.resource.group, version.resource.kind) in _CONTROLLERS:
            if after is None:
                self._parents.pop(version.uid, None)
            else:
                self._parents[version.uid] = after
            self.touch(version.uid)
        for owner in version.metadata.get("ownerReferences", ()):
            if after is None:
                self._departed.setdefault(owner["uid"], []).append(version)
            if owner["uid"] in self._parents or TRACKING in version.metadata.get("finalizers", ()):
                self.touch(owner["uid"])

    def touch(self, uid: str, after: float | None = None) -> None:
        loop = self._context.loop
        pace = self._context.scenario.operator_pace
        at = loop.time() + (pace * (0.1 + 1.9 * self._channel.share()) if after is None else after)
        if at < self._due.get(uid, float("inf")):
            self._due[uid] = at
            loop.call_at(at, self._act, uid, at)

    def _act(self, uid: str, at: float) -> None:
        if self._due.get(uid) != at:
            return
        del self._due[uid]
        context, parent = self._context, self._parents.get(uid)
        if parent is None:
            self._free(uid)
            return
        if self._server.is_down:
            self.touch(uid, 1.0)
            return
        controller = _CONTROLLERS[parent.resource.group, parent.resource.kind]
        wanted = controller.reconcile(parent.document, self._observed(controller, uid), context.now())
        try:
            acted = self._carry_out(parent, wanted)
        except Refused:
            times = self._refused[uid] = self._refused.get(uid, 0) + 1
            self.touch(uid, min(0.2 * 2**times, 15.0))
            return
        self._refused.pop(uid, None)
        if acted:
            context.step("operate", parent.resource.kind, parent.name[1])
            self.touch(uid)
        elif wanted.again_at is not None:
            self.touch(uid, max(0.05, wanted.again_at - context.now()))
        else:
            self._departed.pop(uid, None)

    def _free(self, uid: str) -> None:
        """Removes the finalizer from pods whose Job is deleted."""
        server = self._server
        for pod in [one for one in server.by_owner.get(uid, {}).values() if one.resource is PODS]:
            if TRACKING in pod.metadata.get("finalizers", ()):
                server.merge(pod, {"metadata": {"$deleteFromPrimitiveList/finalizers": [TRACKING]}}, WRITER)

    def _observed(self, controller: JobController, uid: str) -> ObservedChildren:
        found: dict[str, list[object]] = {}
        for child in self._server.by_owner.get(uid, {}).values():
            found.setdefault(child.resource.key, []).append(self._seen(child))
        read_objects = {}
        for resource in controller.reads:
            stored = self._server.objects.get(resource.key, {})
            read_objects[resource.key] = {name: version.document for name, version in stored.items()}
        departed = [self._seen(child) for child in self._departed.get(uid, ())]
        return ObservedChildren(found, read_objects, tuple(departed))  # type: ignore[arg-type]

    def _seen(self, child: Version) -> object:
        if child.seen is None:
            key = child.resource.key
            decode = self._decoders.get(key) or msgspec.json.Decoder(struct_for(key)).decode
            child.seen = decode(child.raw)
        return child.seen

    def _carry_out(self, parent: Version, wanted: ChildActions) -> bool:
        """Applies one portion. Whether anything was done."""
        server, acted = self._server, False
        if wanted.status is not None:
            change = merge_patch(parent.document.get("status") or {}, wanted.status)
            if change:
                server.patch(_ref(parent), {"status": change}, "status", PatchForm.MERGE, WRITER)
                acted = True
        namespace = parent.name[0]
        for patch in wanted.patches:
            form = PatchForm.JSON if isinstance(patch.patch, list) else PatchForm.MERGE
            acted |= self._done(
                lambda p=patch, f=form: server.patch(Ref(p.resource, namespace, p.name), p.patch, "", f, WRITER)
            )
        for delete in wanted.deletes:
            ref = Ref(delete.resource, namespace, delete.name)
            acted |= self._done(lambda r=ref, d=delete: server.delete(r, None, d.uid, d.propagation, WRITER))
        if wanted.expired:
            server.remove(parent, None, "Background", WRITER)
        if wanted.deletes:
            return acted
        return self._create(parent, wanted.creates) or acted

    def _done(self, write: object) -> bool:
        try:
            write()  # type: ignore[operator]
        except Refused:
            return False
        return True

    def _create(self, parent: Version, creates: Sequence[CreateChild]) -> bool:
        """Slow start: one pod, then two, then four, in any order."""
        ready = [create for create in creates if self._may_be_made(parent, create)]
        if not ready:
            return False
        pods = ready[0].resource is PODS
        if pods and len(ready) > 1:
            ready = sorted(ready, key=lambda _: self._channel.share())
        portion = self._made.get(parent.uid, 1) if pods else len(ready)
        for create in ready[:portion]:
            document = create.document
            meta = document["metadata"]
            if "name" not in meta:
                self._names += 1
                meta = {**meta, "name": f"{meta['generateName']}x{self._names}"}
            self._server.create(create.resource, {**document, "metadata": meta}, WRITER)
        self._made[parent.uid] = portion * 2
        return True

    def _may_be_made(self, parent: Version, create: CreateChild) -> bool:
        """With exclusive placement, JobSet's webhook refuses followers until their leader has a node."""
        meta = create.document["metadata"]
        labels = meta.get("labels", {})
        if create.resource is not PODS or JOB_KEY not in labels or not self._is_placed(parent):
            return True
        index = labels.get(COMPLETION_INDEX) or meta.get("annotations", {}).get(COMPLETION_INDEX)
        if index == "0":
            return True
        siblings = self._server.by_owner.get(parent.uid, {}).values()
        return any(pod.node and not pod.leaving and _index(pod) == "0" for pod in siblings)

    def _is_placed(self, job: Version) -> bool:
        owner = next(iter(job.metadata.get("ownerReferences", ())), None)
        jobset = self._parents.get(owner["uid"]) if owner is not None else None
        return jobset is not None and EXCLUSIVE in jobset.metadata.get("annotations", {})


def _index(pod: Version) -> str:
    meta = pod.metadata
    found: str = meta.get("labels", {}).get(COMPLETION_INDEX) or meta.get("annotations", {}).get(COMPLETION_INDEX, "")
    return found


def _ref(version: Version) -> Ref:
    return Ref(version.resource, *version.name)


class GarbageCollector:
    """Kubernetes' own garbage collector, where the product's does not run: dependents go with their owners."""

    def __init__(self, context: SimulationContext, server: ApiServer) -> None:
        self._context = context
        self._server = server
        self._channel = context.channels.channel("garbage")

    def observe(self, before: Version | None, after: Version | None, _: str) -> None:
        version = after or before
        assert version is not None
        going = after is None or (after.leaving and FOREGROUND in after.metadata.get("finalizers", ()))
        if going and self._server.by_owner.get(version.uid):
            self._later(self._collect, version.uid)
        if after is not None and going:
            self._later(self._let_go, version)
        if after is None:
            for owner in version.metadata.get("ownerReferences", ()):
                self._later(self._let_go_by_uid, owner["uid"])
        elif before is None:
            for owner in version.metadata.get("ownerReferences", ()):
                if owner["uid"] not in self._server.by_uid:
                    self._later(self._collect, owner["uid"])

    def _later(self, call: object, argument: object) -> None:
        self._context.loop.call_later(0.01 + 0.2 * self._channel.share(), call, argument)  # type: ignore[arg-type]

    def _collect(self, uid: str) -> None:
        for dependent in list(self._server.by_owner.get(uid, {}).values()):
            if not dependent.leaving:
                self._context.step("collect", dependent.resource.kind, dependent.name[1])
                way = "Foreground" if dependent.resource.key == JOBS.key else ""
                self._server.remove(dependent, None, way, "garbage")

    def _let_go_by_uid(self, uid: str) -> None:
        version = self._server.by_uid.get(uid)
        if version is not None:
            self._let_go(version)

    def _let_go(self, version: Version) -> None:
        current = self._server.by_uid.get(version.uid)
        if current is None or not current.leaving or self._server.by_owner.get(version.uid):
            return
        finalizers = current.metadata.get("finalizers", ())
        if FOREGROUND in finalizers:
            kept = [name for name in finalizers if name != FOREGROUND]
            self._server.merge(current, {"metadata": {"finalizers": kept}}, "garbage")
