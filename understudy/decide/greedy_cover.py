"""Covers for large cases: turns a gang that does not fit into a set of victims that frees enough places for it.

Places are bought cheapest first (see spots), in two ways of pricing: what a place costs, and what it costs per place
that the same victims free. Neither is always best, and both are cheap. The least important candidates that can make
room at all are the only ones considered, since the highest priority among the victims counts before their number.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain

import msgspec

from understudy.decide.partial_cover import Candidate, PartialCover
from understudy.decide.placement_request import Hypothesis, IslandRequest, PlacementRequest
from understudy.decide.preemption_candidates import DomainCandidates, NodeCandidates
from understudy.decide.seat_search import SeatSearch, only_nodes
from understudy.decide.victim_costs import VictimCosts
from understudy.model.gangs import Member

Pieces = frozenset[tuple[str, str]]  # (gang, member): surplus of elastic gangs, which goes first


class VictimCover(msgspec.Struct, frozen=True):
    """Victims that should make room. `seats`, where known already: an island alone in its domain sits there anyhow."""

    victims: frozenset[str]
    seats: dict[str, str] | None = None


def cheap_covers(quest: PlacementRequest, ledger: VictimCosts, pieces: Pieces) -> Iterator[VictimCover]:
    """Sets of victims that should make room, on top of the surplus in `pieces`."""
    classes = ledger.weigh(ledger.candidates())
    ordered = sorted(classes)

    def covers(count: int) -> list[VictimCover]:
        allowed = frozenset(chain.from_iterable(classes[limit] for limit in ordered[:count]))
        pricings = (False, True) if ledger.spread_out else (False,)
        found = (_cover(quest, PartialCover(quest, ledger, allowed, pieces, sharing)) for sharing in pricings)
        return [cover for cover in found if cover is not None]

    found = covers(1)
    if not found and len(ordered) > 1:
        counts = range(2, len(ordered) + 1)
        least = bisect_left(counts, True, key=lambda count: bool(covers(count)))
        found = covers(counts[least]) if least < len(counts) else []
    yield from {cover.victims: cover for cover in found}.values()


def is_tight(quest: PlacementRequest, ledger: VictimCosts, victims: frozenset[str]) -> bool:
    """Whether the victims free just as many domains as alike islands want, so that none of them can be put back."""
    first = quest.parts[0]
    if not all(p.exclusive and p.pinned is None and p.island.topology == first.island.topology for p in quest.parts):
        return False
    assert first.island.topology is not None
    key = first.island.topology.key
    freed = {value for spots in ledger.offers.values() for value, who in spots.items() if who <= victims}
    return sum(ledger.floor.could_hold(key, value, first.members) for value in freed) == len(quest.parts)


def _cover(quest: PlacementRequest, purchase: PartialCover) -> VictimCover | None:
    bound = sorted((part for part in quest.parts if part.bound), key=lambda p: (-len(p.members), p.island.name))
    loose = [m for part in quest.parts if not part.bound for m in part.members]
    offers: dict[object, DomainCandidates] = {}
    for part in bound:
        likeness = (part.island.topology, part.pinned, tuple(id(m.shape) for m in part.members))
        if likeness not in offers or not part.exclusive:
            offers[likeness] = DomainCandidates(purchase, part, _crowd, wanted=len(bound))
        if not _buy_domain(purchase, part, offers[likeness]):
            return None
    for group in _by_shape(loose):
        if not _buy_seats(purchase, group, None):
            return None
    known = not loose and all(part.exclusive for part in bound)
    return VictimCover(frozenset(purchase.bought), purchase.seats if known else None)


def _buy_domain(purchase: PartialCover, part: IslandRequest, spots: DomainCandidates) -> bool:
    """The cheapest domain the part can be seated in."""
    assert part.island.topology is not None
    while (spot := spots.cheapest()) is not None:
        nodes = _alone_in(purchase, part, spot) if part.exclusive else _seats_in(purchase, part, spot)
        if nodes is None:
            continue
        purchase.buy(spot)
        purchase.domains.add((part.island.topology.key, spot.name))
        for member, node in zip(part.members, nodes, strict=True):
            purchase.seats[member.name] = node
            if not part.exclusive:
                purchase.used[node].append(member)
        spots.reprice(spot.blockers)
        return True
    return False


def _alone_in(purchase: PartialCover, part: IslandRequest, spot: Candidate) -> list[str] | None:
    """Where the island sits once it has the domain to itself: the same for its likes and for every cover."""
    memo = (part.island.topology, tuple(id(m.shape) for m in part.members), spot.name)
    seatable = purchase.ledger.seatable
    if memo not in seatable:
        seatable[memo] = _seats_in(purchase, part, spot)
    return seatable[memo]


def _seats_in(purchase: PartialCover, part: IslandRequest, spot: Candidate) -> list[str] | None:
    """The nodes the members would sit on, in their order."""
    assert part.island.topology is not None
    hypothesis = Hypothesis(frozenset(purchase.bought | spot.blockers), purchase.pieces, leaving=True)
    trial = SeatSearch(purchase.floor, purchase.quest.gang, hypothesis, purchase.quest.repairing)
    nodes = purchase.floor.domain(part.island.topology.key, spot.name)
    for name in nodes:
        for member in purchase.used.get(name, ()):
            trial.take(member, name)
    for _ in trial.seatings(part.island, part.members, only_nodes(nodes)):
        return [trial.seats[member.name] for member in part.members]
    return None


def _crowd(purchase: PartialCover, part: IslandRequest, value: str) -> frozenset[str] | None:
    """Whoever has to leave before the part fits into a domain it shares with others."""
    assert part.island.topology is not None
    nodes = purchase.floor.domain(part.island.topology.key, value)
    trial = purchase.fork()
    for group in _by_shape(part.members):
        if not _buy_seats(trial, group, nodes):
            return None
    return frozenset(trial.bought - purchase.bought)


def _buy_seats(purchase: PartialCover, members: Sequence[Member], within: Sequence[str] | None) -> bool:
    """A seat for each of these alike members, on the given nodes or anywhere."""
    left = _seats_for_nothing(purchase, members, within)
    if not left:
        return True
    spots = NodeCandidates(purchase, left[0], within, len(left))
    while left:
        spot = spots.cheapest()
        if spot is None:
            return False
        purchase.buy(spot)
        purchase.used[spot.name].append(left.pop())
        spots.reprice(spot.blockers, spot.name)
    return True


def _seats_for_nothing(purchase: PartialCover, members: Sequence[Member], within: Sequence[str] | None) -> list[Member]:
    """Seat whom idle nodes and the victims bought so far leave room for; the others are left over."""
    left = list(members)
    snapshot = purchase.floor.snapshot
    freed = [
        node for key in sorted(purchase.bought) for node in snapshot.gangs[key].occupied() if node in snapshot.rooms
    ]
    freed += [m.node for key, name in sorted(purchase.pieces) for m in snapshot.gangs[key].seated() if m.name == name]
    freed += [m.node for key in sorted(snapshot.leaving) for m in snapshot.gangs[key].leaving]
    places = within if within is not None else [*dict.fromkeys(freed), *purchase.floor.candidates(left[0].shape)]
    for name in places:
        while left and purchase.blockers(left[0], name) == frozenset():
            purchase.used[name].append(left.pop())
        if not left:
            break
    return left


def _by_shape(members: Sequence[Member]) -> list[list[Member]]:
    groups: dict[int, list[Member]] = defaultdict(list)
    for member in members:
        groups[id(member.shape)].append(member)
    return list(groups.values())
