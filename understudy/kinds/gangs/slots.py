"""Fills the places of a job with the observed pods; the remaining places are planned from the templates."""

from collections import deque
from collections.abc import Sequence

import msgspec

from understudy.kinds.context import Context
from understudy.kinds.observed_pod import ObservedPod
from understudy.kinds.outline import GangOutline, RoleOutline, planned_members
from understudy.kinds.registry import KINDS
from understudy.model.gangs import Member, PodCreation, Topology, TopologyMode


class GangSlot(msgspec.Struct, gc=False):
    """One place of an island. `role` and `position` name its template; a pod outside the outline has none."""

    slot: str
    role: RoleOutline | None = None
    position: int = 0
    sighting: ObservedPod | None = None
    member: Member | None = None


SlotsByIsland = dict[str, list[GangSlot]]


def slots_of(outline: GangOutline, live: Sequence[ObservedPod], done: set[str]) -> SlotsByIsland:
    """The places in the order of the outline, each with its observed pod; without those of finished pods."""
    by_slot = {s.ref.slot: s for s in reversed(live) if s.ref.slot}
    loose = [s for s in live if by_slot.get(s.ref.slot) is not s]
    islands: SlotsByIsland = {}
    for role in outline.roles:
        places = islands.setdefault(role.island, [])
        for position, name in enumerate(role.names):
            sighting = by_slot.pop(name, None)
            if sighting is not None or name not in done:
                places.append(GangSlot(name, role, position, sighting))
    _put_loose(islands, sorted((*loose, *by_slot.values()), key=_numbered))
    return islands


def _numbered(sighting: ObservedPod) -> tuple[str, int, str, int, str]:
    """By island and slot, with numbers compared as numbers: the tenth comes after the ninth."""
    ref = sighting.ref
    (island, nth), (slot, number) = ref.island.rpartition("-")[::2], ref.slot.rpartition("-")[::2]
    return (island, _number(nth), slot, _number(number), sighting.member.name)


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else -1


def _put_loose(islands: SlotsByIsland, sightings: Sequence[ObservedPod]) -> None:
    """A pod without a slot takes the first free place. For a pod outside the outline, its controller creates one pod
    less."""
    free: dict[str, deque[GangSlot]] = {}
    unwanted: dict[str, set[int]] = {}
    for sighting in sightings:
        island = sighting.ref.island or sighting.ref.name
        places = islands.setdefault(island, [])
        if island not in free:
            free[island] = deque(place for place in places if place.sighting is None)
        if free[island] and not sighting.ref.slot:
            free[island].popleft().sighting = sighting
            continue
        if free[island]:
            unwanted.setdefault(island, set()).add(id(free[island].pop()))
        places.append(GangSlot(sighting.ref.slot or sighting.member.name, sighting=sighting))
    for island, ids in unwanted.items():
        islands[island] = [place for place in islands[island] if id(place) not in ids]


def free_roles(islands: SlotsByIsland) -> list[RoleOutline]:
    """The roles whose templates are still needed."""
    roles = {id(p.role): p.role for places in islands.values() for p in places if p.sighting is None and p.role}
    return list(roles.values())


def fill_members(
    islands: SlotsByIsland, topologies: dict[str, Topology | None], namespace: str, context: Context
) -> None:
    """Gives every place its member."""
    waiting: dict[int, list[GangSlot]] = {}
    for island, places in islands.items():
        topology = topologies.get(island)
        for place in places:
            if place.sighting is not None:
                place.member = _staged(_member(place.sighting, topology, context), place)
            else:
                waiting.setdefault(id(place.role), []).append(place)
    for places in waiting.values():
        role = places[0].role
        assert role is not None  # only places of roles can be free
        made = planned_members(role, [place.position for place in places], namespace, context)
        for place, member in zip(places, made, strict=True):
            place.member = member


def _staged(member: Member, place: GangSlot) -> Member:
    stage, made = place.role.stage_at(place.position) if place.role is not None else (0, PodCreation.AT_ONCE)
    return msgspec.structs.replace(member, stage=stage, made=made) if stage else member


def _member(sighting: ObservedPod, topology: Topology | None, context: Context) -> Member:
    """The kind's own rules for exclusive placement are omitted if the island's topology says the same."""
    member, shape, kind = sighting.member, sighting.member.shape, KINDS.get(sighting.ref.kind)
    if topology is None or topology.mode is not TopologyMode.EXCLUSIVE or kind is None or not kind.domain_label:
        return member
    if not (shape.affinity or shape.anti_affinity or shape.selector):
        return member
    follower = not sighting.ref.slot.endswith("-0")
    lean = context.shapes.without_injected(shape, topology.key, kind.domain_label, follower)
    return member if lean is shape else msgspec.structs.replace(member, shape=lean)
