"""Placement requests: which members want seats, and under which hypothesis about seats that others give up."""

from collections.abc import Iterable

import msgspec

from understudy.decide.proposal import Proposal
from understudy.model.gangs import Gang, Island, Member, TopologyMode
from understudy.model.node_info import Seat
from understudy.model.nodes import Capacity


class Hypothesis(msgspec.Struct, frozen=True):
    """Seats to treat as free: those of whole gangs, of single members, and of terminating pods."""

    gangs: frozenset[str] = frozenset()
    members: frozenset[tuple[str, str]] = frozenset()
    leaving: bool = False

    def frees(self, seat: Seat) -> bool:
        if seat.leaving:
            return self.leaving or seat.gang in self.gangs
        return seat.gang in self.gangs or (seat.gang, seat.member.name) in self.members

    @property
    def is_empty(self) -> bool:
        return not (self.gangs or self.members or self.leaving)


NO_HYPOTHESIS = Hypothesis()


class CapacityLimit(msgspec.Struct, frozen=True):
    """What a gang's rules about spot capacity leave to the members of one request."""

    kind: Capacity | None = None  # the only kind of node allowed
    spot_seats: int | None = None  # at most so many seats on spot nodes
    on_demand_first: bool = False  # spot nodes are tried last

    def why_not(self, is_spot: bool, taken: int) -> str | None:
        """Why a node is closed once so many seats on spot nodes are `taken`."""
        if self.kind is not None and is_spot is not (self.kind is Capacity.SPOT):
            there = Capacity.SPOT if is_spot else Capacity.ON_DEMAND
            return f"is {there}, and the rules of the gang leave only {self.kind} capacity"
        if is_spot and self.spot_seats is not None and taken >= self.spot_seats:
            return "is spot, and no more of its members may sit on spot"
        return None


NO_LIMIT = CapacityLimit()


class IslandRequest(msgspec.Struct, frozen=True):
    """The members of an island that need seats. `pinned` is the domain that the rest of the island sits in."""

    island: Island
    members: tuple[Member, ...]
    pinned: str | None = None

    @property
    def bound(self) -> bool:
        return self.island.topology is not None and self.island.topology.binding

    @property
    def exclusive(self) -> bool:
        return self.island.topology is not None and self.island.topology.mode is TopologyMode.EXCLUSIVE


class PlacementRequest(msgspec.Struct, frozen=True):
    """Which gang wants seats, for which members, and which seats are treated as free."""

    gang: Gang
    parts: tuple[IslandRequest, ...]
    hypothesis: Hypothesis = Hypothesis()
    repairing: bool = False
    near: tuple[str, ...] = ()  # nodes to try first: those that the hypothesis frees, and those near lost seats
    taking: frozenset[str] = frozenset()  # other members of the gang whose held seats it may use
    limit: CapacityLimit = NO_LIMIT

    @property
    def seeking(self) -> frozenset[str]:
        """The members to be seated, and those whose held seats may be used."""
        return self.taking.union(m.name for part in self.parts for m in part.members)

    def under(self, hypothesis: Hypothesis, near: Iterable[str]) -> "PlacementRequest":
        return msgspec.structs.replace(self, hypothesis=hypothesis, near=tuple(dict.fromkeys(near)))


def island_request(proposal: Proposal, island: Island, members: Iterable[Member]) -> IslandRequest:
    """The part of an island to be seated, pinned to the domain of the members that keep their seats."""
    wanted = tuple(members)
    names = {m.name for m in wanted}
    if island.topology is not None:
        for member in island.members:
            if member.node and member.name not in names:
                labels = proposal.snapshot.nodes[member.node].node.labels
                return IslandRequest(island, wanted, labels.get(island.topology.key))
    return IslandRequest(island, wanted)
