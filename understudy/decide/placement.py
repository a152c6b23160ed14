"""Seats for a gang: turns what has to be seated into (member -> node), whole or not at all.

Islands that need a domain choose theirs first, then the members that can sit anywhere fill what is left.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, takewhile

import msgspec

from understudy.decide.candidate_order import domain_nodes, domain_order, node_order, nodes_of_fewest_domains
from understudy.decide.order import hardest_first
from understudy.decide.placement_request import IslandRequest, PlacementRequest
from understudy.decide.proposal import Proposal
from understudy.decide.seat_search import NodeOrder, SeatSearch, only_nodes
from understudy.model.gangs import Island, TopologyMode


def find_seats(floor: Proposal, quest: PlacementRequest) -> dict[str, str] | None:
    """Seats for every member of the quest, or None."""
    seeking = frozenset(m.name for part in quest.parts for m in part.members)
    trial = SeatSearch(floor, quest.gang, quest.gone, quest.repairing, seeking)
    bound = sorted((p for p in quest.parts if p.bound), key=_most_constrained)
    soft = [p for p in quest.parts if not p.bound and p.island.topology is not None]
    loose = tuple(m for p in quest.parts if p.island.topology is None for m in p.members)
    for _ in _in_domains(trial, quest, bound, shared=bool(soft or loose)):
        for _ in _in_preferred_domains(trial, quest, soft, shared=bool(loose)):
            for _ in trial.seatings(Island("", loose), loose, NodeOrder(lambda shape: node_order(trial, quest, shape))):
                return dict(trial.seats)
    return None


def find_seats_sparing_holds(floor: Proposal, quest: PlacementRequest) -> dict[str, str] | None:
    """The same; but seats held for less important gangs, to whom they were promised, are left to them where anything
    else will do."""
    gang = quest.gang
    others = (floor.snapshot.gangs[key] for key in floor.snapshot.holding if key != gang.key)
    if gang.preempts and any(other.priority < gang.priority for other in others):
        meek = msgspec.structs.replace(gang, preempts=False)  # it leaves every hold alone
        seats = find_seats(floor, msgspec.structs.replace(quest, gang=meek))
        if seats is not None:
            return seats
    return find_seats(floor, quest)


def _most_constrained(part: IslandRequest) -> tuple[bool, int, object, str]:
    return (part.pinned is None, -len(part.members), hardest_first(part.members[0].shape), part.island.name)


def _in_domains(
    trial: SeatSearch, quest: PlacementRequest, parts: Sequence[IslandRequest], shared: bool, after: str | None = None
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
        nodes = only_nodes(domain_nodes(trial, part, value))
        for _ in trial.seatings(part.island, part.members, nodes, not part.exclusive and (shared or bool(rest))):
            claim = _claim(trial, part, value)
            yield from _in_domains(trial, quest, rest, shared, value if alike else None)
            if claim is not None:
                del trial.claims[claim]


def _claim(trial: SeatSearch, part: IslandRequest, value: str) -> tuple[str, str] | None:
    topology = part.island.topology
    if topology is None or topology.mode is not TopologyMode.EXCLUSIVE:
        return None
    trial.claims[topology.key, value] = part.island.name
    return (topology.key, value)


def _alike(trial: SeatSearch, one: IslandRequest, other: IslandRequest) -> bool:
    """Whether two exclusive islands could change places without anybody noticing."""
    same = one.island.topology == other.island.topology and one.pinned is None and other.pinned is None
    if not same or one.island.topology is None or one.island.topology.mode is not TopologyMode.EXCLUSIVE:
        return False
    if [id(m.shape) for m in one.members] != [id(m.shape) for m in other.members]:
        return False
    return trial.homeless or not any(trial.home(m) for m in chain(one.members, other.members))


def _in_preferred_domains(
    trial: SeatSearch, quest: PlacementRequest, parts: Sequence[IslandRequest], shared: bool
) -> Iterator[None]:
    """Seat each part in as few domains of its kind as it takes."""
    if not parts:
        yield
        return
    part, rest = parts[0], parts[1:]
    order = list(dict.fromkeys(nodes_of_fewest_domains(trial, part)))
    nodes = NodeOrder(lambda shape: chain(order, node_order(trial, quest, shape)))
    for _ in trial.seatings(part.island, part.members, nodes, shared or bool(rest)):
        yield from _in_preferred_domains(trial, quest, rest, shared)
