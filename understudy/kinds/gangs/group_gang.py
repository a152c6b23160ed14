"""Pods and the definition of their group into a gang. Where one job has all of its pods, the job stays the gang, and
the definition adds what the job does not say."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from understudy.kinds.annotations import JobAnnotations, read_annotations
from understudy.kinds.context import Context
from understudy.kinds.gangs.assembly import GangHead, assemble_gang
from understudy.kinds.kueue import topology_of
from understudy.kinds.observed_pod import ObservedPod, PodState
from understudy.kinds.outline import GangOutline, in_one_island
from understudy.kinds.pod_groups.definition import GroupDefinition
from understudy.model.gangs import Gang
from understudy.objects.pods import PodSpec


def group_gang(definition: GroupDefinition, seen: Sequence[ObservedPod], context: Context) -> Gang | None:
    """The gang consists of the pods that exist; whether more will come is not known."""
    first = min(seen, key=lambda s: (s.created, s.member.name))
    ref, notes = first.ref, _notes(definition, first, seen)
    created = first.created if definition.created is None else definition.created
    topology = notes.topology or definition.topology or topology_of(first.annotations)
    outline = GangOutline(minimum=definition.minimum, topologies={ref.island: topology})
    gang = assemble_gang(GangHead(ref.kind, ref.namespace, ref.name, created, notes), outline, seen, context)
    if gang is None:
        return None
    there = sum(s.state in (PodState.LIVE, PodState.DONE) for s in seen)
    words = f"there {'is' if there == 1 else 'are'} {there}"
    return with_group_conditions(_ranked(gang, definition, context), definition, there, words)


def _notes(definition: GroupDefinition, first: ObservedPod, seen: Sequence[ObservedPod]) -> JobAnnotations:
    """What people want stands on the group, or on its oldest pod; what Understudy has to remember, on its pods."""
    wishes, own = definition.notes, read_annotations(first.annotations, first.ref)
    seats = {member: node for s in seen for member, node in read_annotations(s.annotations, s.ref).last_seats}
    return replace(
        own,
        topology=wishes.topology or own.topology,
        min_members=own.min_members if wishes.min_members is None else wishes.min_members,
        on_preemption=max(wishes.on_preemption, own.on_preemption, key=lambda wish: wish != "requeue"),
        checkpoint_at=wishes.checkpoint_at or own.checkpoint_at,
        last_seats=tuple(sorted(seats.items())),
    )


def _ranked(gang: Gang, definition: GroupDefinition, context: Context) -> Gang:
    """What a group says of its importance means what it means on a pod, and goes before what its pods say."""
    given = PodSpec((), priority=definition.priority, priority_class_name=definition.priority_class)
    if definition.priority is not None or definition.priority_class:
        standing = context.standing(given, definition, "spec")
        gang = replace(gang, priority=standing.priority, preempts=gang.preempts and standing.preempts)
    return replace(gang, preempts=False) if definition.preemption_policy == "Never" else gang


def with_group_rules(
    outline: GangOutline, seen: Sequence[ObservedPod], groups: Mapping[str, GroupDefinition]
) -> tuple[GangOutline, list[ObservedPod]]:
    """A job's outline, with what the groups of its islands add; and its pods in the islands they make.

    One group for all of it may say how few will do, and that all of it belongs in one domain. With several, each says
    where its own islands belong, and the job runs whole.
    """
    distinct = {definition.title: definition for definition in groups.values()}
    if len(distinct) == 1:
        (only,) = distinct.values()
        if outline.minimum is None:
            outline = replace(outline, minimum=only.minimum)
        wanted = only.notes.topology or only.topology
        if wanted is not None and all(role.topology is None for role in outline.roles):
            return in_one_island(outline, seen, outline.roles, only.name, wanted)
        return outline, list(seen)
    roles = tuple(
        replace(role, topology=group.notes.topology or group.topology)
        if role.topology is None and (group := groups.get(role.island)) is not None
        else role
        for role in outline.roles
    )
    return replace(outline, roles=roles), list(seen)


def with_group_conditions(gang: Gang, definition: GroupDefinition, there: int, in_words: str) -> Gang:
    """The gang, with what has to happen before its group counts as one. One that runs has that behind it.

    `there` is how many pods it has, or will have.
    """
    gang = replace(gang, whole=gang.whole or definition.whole)
    if gang.seated():
        return gang
    words = [f"{definition.title}: {word}" for word in definition.unsupported]
    if definition.absent:
        words.append(f"{definition.title} does not exist yet")
    elif there < definition.least:
        words.append(f"{definition.title} wants {definition.least} pods, and {in_words}")
    return replace(gang, awaits=(*gang.awaits, *words))
