"""Pods and the definition of their pod group into a gang. If one job owns all pods, the job stays the gang, and the
definition adds what the job does not specify."""

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
    """The gang consists of the pods that exist; it is not known whether more will be created."""
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
    """Users annotate the group or its oldest pod; Understudy annotates its pods."""
    wishes, own = definition.notes, read_annotations(first.annotations, first.ref)
    seats = {member: node for s in seen for member, node in read_annotations(s.annotations, s.ref).last_seats}
    return replace(
        own,
        topology=wishes.topology or own.topology,
        min_members=own.min_members if wishes.min_members is None else wishes.min_members,
        on_preemption=max(wishes.on_preemption, own.on_preemption, key=lambda wish: wish != "requeue"),
        checkpoint_at=wishes.checkpoint_at or own.checkpoint_at,
        last_seats=tuple(sorted(seats.items())),
        capacity=wishes.capacity or own.capacity,
        critical_members=wishes.critical_members or own.critical_members,
        max_spot_members=wishes.max_spot_members or own.max_spot_members,
        one_capacity_kind=wishes.one_capacity_kind or own.one_capacity_kind,
        preemption_delay=own.preemption_delay if wishes.preemption_delay is None else wishes.preemption_delay,
    )


def _ranked(gang: Gang, definition: GroupDefinition, context: Context) -> Gang:
    """The priority of a group means the same as that of a pod, and overrides those of its pods."""
    given = PodSpec((), priority=definition.priority, priority_class_name=definition.priority_class)
    if definition.priority is not None or definition.priority_class:
        own = context.priority_of(given, definition, "spec")
        gang = replace(gang, priority=own.priority, preempts=gang.preempts and own.preempts)
    return replace(gang, preempts=False) if definition.preemption_policy == "Never" else gang


def with_group_rules(
    outline: GangOutline, seen: Sequence[ObservedPod], groups: Mapping[str, GroupDefinition]
) -> tuple[GangOutline, list[ObservedPod]]:
    """A job's outline, with the rules of the groups of its islands; and its pods, moved to the islands that these rules
    form.

    One group for the whole job may set a minimum and one domain for all. With several groups, each sets the domain of
    its own islands, and the job runs whole."""
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
    """The gang, with the conditions that its group must meet before it may start. They do not apply to a running gang.

    `there` is the number of its pods, existing or expected."""
    gang = replace(gang, whole=gang.whole or definition.whole)
    if gang.seated():
        return gang
    words = [f"{definition.title}: {word}" for word in definition.unsupported]
    if definition.absent:
        words.append(f"{definition.title} does not exist yet")
    elif there < definition.least:
        words.append(f"{definition.title} wants {definition.least} pods, and {in_words}")
    return replace(gang, awaits=(*gang.awaits, *words))
