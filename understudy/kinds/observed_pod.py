"""Pods as observed: the place of each in its gang, what it requests, and whether it still counts."""

import enum
from collections.abc import Mapping

import msgspec

from understudy.kinds.annotations import checkpoint_request
from understudy.kinds.context import Context, PodPriority
from understudy.kinds.gang_ref import GangRef
from understudy.model.gangs import Member
from understudy.objects.meta import seconds
from understudy.objects.pods import Pod


class PodState(enum.Enum):
    LIVE = enum.auto()
    LEAVING = enum.auto()  # being deleted; occupies its seat until it is gone
    DONE = enum.auto()
    FAILED = enum.auto()


class ObservedPod(msgspec.Struct, frozen=True, gc=False):
    ref: GangRef
    state: PodState
    member: Member
    priority: PodPriority
    ours: bool
    created: float
    annotations: Mapping[str, str] = {}
    started: float | None = None
    nominated: str = ""
    gates: tuple[str, ...] = ()
    grace: int = 30
    checkpoint_by: float | None = None


def observe_pod(pod: Pod, ref: GangRef, context: Context) -> ObservedPod:
    meta, spec, status = pod.metadata, pod.spec, pod.status
    shape = context.shapes.of(spec, meta.namespace, meta.name, meta.labels)
    return ObservedPod(
        ref=ref,
        state=pod_state(pod),
        member=Member(meta.name, shape, meta.labels, spec.node_name, place=ref.slot),
        priority=context.priority_of(spec, pod, "spec"),
        ours=context.ours(spec),
        created=seconds(meta.creation_timestamp) or 0.0,
        annotations=meta.annotations,
        started=seconds(status.start_time),
        nominated=status.nominated_node_name,
        gates=tuple(gate.name for gate in spec.scheduling_gates),
        grace=spec.termination_grace_period_seconds,
        checkpoint_by=checkpoint_request(meta.annotations) if meta.annotations else None,
    )


def pod_state(pod: Pod) -> PodState:
    """A finished pod occupies no seat, whether it is being deleted or not."""
    if pod.status.phase == "Succeeded":
        return PodState.DONE
    if pod.status.phase == "Failed":
        return PodState.FAILED
    return PodState.LIVE if pod.metadata.deletion_timestamp is None else PodState.LEAVING
