"""Keeps the wanted number of warm understudies for each job, made from the template of its members."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec

from understudy.control.record.event_formats import EventSubject
from understudy.embedded.controllers.runtime.controller import ChangeHandler
from understudy.embedded.controllers.runtime.event_aggregator import EventAggregator
from understudy.embedded.controllers.runtime.object_version import ObjectChange, ObjectVersion, ObservedPod
from understudy.embedded.controllers.runtime.work_queue import WorkQueue
from understudy.kinds.annotations import WARM, WARM_FOR, wanted_understudies
from understudy.kinds.children.actions import EventNote
from understudy.kinds.children.partial_objects import PartialObject
from understudy.kinds.decoding import decode_json
from understudy.kinds.gangs.lone_pod import is_live
from understudy.kinds.ownership import owner_of
from understudy.kinds.registry import JOB_RESOURCES, control_of, is_ending
from understudy.kinds.understudies import TEMPLATE_KEY, is_outdated, template_member, understudy_name, understudy_pod
from understudy.objects.errors import BadObject
from understudy.objects.jobs import Workload
from understudy.objects.meta import seconds
from understudy.objects.pods import ENDED_PHASES, Pod
from understudy.objects.resources import PODS, Resource
from understudy.ports import Clock, Cluster, Ref, Refused

REST = 1.0  # seconds without new understudies after a job lost one: starting them would slow the job's recovery
ANEW_AFTER = 10.0  # seconds before a failed understudy is replaced
_KINDS = tuple(resource.kind for resource in JOB_RESOURCES)
_MARK = WARM_FOR.encode()

Document = dict[str, Any]
Name = tuple[str, str]  # (namespace, name)


class WarmUnderstudyController:
    """Keys are those of gangs: Kind/namespace/name. Pods are decoded only while some job wants understudies."""

    name = "warm understudies"

    def __init__(self, cluster: Cluster, clock: Clock, recorder: EventAggregator) -> None:
        self.queue: WorkQueue[str] = WorkQueue(clock)
        self._cluster = cluster
        self._clock = clock
        self._recorder = recorder
        self._jobs: dict[str, bytes] = {}  # that want understudies
        self._unread: dict[Name, ObjectVersion] = {}
        self._pods: dict[str, dict[Name, ObjectVersion]] = {}  # by gang
        self._warm: dict[str, dict[Name, Pod]] = {}  # by gang
        self._gangs: dict[Name, str] = {}
        self._gone_at: dict[str, float] = {}  # by gang, when one of its understudies was deleted

    def watches(self) -> Mapping[Resource, ChangeHandler]:
        return {**{resource: self._job_handler(resource.kind) for resource in JOB_RESOURCES}, PODS: self._on_pod}

    def _job_handler(self, kind: str) -> ChangeHandler:
        def handle(change: ObjectChange) -> None:
            meta = change.read(PartialObject).metadata
            key = f"{kind}/{meta.namespace}/{meta.name}"
            child = meta.controller is not None and meta.controller.kind in _KINDS  # its parent has the annotation
            if change.is_deleted or WARM not in meta.annotations or child:
                if self._jobs.pop(key, None) is not None:
                    self.queue.add(key)
                return
            self._jobs[key] = change.raw
            self.queue.add(key)

        return handle

    def _on_pod(self, change: ObjectChange) -> None:
        meta = change.read(ObservedPod).metadata
        name = (meta.namespace, meta.name)
        gone = change.is_deleted
        if gone and name in self._warm.get(self._gangs.get(name, ""), {}):
            self._gone_at[self._gangs[name]] = self._clock.now()
        self._forget(name)
        if gone:
            return
        if self._jobs or _MARK in change.raw:
            self._sort(name, change.object_version)
        else:
            self._unread[name] = change.object_version

    def _forget(self, name: Name) -> None:
        self._unread.pop(name, None)
        key = self._gangs.pop(name, None)
        if key is not None:
            self._pods.get(key, {}).pop(name, None)
            self._warm.get(key, {}).pop(name, None)
            self._touch(key)

    def _sort(self, name: Name, version: ObjectVersion) -> None:
        pod = version.kube_object_or_none()
        if not isinstance(pod, Pod):
            return
        key = pod.metadata.annotations.get(WARM_FOR)
        if key is not None:
            self._warm.setdefault(key, {})[name] = pod
        else:
            key = owner_of(pod).key
            if is_live(pod) and pod.spec.node_name:
                self._pods.setdefault(key, {})[name] = version
        self._gangs[name] = key
        self._touch(key)

    def _touch(self, key: str) -> None:
        for known in (key, f"TrainJob{key.removeprefix('JobSet')}" if key.startswith("JobSet/") else key):
            if known in self._jobs or self._warm.get(known):
                self.queue.add(known)

    async def reconcile(self, key: str) -> float | None:
        unread, self._unread = self._unread, {}
        for name, version in unread.items():
            self._sort(name, version)
        raw_job = self._jobs.get(key)
        wanted = self._wanted(raw_job) if raw_job is not None else 0
        members = self._members(key)
        model = template_member(members) if wanted else None
        again_at = await self._dismiss(key, wanted, model)
        if raw_job is not None and model is not None and len(self._warm.get(key, {})) < wanted:
            rested_at = self._gone_at.get(key, 0.0) + REST
            if self._clock.now() < rested_at:
                return rested_at if again_at is None else min(again_at, rested_at)
            await self._make(key, msgspec.json.decode(raw_job), model, wanted)
        if raw_job is None:
            self._gone_at.pop(key, None)
        if not self._warm.get(key):
            self._warm.pop(key, None)
        return again_at

    def _members(self, key: str) -> list[Document]:
        """The pods of a TrainJob belong to its JobSet."""
        of_jobset = f"JobSet{key.removeprefix('TrainJob')}" if key.startswith("TrainJob/") else key
        return [msgspec.json.decode(version.raw) for version in self._pods.get(of_jobset, {}).values()]

    def _wanted(self, raw: bytes) -> int:
        """0 for a job that has ended, is paused, or has an invalid number."""
        try:
            job = decode_json(raw)
            wanted = wanted_understudies(job.metadata.annotations, job)
        except BadObject as problem:
            document = msgspec.json.decode(raw)
            meta = document["metadata"]
            about = EventSubject(document["apiVersion"], document["kind"], meta["namespace"], meta["name"], meta["uid"])
            self._recorder.record(about, EventNote("InvalidObject", str(problem), "Warning"))
            return 0
        assert isinstance(job, Workload)
        over = job.metadata.deletion_timestamp is not None or is_ending(job)
        return 0 if over or _is_paused(job, msgspec.json.decode(raw)) else wanted

    async def _dismiss(self, key: str, wanted: int, model: Document | None) -> float | None:
        """Deletes understudies that are too many, have ended, or were made from an older template."""
        names = {understudy_name(key.rpartition("/")[2], number) for number in range(wanted)}
        again_at = None
        for pod in list(self._warm.get(key, {}).values()):
            meta = pod.metadata
            outdated = model is not None and is_outdated(meta.annotations.get(TEMPLATE_KEY, ""), model)
            ended = pod.status.phase in ENDED_PHASES
            anew_at = (seconds(meta.creation_timestamp) or 0.0) + ANEW_AFTER
            if ended and meta.name in names and not outdated and self._clock.now() < anew_at:
                again_at = anew_at
            elif meta.deletion_timestamp is None and (ended or outdated or meta.name not in names):
                await self._delete(pod)
        return again_at

    async def _delete(self, pod: Pod) -> None:
        meta = pod.metadata
        try:
            await self._cluster.delete(Ref(PODS, meta.namespace, meta.name), uid=meta.uid)
        except Refused as error:
            if error.code not in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):
                raise

    async def _make(self, key: str, job: Document, model: Document, wanted: int) -> None:
        namespace = job["metadata"]["namespace"]
        for number in range(wanted):
            made = understudy_pod(job, key, model, number)
            if (namespace, made["metadata"]["name"]) not in self._warm.get(key, {}):
                try:
                    await self._cluster.create(Ref(PODS, namespace), made)
                except Refused as error:
                    if error.code != HTTPStatus.CONFLICT:  # it exists; the watch will tell
                        raise


def _is_paused(job: Workload, document: Any) -> bool:
    for field in control_of(job).pause:
        document = document.get(field) if isinstance(document, dict) else None
    return document is True
