"""The gang of a job whose object is known: its outline, filled with the observed pods."""

from collections.abc import Mapping, Sequence, Set

from msgspec.structs import replace

from understudy.kinds import kueue
from understudy.kinds.annotations import read_annotations
from understudy.kinds.context import Context
from understudy.kinds.gangs.assembly import GangHead, assemble_gang
from understudy.kinds.gangs.group_gang import with_group_conditions, with_group_rules
from understudy.kinds.observed_pod import ObservedPod, PodState
from understudy.kinds.pod_groups.definition import GroupDefinition
from understudy.kinds.registry import KINDS
from understudy.model.gangs import Gang
from understudy.objects.jobs import Workload
from understudy.objects.meta import seconds

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
