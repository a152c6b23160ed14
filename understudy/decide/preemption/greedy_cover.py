"""Greedy set cover for large cases: finds victims that free enough nodes or domains for a gang that does not fit.

Candidates are taken cheapest first, by two prices: the price of a candidate, and its share of what the same victims
free. Neither is always best, and both are cheap. Only the least important classes of gangs that can make room at all
are considered, since the highest priority among the victims counts before their number.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import msgspec

from understudy.decide.placement.capacity_limits import capacity_limits
from understudy.decide.placement.placement_request import NO_LIMIT, Hypothesis, IslandRequest, PlacementRequest
from understudy.decide.placement.seat_search import SeatSearch, only_nodes
from understudy.decide.preemption.partial_cover import Candidate, PartialCover
from understudy.decide.preemption.preemption_candidates import DomainCandidates, NodeCandidates
from understudy.decide.preemption.victim_costs import VictimClass, VictimCosts
from understudy.model.gangs import Member

Pieces = frozenset[tuple[str, str]]  # (gang, member): surplus of elastic gangs, which is taken first


class VictimCover(msgspec.Struct, frozen=True):
    """Victims that should make room. `seats` is set where an exclusive island determines them."""

    victims: frozenset[str]
    seats: dict[str, str] | None = None


def cheap_covers(request: PlacementRequest, costs: VictimCosts, pieces: Pieces) -> Iterator[VictimCover]:
    """Sets of victims that should make room, besides the surplus in `pieces`."""
    classes = costs.classify(costs.candidates())
    for limit in capacity_limits(costs.proposal, request):
        if limit.on_demand_first:
            continue  # the order of nodes makes no difference to a cover
        limited = request if limit is NO_LIMIT else msgspec.structs.replace(request, limit=limit)
        yield from _covers_under(limited, costs, pieces, classes)


def _covers_under(
    request: PlacementRequest, costs: VictimCosts, pieces: Pieces, classes: Mapping[VictimClass, Sequence[str]]
) -> Iterator[VictimCover]:
    ordered = sorted(classes)

    def covers(count: int) -> list[VictimCover]:
        allowed = frozenset(chain.from_iterable(classes[limit] for limit in ordered[:count]))
        pricings = (False, True) if costs.spread_out else (False,)
        found = (_cover(request, PartialCover(request, costs, allowed, pieces, per_seat)) for per_seat in pricings)
        return [cover for cover in found if cover is not None]

    found = covers(1)
    if not found and len(ordered) > 1:
        counts = range(2, len(ordered) + 1)
        least = bisect_left(counts, True, key=lambda count: bool(covers(count)))
        found = covers(counts[least]) if least < len(counts) else []
    yield from {cover.victims: cover for cover in found}.values()


def is_tight(request: PlacementRequest, costs: VictimCosts, victims: frozenset[str]) -> bool:
    """Whether the victims free exactly as many domains as equal islands need, so that none can be put back."""
    first = request.parts[0]
    if not all(p.exclusive and p.pinned is None and p.island.topology == first.island.topology for p in request.parts):
        return False
    assert first.island.topology is not None
    key = first.island.topology.key
    freed = {value for candidates in costs.offers.values() for value, who in candidates.items() if who <= victims}
    return sum(costs.proposal.could_hold(key, value, first.members) for value in freed) == len(request.parts)


def _cover(request: PlacementRequest, cover: PartialCover) -> VictimCover | None:
    bound = sorted((part for part in request.parts if part.bound), key=lambda p: (-len(p.members), p.island.name))
    loose = [m for part in request.parts if not part.bound for m in part.members]
    offers: dict[object, DomainCandidates] = {}
    for part in bound:
        likeness = (part.island.topology, part.pinned, tuple(id(m.shape) for m in part.members))
        if likeness not in offers or not part.exclusive:
            offers[likeness] = DomainCandidates(cover, part, _shared_blockers, wanted=len(bound))
        if not _take_domain(cover, part, offers[likeness]):
            return None
    for group in _by_shape(loose):
        if not _take_seats(cover, group, None):
            return None
    known = not loose and all(part.exclusive for part in bound)
    return VictimCover(frozenset(cover.chosen), cover.seats if known else None)


def _take_domain(cover: PartialCover, part: IslandRequest, candidates: DomainCandidates) -> bool:
    """Takes the cheapest domain that the part fits in."""
    assert part.island.topology is not None
    while (candidate := candidates.cheapest()) is not None:
        nodes = _seats_alone(cover, part, candidate) if part.exclusive else _seats_in(cover, part, candidate)
        if nodes is None:
            continue
        cover.take(candidate)
        cover.domains.add((part.island.topology.key, candidate.name))
        for member, node in zip(part.members, nodes, strict=True):
            cover.seats[member.name] = node
            if not part.exclusive:
                cover.used[node].append(member)
            else:
                cover.alone_on_spot += node in cover.proposal.snapshot.spot
        candidates.reprice(candidate.blockers)
        return True
    return False


def _seats_alone(cover: PartialCover, part: IslandRequest, candidate: Candidate) -> list[str] | None:
    """Where an exclusive island sits in the domain: the same for equal islands and for every cover."""
    if cover.limit.spot_seats is not None:
        return _seats_in(cover, part, candidate)  # depends on the seats that the cover has taken
    memo = (part.island.topology, tuple(id(m.shape) for m in part.members), candidate.name, cover.limit.kind)
    seatable = cover.costs.seatable
    if memo not in seatable:
        seatable[memo] = _seats_in(cover, part, candidate)
    return seatable[memo]


def _seats_in(cover: PartialCover, part: IslandRequest, candidate: Candidate) -> list[str] | None:
    """The nodes of the members, in the order of the members."""
    assert part.island.topology is not None
    hypothesis = Hypothesis(frozenset(cover.chosen | candidate.blockers), cover.pieces, leaving=True)
    search = SeatSearch(cover.proposal, cover.request.gang, hypothesis, cover.request.repairing)
    nodes = cover.proposal.domain(part.island.topology.key, candidate.name)
    if cover.limit is not NO_LIMIT:
        search.limit, search.spot_taken = cover.limit, cover.spot_taken(besides=nodes)
    for name in nodes:
        for member in cover.used.get(name, ()):
            search.take(member, name)
    for _ in search.seat_assignments(part.island, part.members, only_nodes(nodes)):
        return [search.seats[member.name] for member in part.members]
    return None


def _shared_blockers(cover: PartialCover, part: IslandRequest, value: str) -> frozenset[str] | None:
    """The gangs that have to leave before the part fits into a domain it shares with other gangs."""
    assert part.island.topology is not None
    nodes = cover.proposal.domain(part.island.topology.key, value)
    search = cover.fork()
    for group in _by_shape(part.members):
        if not _take_seats(search, group, nodes):
            return None
    return frozenset(search.chosen - cover.chosen)


def _take_seats(cover: PartialCover, members: Sequence[Member], within: Sequence[str] | None) -> bool:
    """Takes a seat for each of these equal members, on the given nodes or anywhere."""
    left = _seats_for_nothing(cover, members, within)
    if not left:
        return True
    candidates = NodeCandidates(cover, left[0], within, len(left))
    while left:
        candidate = candidates.cheapest()
        if candidate is None:
            return False
        cover.take(candidate)
        cover.used[candidate.name].append(left.pop())
        candidates.reprice(candidate.blockers, candidate.name)
    return True


def _seats_for_nothing(cover: PartialCover, members: Sequence[Member], within: Sequence[str] | None) -> list[Member]:
    """Takes seats that idle nodes and the victims so far leave free. Returns the members without a seat."""
    left = list(members)
    snapshot = cover.proposal.snapshot
    freed = [node for key in sorted(cover.chosen) for node in snapshot.gangs[key].occupied() if node in snapshot.nodes]
    freed += [m.node for key, name in sorted(cover.pieces) for m in snapshot.gangs[key].seated() if m.name == name]
    freed += [m.node for key in sorted(snapshot.leaving) for m in snapshot.gangs[key].leaving]
    places = within if within is not None else [*dict.fromkeys(freed), *cover.proposal.candidates(left[0].shape)]
    for name in places:
        while left and cover.blockers(left[0], name) == frozenset():
            cover.used[name].append(left.pop())
        if not left:
            break
    return left


def _by_shape(members: Sequence[Member]) -> list[list[Member]]:
    groups: dict[int, list[Member]] = defaultdict(list)
    for member in members:
        groups[id(member.shape)].append(member)
    return list(groups.values())
