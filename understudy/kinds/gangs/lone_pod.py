"""A lone pod is a gang of one. There may be very many, so they have a fast path; Jobs of one pod use it too."""

import msgspec

from understudy.kinds.annotations import (
    CAPACITY,
    NO_ANNOTATIONS,
    checkpoint_request,
    read_annotations,
    read_capacity,
)
from understudy.kinds.context import Context
from understudy.kinds.gang_ref import GangRef
from understudy.kinds.gangs.assembly import GangHead, assemble_gang
from understudy.kinds.gangs.capacity import with_capacity
from understudy.kinds.observed_pod import observe_pod
from understudy.kinds.outline import GangOutline
from understudy.model.gangs import Gang, Island, Member
from understudy.model.nodes import CapacityPolicy
from understudy.objects.meta import seconds
from understudy.objects.pods import ENDED_PHASES, Pod

UNDERSTUDY_PRIORITY = -(2**31) - 1  # below every priority that a pod can have


def lone_gang(pod: Pod, ref: GangRef, context: Context) -> Gang | None:
    notes = read_annotations(pod.metadata.annotations, pod) if pod.metadata.annotations else NO_ANNOTATIONS
    if notes is NO_ANNOTATIONS and is_live(pod):
        return gang_of_one(pod, ref, seconds(pod.metadata.creation_timestamp) or 0.0, context)
    sighting = observe_pod(pod, ref, context)
    head = GangHead("Pod", ref.namespace, ref.name, sighting.created, notes)
    gang = assemble_gang(head, GangOutline(), (sighting,), context)
    if gang is None or not notes.warm_for:
        return msgspec.structs.replace(gang, infrastructure=ref.infrastructure) if gang else None
    return msgspec.structs.replace(gang, warm_for=notes.warm_for, priority=UNDERSTUDY_PRIORITY, preempts=False)


def is_live(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is None and pod.status.phase not in ENDED_PHASES


def gang_of_one(pod: Pod, ref: GangRef, queued_at: float, context: Context) -> Gang:
    """The gang of a single live pod without annotations. The same as `assemble_gang` returns."""
    meta, spec, status = pod.metadata, pod.spec, pod.status
    priority = context.priority_of(spec, pod, "spec")
    node = spec.node_name
    shape = context.shapes.of(spec, meta.namespace, meta.name, meta.labels)
    member = Member(meta.name, shape, meta.labels, node, place=ref.slot)
    if context.default_capacity is not None or CAPACITY in meta.annotations:
        member = with_capacity(member, _capacity(pod, priority.priority, context), context)
    nominated = status.nominated_node_name
    asked = checkpoint_request(meta.annotations) if meta.annotations else None
    return Gang(
        ref.key,
        ref.kind,
        ref.namespace,
        ref.name,
        (Island(ref.island or ref.name, (member,)),),
        priority.priority,
        queued_at,
        None,
        priority.preempts,
        context.ours(spec),
        ref.infrastructure,
        gates=() if node or not spec.scheduling_gates else tuple(sorted(g.name for g in spec.scheduling_gates)),
        started_at=seconds(status.start_time) if node else None,
        checkpoint_requests=((meta.name, asked),) if node and asked is not None else (),
        grace=float(spec.termination_grace_period_seconds),
        holds=((meta.name, nominated),) if nominated and not node else (),
        unseated_since=queued_at,
    )


def _capacity(pod: Pod, priority: int, context: Context) -> CapacityPolicy:
    if CAPACITY in pod.metadata.annotations:
        return read_capacity(pod.metadata.annotations, pod.title)
    return context.default_capacity(priority) if context.default_capacity is not None else CapacityPolicy.ANY


def is_unchanged(pod: Pod, known: Pod) -> bool:
    """Whether no field changed that is read here: most status writes of kubelets change none."""
    if pod.status != known.status or pod.spec != known.spec:
        return False
    return msgspec.structs.replace(pod.metadata, resource_version=known.metadata.resource_version) == known.metadata
