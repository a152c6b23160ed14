"""The order in which domains and nodes are tried for a placement request, best candidates first."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain

from understudy.decide.fit import dislikes, preference
from understudy.decide.placement_request import IslandRequest, PlacementRequest
from understudy.decide.proposal import Proposal
from understudy.decide.seat_search import SeatSearch
from understudy.model.gangs import Shape, TopologyMode

SCORED_DOMAINS = 256  # up to so many domains are measured for the best fit; beyond, they are taken in a fixed order


def domain_order(trial: SeatSearch, quest: PlacementRequest, part: IslandRequest) -> Iterator[str]:
    """The domains this part could go to, best first: its old one, those the hypothesis frees, then the tightest fit."""
    topology = part.island.topology
    assert topology is not None
    key, floor = topology.key, trial.floor
    if part.pinned is not None:
        values: Iterable[str] = [part.pinned]
    else:
        homes = [] if trial.homeless else [trial.home(m) for m in part.members]
        near = [label for n in (*homes, *quest.near) if n and (label := _domain_value(floor, n, key)) is not None]
        values = dict.fromkeys(chain(near, _unpinned_domains(trial, quest, part)))
    for value in values:
        closed = (key, value) in trial.claims or why_domain_closed(trial, part, value) is not None
        if not closed and floor.could_hold(key, value, part.members):
            yield value


def _unpinned_domains(trial: SeatSearch, quest: PlacementRequest, part: IslandRequest) -> Iterable[str]:
    topology = part.island.topology
    assert topology is not None
    floor = trial.floor
    if topology.mode is TopologyMode.EXCLUSIVE:
        vacant = list(floor.vacant(topology.key))
        if floor.spares:  # for repairs spare domains come first, for borrowers last
            vacant.sort(key=lambda value: _is_spare(floor, topology.key, value) is not quest.repairing)
        return _warm_first(floor, quest, topology.key, vacant)
    values = sorted(floor.snapshot.domains[topology.key])
    if len(values) <= SCORED_DOMAINS:
        values.sort(key=lambda value: _spare_capacity(trial, part, value))
    return _warm_first(floor, quest, topology.key, values)


def _warm_first(floor: Proposal, quest: PlacementRequest, key: str, values: list[str]) -> list[str]:
    """For a repair, the domains come first in which understudies of the gang hold themselves ready."""
    warm = floor.warm.get(quest.gang.key) if quest.repairing and floor.warm else None
    if not warm:
        return values
    counts = Counter(_domain_value(floor, name, key) for name in warm)
    return sorted(values, key=lambda value: -counts[value])  # sorting is stable


def _is_spare(floor: Proposal, key: str, value: str) -> bool:
    return all(name in floor.spares for name in floor.domain(key, value))


def _spare_capacity(trial: SeatSearch, part: IslandRequest, value: str) -> int:
    """How many more such members the domain would hold: the tightest fit leaves the large domains whole."""
    assert part.island.topology is not None
    shape = part.members[0].shape
    nodes = trial.floor.domain(part.island.topology.key, value)
    return sum(trial.room_for(shape, part.island, name, 1 << 16) for name in nodes)


def why_domain_closed(trial: SeatSearch, part: IslandRequest, value: str) -> str | None:
    """Why an island that wants this domain to itself cannot have it; nothing closes a domain that is shared."""
    topology = part.island.topology
    if topology is None or topology.mode is not TopologyMode.EXCLUSIVE:
        return None
    key, floor = topology.key, trial.floor
    if part.pinned is None and value in floor.sick_domains(key):
        return "has a node that is not healthy"
    for tenant in floor.residents(key, value):
        if trial.leaves(tenant, key, value):
            continue
        if tenant == trial.gang.key and value == part.pinned and floor.owner(key, value) == (tenant, part.island.name):
            continue
        return f"{tenant} sits there"
    for name in floor.domain(key, value):
        for held in floor.held.get(name, ()):
            if trial.keeps(held):
                return f"is held for {held.gang.key}"
    return None


def domain_nodes(trial: SeatSearch, part: IslandRequest, value: str) -> list[str]:
    """The nodes of a domain, the most used first, the best avoided last; for a repair its spares before the rest, and
    before those the nodes where understudies hold themselves ready."""
    assert part.island.topology is not None
    floor = trial.floor
    rooms = floor.snapshot.rooms
    shape = part.members[0].shape
    warm = floor.warm.get(trial.gang.key, ()) if trial.repairing else ()

    def order(name: str) -> tuple[bool, bool, bool, int, int, str]:
        shelf = rooms[name].shelf
        level = shelf[1] if shelf and shape.accelerators else 0
        wanted = preference(shape, rooms[name].node) if shape.preferred else 0
        cold = trial.repairing and name not in floor.spares
        return (name not in warm, cold, floor.avoided(name), -wanted, level, name)

    return sorted(floor.domain(part.island.topology.key, value), key=order)


def nodes_of_fewest_domains(trial: SeatSearch, part: IslandRequest) -> Iterator[str]:
    topology = part.island.topology
    assert topology is not None
    wanted = len(part.members)
    rooms = {v: _spare_capacity(trial, part, v) for v in sorted(trial.floor.snapshot.domains[topology.key])}

    def order(value: str) -> tuple[bool, bool, int, str]:
        enough = rooms[value] >= wanted
        return (value != part.pinned, not enough, rooms[value] if enough else -rooms[value], value)

    for value in sorted(rooms, key=order):
        if rooms[value]:
            yield from domain_nodes(trial, part, value)


def node_order(trial: SeatSearch, quest: PlacementRequest, shape: Shape) -> Iterable[str]:
    """Nodes for members that may sit anywhere: where the hypothesis made room, then in packing order.

    For a repair the spares come first, those in the domains of the lost seats before the others; and before all, the
    nodes where understudies of the gang hold themselves ready.
    """
    floor = trial.floor
    near = [name for name in quest.near if name in floor.snapshot.rooms]
    names: Iterable[str] = chain(near, floor.candidates(shape, trial.owners))
    if quest.repairing and floor.spares:
        close = {label for name in near for label in _domains_of_node(floor, name)}
        spares = sorted(floor.spares, key=lambda name: (not close & _domains_of_node(floor, name), name))
        names = chain(spares, names)
    elif floor.spares:  # lent only where nothing else will do
        names = chain((name for name in names if name not in floor.spares), sorted(floor.spares))
    if quest.repairing and floor.warm:
        names = chain(floor.warm.get(quest.gang.key, ()), names)
    if shape.preferred or shape.preferred_affinity or shape.spreads:
        return sorted(dict.fromkeys(names), key=lambda name: _soft_penalty(trial, shape, name))  # sorting is stable
    return names


def _domains_of_node(floor: Proposal, name: str) -> set[tuple[str, str]]:
    labels = floor.snapshot.rooms[name].node.labels
    return {(key, labels[key]) for key in floor.keys if key in labels}


def _soft_penalty(trial: SeatSearch, shape: Shape, name: str) -> int:
    """How much less than others a node is wanted, by the soft rules."""
    node = trial.floor.snapshot.rooms[name].node
    return 100 * dislikes(shape, node) - preference(shape, node) - trial.neighbours.attraction(shape, node)


def _domain_value(floor: Proposal, name: str, key: str) -> str | None:
    room = floor.snapshot.rooms.get(name)
    return room.node.labels.get(key) if room else None
