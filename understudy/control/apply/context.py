"""What applying works with: the view it reads, the writer, and the recorder of events."""

from http import HTTPStatus

import msgspec

from understudy.control.apply.cluster_writer import ClusterWriter
from understudy.control.apply.taint_eviction import TaintEviction
from understudy.control.record.event_recorder import EventRecorder
from understudy.control.view.cluster_view import ClusterView
from understudy.kinds.decoding import decode_json
from understudy.objects.meta import Condition, KubeObject, has_condition
from understudy.objects.resources import PODS
from understudy.ports import Clock, ClusterReader, Ref, Refused


class _Conditions(msgspec.Struct, frozen=True):
    conditions: tuple[Condition, ...] = ()


class _PodConditions(msgspec.Struct, frozen=True):
    status: _Conditions = _Conditions()


class ApplyContext(msgspec.Struct, frozen=True):
    cluster: ClusterReader
    clock: Clock
    view: ClusterView
    writer: ClusterWriter
    recorder: EventRecorder
    evictor: TaintEviction

    async def read(self, ref: Ref) -> KubeObject:
        return decode_json(await self.cluster.get(ref))

    async def is_ready(self, namespace: str, pod: str) -> bool:
        """The view does not keep the conditions of pods: they need much memory and are rarely read."""
        try:
            found = msgspec.json.decode(await self.cluster.get(Ref(PODS, namespace, pod)), type=_PodConditions)
        except Refused as error:
            if error.code != HTTPStatus.NOT_FOUND:
                raise
            return False
        return has_condition(found.status.conditions, "Ready")
