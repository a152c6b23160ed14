"""The gang of a job: its outline, filled with the observed pods; or only the pods, if the job is unknown or invalid."""

from collections.abc import Iterable, Mapping, Sequence, Set

from msgspec.structs import replace

from understudy.kinds import kueue
from understudy.kinds.annotations import read_annotations
from understudy.kinds.context import Context
from understudy.kinds.gang_ref import GangRef
from understudy.kinds.gangs.assembly import GangHead, assemble_gang
from understudy.kinds.gangs.group_gang import with_group_conditions, with_group_rules
from understudy.kinds.jobset import topology_of
from understudy.kinds.observed_pod import ObservedPod, PodState, pod_state
from understudy.kinds.outline import GangOutline
from understudy.kinds.pod_groups.definition import GroupDefinition
from understudy.kinds.registry import KINDS
from understudy.model.gangs import Gang, Island, Member
from understudy.objects.jobs import Workload
from understudy.objects.meta import seconds
from understudy.objects.pods import Pod

NO_GROUPS: Mapping[str, GroupDefinition] = {}


def gang_of(
    obj: Workload,
    context: Context,
    seen: Sequence[ObservedPod] = (),
    groups: Mapping[str, GroupDefinition] = NO_GROUPS,
    done: Set[str] = frozenset(),
) -> Gang | None:
    """None if the job is finished, or wants no pods and has none left.

    `groups` are the pod groups that its pods name, by island; `done` are places that its children report as done."""
    meta = obj.metadata
    created = seconds(meta.creation_timestamp) or 0.0
    notes = read_annotations(meta.annotations, obj)
    if kueue.manages_suspend(meta):  # only Kueue may resume it, whatever earlier annotations say
        notes = replace(notes, requeued=False)
    outline, pods = kueue.with_kueue_topology(KINDS[obj.kind].outline(obj, context, seen), seen)
    if groups:
        outline, pods = with_group_rules(outline, pods, groups)
    gang = assemble_gang(GangHead(obj.kind, meta.namespace, meta.name, created, notes), outline, pods, context, done)
    if gang is None or not groups:
        return gang
    ended = max(sum(s.state is PodState.DONE for s in seen), getattr(obj.status, "succeeded", 0))
    for definition in {d.title: d for d in groups.values()}.values():
        gang = with_group_conditions(gang, definition, gang.size + ended, f"{obj.title} has {gang.size + ended}")
    return gang


def gang_of_jobless_pods(seen: Sequence[ObservedPod], context: Context) -> Gang | None:
    """Only the existing pods count: it is not known whether the owner wants more. Each pod names the domain that it
    owns, since that was written on it when it was bound."""
    first = min(seen, key=lambda s: (s.created, s.member.name))
    ref = first.ref
    topologies = {s.ref.island: topology_of(s.annotations, ref) for s in seen}
    head = GangHead(ref.kind, ref.namespace, ref.name, first.created, read_annotations(first.annotations, ref))
    return assemble_gang(head, GangOutline(topologies=topologies), seen, context)


def gang_of_invalid_job(pods: Iterable[tuple[Pod, GangRef]], context: Context) -> Gang | None:
    """None if none of the pods has a seat."""
    seated: dict[PodState, list[Member]] = {state: [] for state in PodState}
    ref = None
    for pod, ref in pods:
        meta, node = pod.metadata, pod.spec.node_name
        if node:
            shape = context.shapes.of(pod.spec, meta.namespace, meta.name, meta.labels)
            seated[pod_state(pod)].append(Member(meta.name, shape, meta.labels, node, place=ref.slot))
    if ref is None or not (seated[PodState.LIVE] or seated[PodState.LEAVING]):
        return None
    return Gang(
        ref.key,
        ref.kind,
        ref.namespace,
        ref.name,
        (Island(ref.name, tuple(seated[PodState.LIVE])),),
        managed=False,
        leaving=tuple(seated[PodState.LEAVING]),
    )
