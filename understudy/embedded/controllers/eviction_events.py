"""Evictions by the Eviction API as events on their pods, so that what is told of a job outlives the pods."""

from collections.abc import Mapping

from understudy.control.record.event_formats import EventSubject
from understudy.embedded.controllers.runtime.controller import ChangeHandler
from understudy.embedded.controllers.runtime.event_aggregator import EventAggregator
from understudy.embedded.controllers.runtime.object_version import ObjectChange, ObservedPod
from understudy.embedded.controllers.runtime.work_queue import WorkQueue
from understudy.kinds.children.actions import EventNote
from understudy.kinds.children.partial_objects import find_condition
from understudy.objects.resources import PODS, Resource
from understudy.ports import Clock

BY_API = "EvictionByEvictionAPI"  # the reason of the pod's condition


class EvictionEvents:
    """It has no keys: an event is written when the pod changes."""

    name = "eviction events"

    def __init__(self, clock: Clock, recorder: EventAggregator) -> None:
        self.queue: WorkQueue[str] = WorkQueue(clock)
        self._recorder = recorder
        self._reported: set[str] = set()  # uids of pods that are still there

    def watches(self) -> Mapping[Resource, ChangeHandler]:
        return {PODS: self._on_pod}

    def _on_pod(self, change: ObjectChange) -> None:
        pod = change.read(ObservedPod)
        meta, node = pod.metadata, pod.spec.node_name
        condition = find_condition(pod.status.conditions, "DisruptionTarget")
        if condition is not None and condition.reason == BY_API and node and meta.uid not in self._reported:
            self._reported.add(meta.uid)
            note = EventNote("Evicted", f"Evicted from node {node} by the Eviction API")
            self._recorder.record(EventSubject("v1", "Pod", meta.namespace, meta.name, meta.uid), note)
        if change.is_deleted:
            self._reported.discard(meta.uid)

    async def reconcile(self, key: str) -> float | None:
        raise AssertionError(f"no key is ever queued, and here is {key}")
