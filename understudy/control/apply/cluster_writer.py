"""The writes of the scheduling loop, one function each; what was written is waited for until the view shows it."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

import msgspec

from understudy.control.concurrency import run_all
from understudy.control.record.event_recorder import EventRecorder
from understudy.control.view.cluster_view import ClusterView
from understudy.control.watch.freshness import (
    NO_LIMIT,
    Expectations,
    Shows,
    shows_deletion,
    shows_gone,
    shows_seat,
    shows_version,
)
from understudy.kinds.annotations import FENCED, format_fence
from understudy.kinds.gang_ref import job_key
from understudy.kinds.job_control import MergePatch
from understudy.kinds.registry import job_resource
from understudy.model.nodes import Fence
from understudy.objects.cluster_objects import PersistentVolumeClaim
from understudy.objects.jobs import Workload
from understudy.objects.meta import KubeObject
from understudy.objects.pods import Pod
from understudy.objects.resources import CLAIMS, NODES, PODS
from understudy.objects.volumes import SELECTED_NODE
from understudy.ports import Cluster, PatchForm, PodBinding, PodEviction, Ref, Refused, Unreachable

_NO_NOTES: Mapping[str, Mapping[str, str]] = MappingProxyType({})


class _Version(msgspec.Struct, frozen=True):
    uid: str = ""
    resource_version: str = msgspec.field(name="resourceVersion", default="")


class _Written(msgspec.Struct, frozen=True):
    metadata: _Version = _Version()


# A write that names a uid: the object is gone, or another object has taken its name.
GONE = (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)


class ClusterWriter:
    def __init__(self, cluster: Cluster, view: ClusterView, recorder: EventRecorder) -> None:
        self._cluster = cluster
        self._view = view
        self._recorder = recorder
        self.expectations = Expectations()
        self._uncertain: dict[str, Pod] = {}  # by uid: pods of writes that were not answered

    async def annotate(
        self, obj: Workload | Pod, annotations: Mapping[str, str | None], spec: MergePatch | None = None
    ) -> None:
        """Writes annotations on a job or pod (None removes), together with a patch of its spec: both or neither."""
        metadata = {"uid": obj.metadata.uid, "annotations": dict(annotations)}
        await self._patch(obj, {**(spec or {}), "metadata": metadata}, form=PatchForm.MERGE)

    async def select_node(self, claim: PersistentVolumeClaim, node: str) -> None:
        """Names the node for which the volume of a claim is to be created."""
        meta = claim.metadata
        patch = {"metadata": {"uid": meta.uid, "annotations": {SELECTED_NODE: node}}}
        await self._cluster.patch(Ref(CLAIMS, meta.namespace, meta.name), patch, form=PatchForm.MERGE)

    async def resume(self, job: Workload, notes: Mapping[str, str | None], spec: MergePatch) -> None:
        """Resumes a paused job, if it is as the view showed it: its owner may have suspended it for good since then."""
        metadata = {
            "uid": job.metadata.uid,
            "resourceVersion": job.metadata.resource_version,
            "annotations": dict(notes),
        }
        await self._patch(job, {**spec, "metadata": metadata}, form=PatchForm.MERGE)

    async def end(self, job: Workload, change: MergePatch | list[MergePatch]) -> None:
        """Writes the status that makes a job fail."""
        test = {"op": "test", "path": "/metadata/uid", "value": job.metadata.uid}
        if isinstance(change, list):
            await self._patch(job, [test, *change], sub="status", form=PatchForm.JSON)
        else:
            patch = {**change, "metadata": {"uid": job.metadata.uid}}
            await self._patch(job, patch, sub="status", form=PatchForm.MERGE)

    async def _patch(
        self, obj: Workload | Pod, patch: Any, sub: str = "", form: PatchForm = PatchForm.STRATEGIC
    ) -> None:
        raw = await self._cluster.patch(ref_of(obj), patch, sub=sub, form=form)
        version = msgspec.json.decode(raw, type=_Written).metadata.resource_version
        self._expect(obj, shows_version(obj.metadata.uid, version))

    async def bind(
        self,
        namespace: str,
        seats: Sequence[tuple[Pod, str]],
        notes: Mapping[str, Mapping[str, str]] = _NO_NOTES,
        beside: Iterable[Pod] = (),
    ) -> None:
        """`notes` are annotations, by uid, that are written on the pods together with their node. `beside` are pods
        that have seats: if one of them has lost its seat meanwhile, nothing is bound."""
        bindings = [PodBinding(pod.metadata.name, pod.metadata.uid, pod.spec.node_name) for pod in beside]
        for pod, node in seats:
            meta = pod.metadata
            own = {name: text for name, text in notes.get(meta.uid, {}).items() if meta.annotations.get(name) != text}
            bindings.append(PodBinding(meta.name, meta.uid, node, own))
        try:
            with self._recorder.urgent_write():
                await self._cluster.bind(namespace, bindings)
        except (Refused, Unreachable) as error:
            self._expect_seated(pod for pod, _ in seats if pod.metadata.uid in error.done)
            if isinstance(error, Unreachable):
                self._is_uncertain(pod for pod, _ in seats if pod.metadata.uid not in error.done)
            raise
        self._expect_seated(pod for pod, _ in seats)

    def _expect_seated(self, pods: Iterable[Pod]) -> None:
        for pod in pods:
            self._expect(pod, shows_seat(pod.metadata.uid))

    async def release(self, releases: Sequence[tuple[Pod, PodEviction]]) -> None:
        """Writes on the pods of one gang why they are evicted, and deletes them."""
        await self._fence(pod for pod, eviction in releases if eviction.grace == 0)
        if releases:
            try:
                with self._recorder.urgent_write():
                    await self._cluster.release(releases[0][0].metadata.namespace, [each for _, each in releases])
            except Unreachable:
                self._is_uncertain(pod for pod, _ in releases)
                raise
        for pod, _ in releases:
            self._expect(pod, shows_deletion(pod.metadata.uid))

    def _is_uncertain(self, pods: Iterable[Pod]) -> None:
        self._uncertain.update((pod.metadata.uid, pod) for pod in pods)

    async def resolve_uncertain_writes(self) -> None:
        """After writes without an answer: asks for the present state of their pods. The view has to show at least that
        state."""
        await run_all(partial(self._resolve_uncertain_write, pod) for pod in self._uncertain.values())

    async def _resolve_uncertain_write(self, pod: Pod) -> None:
        uid = pod.metadata.uid
        try:
            raw = await self._cluster.get(ref_of(pod))
        except Refused as error:
            if error.code != HTTPStatus.NOT_FOUND:
                raise Unreachable(error.message) from error
            self._expect(pod, shows_gone(uid))
        else:
            found = msgspec.json.decode(raw, type=_Written).metadata
            self._expect(pod, shows_gone(uid) if found.uid != uid else shows_version(uid, found.resource_version))
        del self._uncertain[uid]

    def expect_deletion(self, pod: Pod, until: float) -> None:
        """Another component deletes the pod. The loop waits for that, until this time at most."""
        self._expect(pod, shows_deletion(pod.metadata.uid), until)

    async def remove(self, pod: Pod, at_once: bool) -> None:
        """Deletes a pod with its grace period, or `at_once` where its node is gone and cannot confirm the end of its
        processes."""
        await self._fence([pod] if at_once else ())
        try:
            await self._cluster.delete(ref_of(pod), grace=0 if at_once else None, uid=pod.metadata.uid)
        except Refused as error:
            if error.code not in (
                HTTPStatus.NOT_FOUND,
                HTTPStatus.CONFLICT,
            ):  # the pod is gone, or a new pod has its name
                raise
        self._expect(pod, shows_deletion(pod.metadata.uid))

    async def _fence(self, pods: Iterable[Pod]) -> None:
        """Annotates nodes before their pods are force-deleted: a later scheduler has to know when the nodes return."""
        by_node: dict[str, list[Pod]] = {}
        for pod in pods:
            by_node.setdefault(pod.spec.node_name, []).append(pod)
        wanted = {name: self._view.fence_wanted(name, found) for name, found in by_node.items()}
        await run_all(partial(self._write_fence, name, fence) for name, fence in wanted.items() if fence is not None)

    async def _write_fence(self, name: str, fence: Fence) -> None:
        """A node that was deleted, or created anew, runs none of these pods."""
        node = self._view.node(name)
        patch = fence_patch(node.metadata.uid if node is not None else "", format_fence(fence))
        try:
            await self._cluster.patch(Ref(NODES, name=name), patch, form=PatchForm.MERGE)
        except Refused as error:
            if error.code not in GONE:
                raise
            return
        self._view.fence(name, fence)

    def _expect(self, obj: Workload | Pod, shows: Shows, until: float = NO_LIMIT) -> None:
        meta = obj.metadata
        name = (obj.kind, meta.namespace, meta.name)
        self.expectations.expect(name, shows, self.known(obj), until)

    def known(self, obj: Workload | Pod) -> KubeObject | None:
        """The object as the view shows it now."""
        meta = obj.metadata
        if isinstance(obj, Pod):
            return self._view.pod(meta.namespace, meta.name)
        return self._view.job_of(job_key(obj))


def fence_patch(uid: str, note: str | None) -> MergePatch:
    """Without a note, the annotation is removed."""
    return {"metadata": {"uid": uid, "annotations": {FENCED: note}}}


def ref_of(obj: Workload | Pod) -> Ref:
    meta = obj.metadata
    resource = PODS if isinstance(obj, Pod) else job_resource(obj.api_version, obj.kind)
    return Ref(resource, meta.namespace, meta.name)
