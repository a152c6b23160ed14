"""Pods and the definition of their group into a gang. Where one job has all of its pods, the job stays the gang, and
the definition adds what the job does not say."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from understudy.kinds.annotations import Notes, notes_of
from understudy.kinds.assembling import Head, assembled
from understudy.kinds.context import Context
from understudy.kinds.groups.definitions import Definition
from understudy.kinds.kueue import topology_of
from understudy.kinds.outlines import Outline, in_one_island
from understudy.kinds.sightings import Sighting, State
from understudy.model.gangs import Gang
from understudy.objects.pods import PodSpec


def group_gang(definition: Definition, seen: Sequence[Sighting], context: Context) -> Gang | None:
    """The pods there are are the gang; whether there will be more nobody knows."""
    first = min(seen, key=lambda s: (s.created, s.member.name))
    ref, notes = first.ref, _notes(definition, first, seen)
    created = first.created if definition.created is None else definition.created
    topology = notes.topology or definition.topology or topology_of(first.annotations)
    outline = Outline(minimum=definition.minimum, topologies={ref.island: topology})
    gang = assembled(Head(ref.kind, ref.namespace, ref.name, created, notes), outline, seen, context)
    if gang is None:
        return None
    there = sum(s.state in (State.LIVE, State.DONE) for s in seen)
    words = f"there {'is' if there == 1 else 'are'} {there}"
    return formed(_ranked(gang, definition, context), definition, there, words)


def _notes(definition: Definition, first: Sighting, seen: Sequence[Sighting]) -> Notes:
    """What people want stands on the group, or on its oldest pod; what Understudy has to remember, on its pods."""
    wishes, own = definition.notes, notes_of(first.annotations, first.ref)
    seats = {member: node for s in seen for member, node in notes_of(s.annotations, s.ref).last_seats}
    return replace(
        own,
        topology=wishes.topology or own.topology,
        min_members=own.min_members if wishes.min_members is None else wishes.min_members,
        on_preemption=max(wishes.on_preemption, own.on_preemption, key=lambda wish: wish != "requeue"),
        checkpoint_at=wishes.checkpoint_at or own.checkpoint_at,
        last_seats=tuple(sorted(seats.items())),
    )


def _ranked(gang: Gang, definition: Definition, context: Context) -> Gang:
    """What a group says of its importance means what it means on a pod, and goes before what its pods say."""
    given = PodSpec((), priority=definition.priority, priority_class_name=definition.priority_class)
    if definition.priority is not None or definition.priority_class:
        standing = context.standing(given, definition, "spec")
        gang = replace(gang, priority=standing.priority, preempts=gang.preempts and standing.preempts)
    return replace(gang, preempts=False) if definition.preemption_policy == "Never" else gang


def under(
    outline: Outline, seen: Sequence[Sighting], groups: Mapping[str, Definition]
) -> tuple[Outline, list[Sighting]]:
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


def formed(gang: Gang, definition: Definition, there: int, in_words: str) -> Gang:
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
