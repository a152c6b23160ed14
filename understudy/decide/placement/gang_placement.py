"""Placement of a gang: turns a placement request into seats (member -> node) for all of its members, or None.

Islands that need a domain come first; members that can sit anywhere fill what is left.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, takewhile

import msgspec

from understudy.decide.order import hardest_first
from understudy.decide.placement.candidate_order import domain_nodes, domain_order, node_order, nodes_of_fewest_domains
from understudy.decide.placement.capacity_limits import capacity_limits
from understudy.decide.placement.placement_request import CapacityLimit, IslandRequest, PlacementRequest
from understudy.decide.placement.seat_search import NodeOrder, SeatSearch, only_nodes
from understudy.decide.proposal import Proposal
from understudy.model.gangs import Island, TopologyMode


def find_seats(proposal: Proposal, request: PlacementRequest) -> dict[str, str] | None:
    """Seats for every member of the request, or None."""
    for limit in capacity_limits(proposal, request):
        if (seats := _seats_under(proposal, request, limit)) is not None:
            return seats
    return None


def _seats_under(proposal: Proposal, request: PlacementRequest, limit: CapacityLimit) -> dict[str, str] | None:
    search = SeatSearch(proposal, request.gang, request.hypothesis, request.repairing, request.seeking)
    search.limit = limit
    bound = sorted((p for p in request.parts if p.bound), key=_most_constrained)
    soft = [p for p in request.parts if not p.bound and p.island.topology is not None]
    loose = tuple(m for p in request.parts if p.island.topology is None for m in p.members)
    for _ in _in_domains(search, request, bound, shared=bool(soft or loose)):
        for _ in _in_preferred_domains(search, request, soft, shared=bool(loose)):
            for _ in search.seat_assignments(
                Island("", loose), loose, NodeOrder(lambda shape: node_order(search, request, shape))
            ):
                return dict(search.seats)
    return None


def find_seats_sparing_holds(proposal: Proposal, request: PlacementRequest) -> dict[str, str] | None:
    """As `find_seats`, but uses seats that are held for less important gangs only where nothing else fits."""
    gang = request.gang
    others = (proposal.snapshot.gangs[key] for key in proposal.snapshot.holding if key != gang.key)
    if gang.preempts and any(other.priority < gang.priority for other in others):
        non_preempting = msgspec.structs.replace(gang, preempts=False)  # so that it respects every hold
        seats = find_seats(proposal, msgspec.structs.replace(request, gang=non_preempting))
        if seats is not None:
            return seats
    return find_seats(proposal, request)


def _most_constrained(part: IslandRequest) -> tuple[bool, int, object, str]:
    return (part.pinned is None, -len(part.members), hardest_first(part.members[0].shape), part.island.name)


def _in_domains(
    search: SeatSearch,
    request: PlacementRequest,
    parts: Sequence[IslandRequest],
    shared: bool,
    after: str | None = None,
) -> Iterator[None]:
    """Every way to give each part a domain. Equivalent islands take domains in one order only."""
    if not parts:
        yield
        return
    part, rest, limit = parts[0], parts[1:], search.limit
    values = list(domain_order(search, request, part))
    if after is not None and after in values:
        values = values[values.index(after) + 1 :]
    alike = bool(rest) and _alike(search, part, rest[0])
    twins = 1 + sum(1 for _ in takewhile(lambda other: _alike(search, part, other), rest))
    for index, value in enumerate(values):
        if search.steps <= 0 or len(values) - index < twins:
            return
        search.steps -= 1
        nodes = only_nodes(domain_nodes(search, part, value))
        competing = (not part.exclusive or limit.spot_seats is not None) and (shared or bool(rest))
        for _ in search.seat_assignments(part.island, part.members, nodes, competing):
            claim = _claim(search, part, value)
            yield from _in_domains(search, request, rest, shared, value if alike else None)
            if claim is not None:
                del search.claims[claim]


def _claim(search: SeatSearch, part: IslandRequest, value: str) -> tuple[str, str] | None:
    topology = part.island.topology
    if topology is None or topology.mode is not TopologyMode.EXCLUSIVE:
        return None
    search.claims[topology.key, value] = part.island.name
    return (topology.key, value)


def _alike(search: SeatSearch, one: IslandRequest, other: IslandRequest) -> bool:
    """Whether two exclusive islands are interchangeable."""
    same = one.island.topology == other.island.topology and one.pinned is None and other.pinned is None
    if not same or one.island.topology is None or one.island.topology.mode is not TopologyMode.EXCLUSIVE:
        return False
    if [id(m.shape) for m in one.members] != [id(m.shape) for m in other.members]:
        return False
    return search.has_no_previous_seats or not any(search.previous_seat(m) for m in chain(one.members, other.members))


def _in_preferred_domains(
    search: SeatSearch, request: PlacementRequest, parts: Sequence[IslandRequest], shared: bool
) -> Iterator[None]:
    """Seats each part in as few domains as possible."""
    if not parts:
        yield
        return
    part, rest = parts[0], parts[1:]
    order = list(dict.fromkeys(nodes_of_fewest_domains(search, part)))
    nodes = NodeOrder(lambda shape: chain(order, node_order(search, request, shape)))
    for _ in search.seat_assignments(part.island, part.members, nodes, shared or bool(rest)):
        yield from _in_preferred_domains(search, request, rest, shared)
