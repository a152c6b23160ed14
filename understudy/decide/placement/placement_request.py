"""Placement requests: which members want seats, and under which hypothesis about seats that others give up."""

from collections.abc import Iterable

import msgspec

from understudy.decide.proposal import Proposal
from understudy.model.gangs import Gang, Island, Member, TopologyMode
from understudy.model.node_info import Seat


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
