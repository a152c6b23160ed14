"""Puts a gang together: who it is, the places its job wants filled, and the pods that were seen in them."""

from collections.abc import Iterable, Sequence

import msgspec

from understudy.kinds.annotations import Notes
from understudy.kinds.context import Context, Standing
from understudy.kinds.outlines import Outline, Role
from understudy.kinds.places import Islands, Place, free_roles, places_of, settle
from understudy.kinds.sightings import Sighting, State
from understudy.model.gangs import Gang, Island, Member, Suspension


class Head(msgspec.Struct, frozen=True):
    """Who the gang is, and what its annotations say."""

    kind: str
    namespace: str
    name: str
    queued_at: float
    notes: Notes

    @property
    def title(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


def assembled(head: Head, outline: Outline, pods: Sequence[Sighting], context: Context) -> Gang | None:
    """None where nothing is left of it: no place to fill, and no pod that fills a seat."""
    pods = sorted(pods, key=_seen_order)
    live = [s for s in pods if s.state is State.LIVE]
    islands = places_of(outline, live, {s.ref.slot for s in pods if s.state is State.DONE and s.ref.slot})
    leaving = tuple(s.member for s in pods if s.state is State.LEAVING and s.member.node)
    if not leaving and not any(islands.values()):
        return None
    roles = free_roles(islands)
    topologies = {**outline.topologies, **{role.island: role.topology for role in outline.roles}}
    settle(islands, topologies, head.namespace, context)
    _remember_seats(islands, pods, head.notes)
    standing = _standing(head, live or pods, roles or outline.roles, context)
    return Gang(
        key=f"{head.kind}/{head.namespace}/{head.name}",
        kind=head.kind,
        namespace=head.namespace,
        name=head.name,
        islands=tuple(
            Island(name, tuple(_member(p) for p in places), topologies.get(name, head.notes.topology))
            for name, places in islands.items()
            if places
        ),
        priority=standing.priority,
        queued_at=head.queued_at if head.notes.queued_at is None else head.notes.queued_at,
        min_members=outline.minimum if head.notes.min_members is None else head.notes.min_members,
        preempts=standing.preempts,
        managed=all(s.ours for s in live) and all(context.ours(r.template.spec) for r in roles),
        suspension=_suspension(outline, head.notes),
        gates=_gates(live, roles),
        on_preemption=head.notes.on_preemption,
        started_at=min((s.started for s in live if s.started is not None and s.member.node), default=None),
        checkpoint_at=head.notes.checkpoint_at,
        leaving=leaving,
        holds=_holds(islands, head.notes),
        preempted_for_it=head.notes.preempted_for_it,
        failures=head.notes.failures,
    )


def _seen_order(sighting: Sighting) -> tuple[bool, float, str]:
    """Of two pods for one place, the one with a seat has it, then the older."""
    return (not sighting.member.node, sighting.created, sighting.member.name)


def _member(place: Place) -> Member:
    assert place.member is not None  # `settle` gave every place one
    return place.member


def _standing(head: Head, pods: Sequence[Sighting], roles: Iterable[Role], context: Context) -> Standing:
    """A gang is as important as its most important pod, and preempts only if all of its pods may."""
    found = [s.standing for s in pods] or [
        context.standing(role.template.spec, head, f"{role.field}.spec") for role in roles
    ]
    return Standing(max((s.priority for s in found), default=0), all(s.preempts for s in found))


def _suspension(outline: Outline, notes: Notes) -> Suspension:
    if not outline.suspended:
        return Suspension.NONE
    return Suspension.REQUEUED if notes.requeued else Suspension.BY_OWNER


def _gates(live: Sequence[Sighting], roles: Iterable[Role]) -> tuple[str, ...]:
    seen = {gate for s in live if not s.member.node for gate in s.gates}
    return tuple(sorted(seen.union(gate.name for role in roles for gate in role.template.spec.scheduling_gates)))


def _remember_seats(islands: Islands, pods: Sequence[Sighting], notes: Notes) -> None:
    """Members without a seat know where they, or the pod before them, sat last."""
    former = dict(notes.last_seats)
    nameless = []
    for sighting in pods:
        if sighting.member.node and sighting.state in (State.FAILED, State.LEAVING):
            if sighting.ref.slot:
                former[sighting.ref.slot] = sighting.member.node
            else:
                nameless.append(sighting.member.node)
    if not former and not nameless:
        return
    for place in _all(islands):
        member = _member(place)
        if member.node:
            continue
        node = _by_name(former, place, member) or (nameless.pop(0) if nameless else "")
        if node:
            place.member = msgspec.structs.replace(member, last_node=node)


def _holds(islands: Islands, notes: Notes) -> tuple[tuple[str, str], ...]:
    """Seats kept for members: by annotation, also for one that will move; else by nomination."""
    kept = dict(notes.holds)
    found = []
    for place in _all(islands):
        member = _member(place)
        nominated = place.sighting.nominated if place.sighting and not member.node else ""
        node = (_by_name(kept, place, member) if kept else "") or nominated
        if node and node != member.node:
            found.append((member.name, node))
    return tuple(sorted(found))


def _by_name(nodes: dict[str, str], place: Place, member: Member) -> str:
    """A member goes by its pod's name, its place's, or the name of an earlier pod of that place."""
    if node := nodes.get(member.name) or nodes.get(place.slot):
        return node
    return next((node for name, node in nodes.items() if name.rpartition("-")[0] == place.slot), "")


def _all(islands: Islands) -> Iterable[Place]:
    return (place for places in islands.values() for place in places)
