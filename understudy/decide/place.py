"""Seats for a gang: turns what has to be seated into (member -> node), whole or not at all.

Islands that need a domain choose theirs first, then the members that can sit anywhere fill what is left.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, takewhile

import msgspec

from understudy.decide.fit import dislikes, preference
from understudy.decide.floor import Floor
from understudy.decide.order import hardest_first
from understudy.decide.trial import Hypothesis, NodeOrder, Trial, only
from understudy.model.gangs import Gang, Island, Member, Mode, Shape

SCORED_DOMAINS = 256  # up to so many domains are measured for the best fit; beyond, they are taken in a fixed order


class Part(msgspec.Struct, frozen=True):
    """The members of an island that want seats. `pinned` is the domain the rest of the island sits in."""

    island: Island
    members: tuple[Member, ...]
    pinned: str | None = None

    @property
    def bound(self) -> bool:
        return self.island.topology is not None and self.island.topology.binding

    @property
    def exclusive(self) -> bool:
        return self.island.topology is not None and self.island.topology.mode is Mode.EXCLUSIVE


class Quest(msgspec.Struct, frozen=True):
    """Who wants seats, for which members, and which seats may be thought empty."""

    gang: Gang
    parts: tuple[Part, ...]
    gone: Hypothesis = Hypothesis()
    repairing: bool = False
    near: tuple[str, ...] = ()  # nodes to try first: those the hypothesis empties, and those of lost neighbours

    def imagining(self, gone: Hypothesis, near: Iterable[str]) -> "Quest":
        return msgspec.structs.replace(self, gone=gone, near=tuple(dict.fromkeys(near)))


def part_of(floor: Floor, island: Island, members: Iterable[Member]) -> Part:
    """The part of an island to be seated, pinned where the others keep their seats."""
    wanted = tuple(members)
    names = {m.name for m in wanted}
    if island.topology is not None:
        for member in island.members:
            if member.node and member.name not in names:
                labels = floor.snapshot.rooms[member.node].node.labels
                return Part(island, wanted, labels.get(island.topology.key))
    return Part(island, wanted)


def place(floor: Floor, quest: Quest) -> dict[str, str] | None:
    """Seats for every member of the quest, or None."""
    seeking = frozenset(m.name for part in quest.parts for m in part.members)
    trial = Trial(floor, quest.gang, quest.gone, quest.repairing, seeking)
    bound = sorted((p for p in quest.parts if p.bound), key=_most_constrained)
    soft = [p for p in quest.parts if not p.bound and p.island.topology is not None]
    loose = tuple(m for p in quest.parts if p.island.topology is None for m in p.members)
    for _ in _in_domains(trial, quest, bound, shared=bool(soft or loose)):
        for _ in _preferably(trial, quest, soft, shared=bool(loose)):
            for _ in trial.seatings(Island("", loose), loose, NodeOrder(lambda shape: node_order(trial, quest, shape))):
                return dict(trial.seats)
    return None


def place_considerately(floor: Floor, quest: Quest) -> dict[str, str] | None:
    """The same; but seats held for less important gangs, to whom they were promised, are left to them where anything
    else will do."""
    gang = quest.gang
    others = (floor.snapshot.gangs[key] for key in floor.snapshot.holding if key != gang.key)
    if gang.preempts and any(other.priority < gang.priority for other in others):
        meek = msgspec.structs.replace(gang, preempts=False)  # it leaves every hold alone
        seats = place(floor, msgspec.structs.replace(quest, gang=meek))
        if seats is not None:
            return seats
    return place(floor, quest)


def _most_constrained(part: Part) -> tuple[bool, int, object, str]:
    return (part.pinned is None, -len(part.members), hardest_first(part.members[0].shape), part.island.name)


def _in_domains(
    trial: Trial, quest: Quest, parts: Sequence[Part], shared: bool, after: str | None = None
) -> Iterator[None]:
    """Every way to give each part a domain of its kind. Alike islands take domains in one order only."""
    if not parts:
        yield
        return
    part, rest = parts[0], parts[1:]
    values = list(domain_order(trial, quest, part))
    if after is not None and after in values:
        values = values[values.index(after) + 1 :]
    alike = bool(rest) and _alike(trial, part, rest[0])
    twins = 1 + sum(1 for _ in takewhile(lambda other: _alike(trial, part, other), rest))
    for index, value in enumerate(values):
        if trial.steps <= 0 or len(values) - index < twins:
            return
        trial.steps -= 1
        nodes = only(_domain_nodes(trial, part, value))
        for _ in trial.seatings(part.island, part.members, nodes, not part.exclusive and (shared or bool(rest))):
            claim = _claim(trial, part, value)
            yield from _in_domains(trial, quest, rest, shared, value if alike else None)
            if claim is not None:
                del trial.claims[claim]


def _claim(trial: Trial, part: Part, value: str) -> tuple[str, str] | None:
    topology = part.island.topology
    if topology is None or topology.mode is not Mode.EXCLUSIVE:
        return None
    trial.claims[topology.key, value] = part.island.name
    return (topology.key, value)


def _alike(trial: Trial, one: Part, other: Part) -> bool:
    """Whether two exclusive islands could change places without anybody noticing."""
    same = one.island.topology == other.island.topology and one.pinned is None and other.pinned is None
    if not same or one.island.topology is None or one.island.topology.mode is not Mode.EXCLUSIVE:
        return False
    if [id(m.shape) for m in one.members] != [id(m.shape) for m in other.members]:
        return False
    return trial.homeless or not any(trial.home(m) for m in chain(one.members, other.members))


def domain_order(trial: Trial, quest: Quest, part: Part) -> Iterator[str]:
    """The domains this part could go to, best first: its old one, those the hypothesis frees, then the tightest fit."""
    topology = part.island.topology
    assert topology is not None
    key, floor = topology.key, trial.floor
    if part.pinned is not None:
        values: Iterable[str] = [part.pinned]
    else:
        homes = [] if trial.homeless else [trial.home(m) for m in part.members]
        near = [label for n in (*homes, *quest.near) if n and (label := _label(floor, n, key)) is not None]
        values = dict.fromkeys(chain(near, _others(trial, quest, part)))
    for value in values:
        closed = (key, value) in trial.claims or why_domain_closed(trial, part, value) is not None
        if not closed and floor.could_hold(key, value, part.members):
            yield value


def _others(trial: Trial, quest: Quest, part: Part) -> Iterable[str]:
    topology = part.island.topology
    assert topology is not None
    floor = trial.floor
    if topology.mode is Mode.EXCLUSIVE:
        vacant = list(floor.vacant(topology.key))
        if floor.spares:  # for repairs spare domains come first, for borrowers last
            vacant.sort(key=lambda value: _is_spare(floor, topology.key, value) is not quest.repairing)
        return _warm_first(floor, quest, topology.key, vacant)
    values = sorted(floor.snapshot.domains[topology.key])
    if len(values) <= SCORED_DOMAINS:
        values.sort(key=lambda value: _leftover(trial, part, value))
    return _warm_first(floor, quest, topology.key, values)


def _warm_first(floor: Floor, quest: Quest, key: str, values: list[str]) -> list[str]:
    """For a repair, the domains come first in which understudies of the gang hold themselves ready."""
    warm = floor.warm.get(quest.gang.key) if quest.repairing and floor.warm else None
    if not warm:
        return values
    counts = Counter(_label(floor, name, key) for name in warm)
    return sorted(values, key=lambda value: -counts[value])  # sorting is stable


def _is_spare(floor: Floor, key: str, value: str) -> bool:
    return all(name in floor.spares for name in floor.domain(key, value))


def _leftover(trial: Trial, part: Part, value: str) -> int:
    """How many more such members the domain would hold: the tightest fit leaves the large domains whole."""
    assert part.island.topology is not None
    shape = part.members[0].shape
    nodes = trial.floor.domain(part.island.topology.key, value)
    return sum(trial.room_for(shape, part.island, name, 1 << 16) for name in nodes)


def why_domain_closed(trial: Trial, part: Part, value: str) -> str | None:
    """Why an island that wants this domain to itself cannot have it; nothing closes a domain that is shared."""
    topology = part.island.topology
    if topology is None or topology.mode is not Mode.EXCLUSIVE:
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


def _domain_nodes(trial: Trial, part: Part, value: str) -> list[str]:
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


def _preferably(trial: Trial, quest: Quest, parts: Sequence[Part], shared: bool) -> Iterator[None]:
    """Seat each part in as few domains of its kind as it takes."""
    if not parts:
        yield
        return
    part, rest = parts[0], parts[1:]
    order = list(dict.fromkeys(_together_first(trial, part)))
    nodes = NodeOrder(lambda shape: chain(order, node_order(trial, quest, shape)))
    for _ in trial.seatings(part.island, part.members, nodes, shared or bool(rest)):
        yield from _preferably(trial, quest, rest, shared)


def _together_first(trial: Trial, part: Part) -> Iterator[str]:
    topology = part.island.topology
    assert topology is not None
    wanted = len(part.members)
    rooms = {v: _leftover(trial, part, v) for v in sorted(trial.floor.snapshot.domains[topology.key])}

    def order(value: str) -> tuple[bool, bool, int, str]:
        enough = rooms[value] >= wanted
        return (value != part.pinned, not enough, rooms[value] if enough else -rooms[value], value)

    for value in sorted(rooms, key=order):
        if rooms[value]:
            yield from _domain_nodes(trial, part, value)


def node_order(trial: Trial, quest: Quest, shape: Shape) -> Iterable[str]:
    """Nodes for members that may sit anywhere: where the hypothesis made room, then in packing order.

    For a repair the spares come first, those in the domains of the lost seats before the others; and before all, the
    nodes where understudies of the gang hold themselves ready.
    """
    floor = trial.floor
    near = [name for name in quest.near if name in floor.snapshot.rooms]
    names: Iterable[str] = chain(near, floor.candidates(shape, trial.owners))
    if quest.repairing and floor.spares:
        close = {label for name in near for label in _places(floor, name)}
        spares = sorted(floor.spares, key=lambda name: (not close & _places(floor, name), name))
        names = chain(spares, names)
    elif floor.spares:  # lent only where nothing else will do
        names = chain((name for name in names if name not in floor.spares), sorted(floor.spares))
    if quest.repairing and floor.warm:
        names = chain(floor.warm.get(quest.gang.key, ()), names)
    if shape.preferred or shape.preferred_affinity or shape.spreads:
        return sorted(dict.fromkeys(names), key=lambda name: _dislike(trial, shape, name))  # sorting is stable
    return names


def _places(floor: Floor, name: str) -> set[tuple[str, str]]:
    labels = floor.snapshot.rooms[name].node.labels
    return {(key, labels[key]) for key in floor.keys if key in labels}


def _dislike(trial: Trial, shape: Shape, name: str) -> int:
    """How much less than others a node is wanted, by the soft rules."""
    node = trial.floor.snapshot.rooms[name].node
    return 100 * dislikes(shape, node) - preference(shape, node) - trial.neighbours.attraction(shape, node)


def _label(floor: Floor, name: str, key: str) -> str | None:
    room = floor.snapshot.rooms.get(name)
    return room.node.labels.get(key) if room else None
