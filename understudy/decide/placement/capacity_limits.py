"""What a gang's rules about spot capacity leave to members that want seats: turns a placement request into the limits
under which seats are searched, in the order in which they are tried.

A limit is about the gang as a whole. What a pod alone asks for is in its Shape, and a node filter.
"""

from collections.abc import Iterable, Sequence, Set

from understudy.decide.placement.placement_request import (
    NO_LIMIT,
    CapacityLimit,
    Hypothesis,
    PlacementRequest,
)
from understudy.decide.proposal import Proposal
from understudy.model.gangs import Gang
from understudy.model.nodes import Capacity, CapacityPolicy

UNLIMITED: tuple[CapacityLimit, ...] = (NO_LIMIT,)


def capacity_limits(proposal: Proposal, request: PlacementRequest) -> Sequence[CapacityLimit]:
    """Without rules, or without spot nodes, there is one limit that allows everything."""
    gang = request.gang
    if gang.max_spot_members is None and not gang.one_capacity_kind:
        return UNLIMITED
    return limits_beside(proposal, gang, request.seeking, request.hypothesis)


def limits_beside(proposal: Proposal, gang: Gang, seeking: Set[str], hypothesis: Hypothesis) -> Sequence[CapacityLimit]:
    """The limits for the members in `seeking`, beside those that keep their seats."""
    spot = proposal.snapshot.spot
    if not len(spot) or (gang.max_spot_members is None and not gang.one_capacity_kind):
        return UNLIMITED
    staying = list(_staying(gang, seeking, hypothesis))
    seats = _spot_seats_left(gang, sum(1 for node in staying if node in spot), len(seeking))
    if gang.one_capacity_kind:
        kinds = {_kind(proposal, node) for node in staying}
        if len(kinds) == 1:
            return (_of_kind(kinds.pop(), seats),)
        if not kinds:
            return tuple(_of_kind(kind, seats) for kind in _kinds_in_order(proposal, gang))
    if seats is None:
        return UNLIMITED
    if seats == 0:
        return (CapacityLimit(Capacity.ON_DEMAND),)
    # The second one finds seats where the first one spends spot seats on members that could sit elsewhere.
    return (CapacityLimit(spot_seats=seats), CapacityLimit(spot_seats=seats, on_demand_first=True))


def _staying(gang: Gang, seeking: Set[str], hypothesis: Hypothesis) -> Iterable[str]:
    """The nodes of the members that keep their seats, and of reserved seats."""
    for member in gang.members():
        if member.node and member.name not in seeking and (gang.key, member.name) not in hypothesis.members:
            yield member.node
    for member, node in gang.reserved():
        if member.name not in seeking:
            yield node


def _spot_seats_left(gang: Gang, taken: int, wanted: int) -> int | None:
    """None where the number does not matter."""
    if gang.max_spot_members is None:
        return None
    left = max(0, gang.max_spot_members - taken)
    return left if left < wanted else None


def _of_kind(kind: Capacity, seats: int | None) -> CapacityLimit:
    return CapacityLimit(kind, seats if kind is Capacity.SPOT else None)


def _kinds_in_order(proposal: Proposal, gang: Gang) -> tuple[Capacity, Capacity]:
    """On-demand capacity first, unless a member prefers spot or the gang sat on spot nodes before."""
    spot = proposal.snapshot.spot
    prefers = any(m.shape.capacity is CapacityPolicy.PREFER_SPOT or m.last_node in spot for m in gang.members())
    return (Capacity.SPOT, Capacity.ON_DEMAND) if prefers else (Capacity.ON_DEMAND, Capacity.SPOT)


def _kind(proposal: Proposal, node: str) -> Capacity:
    return Capacity.SPOT if node in proposal.snapshot.spot else Capacity.ON_DEMAND
