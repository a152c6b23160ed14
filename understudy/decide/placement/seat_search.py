"""One search for seats: turns a proposal and a hypothesis about free seats into seats for members of a gang.

The search takes and returns seats on scratch copies of the nodes, which live no longer than the search; the snapshot
never changes. Every step is a generator that holds its seats while it yields, so that searches nest: domains for
islands, nodes for members. The first descent is greedy and usually enough; the rest is exact, with a limit of steps.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice

import msgspec

from understudy.decide.fit import capacity, ports_clash
from understudy.decide.holds import HeldSeat
from understudy.decide.order import hardest_first
from understudy.decide.placement.placement_request import NO_HYPOTHESIS, NO_LIMIT, Hypothesis
from understudy.decide.placement.pod_affinity import PodAffinity
from understudy.decide.proposal import Proposal
from understudy.model.gangs import Gang, HostPort, Island, Member, Shape, TopologyMode
from understudy.model.node_info import NodeInfo, seats_of
from understudy.model.nodes import CapacityPolicy

SEARCHED_NODES = 64  # of the best nodes, how many the exact search tries
SEARCHED_MEMBERS = 32  # the exact search is for at most so many members


class NodeOrder(msgspec.Struct, frozen=True):
    """Nodes to try for a shape, best first. With `within`, no other node is allowed."""

    names: Callable[[Shape], Iterable[str]]
    within: frozenset[str] | None = None


def only_nodes(names: Sequence[str]) -> NodeOrder:
    """These nodes in this order for every shape."""
    return NodeOrder(lambda _shape: names, frozenset(names))


class FreeSpace:
    """The free resources and used host ports of one node during the search."""

    __slots__ = ("free", "ports")

    def __init__(self, free: dict[str, int], ports: list[HostPort]) -> None:
        self.free = free
        self.ports = ports


class SeatSearch:
    def __init__(
        self,
        proposal: Proposal,
        gang: Gang,
        hypothesis: Hypothesis = NO_HYPOTHESIS,
        repairing: bool = False,
        seeking: frozenset[str] | None = None,
    ) -> None:
        """`seeking` names the members to be seated: seats held for other members of the gang stay held."""
        self.proposal = proposal
        self.seeking = seeking
        self.gang = gang
        self.hypothesis = hypothesis
        self.repairing = repairing
        self.seats: dict[str, str] = {}
        self.claims: dict[tuple[str, str], str] = {}  # exclusive domains that this search has given to islands
        self.limit = NO_LIMIT  # set it before the first seat is taken
        self.spot_taken = 0  # seats on spot nodes, counted under a limit
        self.steps = proposal.policy.search_steps
        promised = [seat for seat in proposal.promised(gang) if seat.gang not in hypothesis.gangs]
        self.pod_affinity = PodAffinity(proposal.snapshot, gang, hypothesis.frees, promised)
        self.inter_pod = self.pod_affinity.applies()
        self._in_part = {gang for gang, _ in hypothesis.members}  # gangs that give up some of their seats
        self._free_spaces: dict[str, FreeSpace] = {}
        self._foreign: dict[tuple[str, str, str], str | None] = {}
        self._wanted = dict(gang.holds)
        self._reserved = frozenset(node for _, node in gang.reserved())
        self.has_no_previous_seats = not gang.holds and not any(m.last_node for m in gang.members())

    @cached_property
    def owners(self) -> frozenset[str] | None:
        """Owners of exclusive domains that may be open to this gang: itself, and gangs that give up seats. None: every
        domain is open."""
        if self.gang.infrastructure or not self.proposal.keys:
            return None
        snapshot, hypothesis = self.proposal.snapshot, self.hypothesis
        keys = {self.gang.key, *hypothesis.gangs, *self._in_part}
        if hypothesis.leaving:
            keys.update(snapshot.leaving)
        return frozenset(key for key in keys if _owns_domains(snapshot.gangs[key]))

    # What a node can take

    def why_closed(self, shape: Shape, island: Island, name: str) -> str | None:
        """Why no member of the island may sit on this node however empty it is."""
        why = self.proposal.refusal(shape, name)
        if why is None and self.proposal.spares:
            kept = self.proposal.kept_as_spare(self.gang, name, self.repairing) and not self._promised(name)
            why = "is kept free for repairs (spare)" if kept else None
        if why is None and self.proposal.keys:
            why = self._owned_by_another(island, name)
        if why is None and self.claims:
            why = self._claimed(island, name)
        if why is None and self.limit is not NO_LIMIT:
            why = self.limit.why_not(name in self.proposal.snapshot.spot, self.spot_taken)
        return why

    def _is_for_another_of_ours(self, held: HeldSeat) -> bool:
        """Whether the seat is held for a seated member of this gang that this search does not move."""
        if held.gang.key != self.gang.key or self.seeking is None:
            return False
        return bool(held.member.node) and held.member.name not in self.seeking

    def _promised(self, name: str) -> bool:
        """Whether a seat here is held for a member to be seated. It may be on a spare that was promised to a repair."""
        return any(n == name and (self.seeking is None or m in self.seeking) for m, n in self._wanted.items())

    def _claimed(self, island: Island, name: str) -> str | None:
        labels = self.proposal.snapshot.nodes[name].node.labels
        for (key, value), claimant in self.claims.items():
            if claimant != island.name and labels.get(key) == value:
                return f"{key}={value} goes to {claimant} alone"
        return None

    def _owned_by_another(self, island: Island, name: str) -> str | None:
        if self.gang.infrastructure:
            return None
        labels = self.proposal.snapshot.nodes[name].node.labels
        for key in self.proposal.keys:
            if (value := labels.get(key)) is not None:
                memo = (island.name, key, value)
                if memo not in self._foreign:
                    self._foreign[memo] = self._foreign_domain(island, key, value)
                if (why := self._foreign[memo]) is not None:
                    return why
        return None

    def _foreign_domain(self, island: Island, key: str, value: str) -> str | None:
        owner = self.proposal.owner(key, value)
        if owner and owner != (self.gang.key, island.name) and not self.has_left(owner[0], key, value):
            return f"{key}={value} belongs to {owner[0]} alone"
        for held in self.proposal.held_for(key, value):
            if self.keeps(held, self.proposal.domain(key, value)):
                return f"{key}={value} is held for {held.gang.key}"
        return None

    def keeps(self, held: HeldSeat, names: Iterable[str]) -> bool:
        """Whether the seat on these nodes stays held for another gang under the hypothesis.

        A seat that is reserved for this gang is its own: no plan gives it to another gang, so a hold in the same place
        is an old one that its gang has not given up yet."""
        if held.gang.key in self.hypothesis.gangs or (not held.reserved and not self._reserved.isdisjoint(names)):
            return False
        return self.proposal.respects_hold(self.gang, held)

    def has_left(self, gang: str, key: str, value: str) -> bool:
        """Whether the gang has no seat left in the domain under the hypothesis."""
        if gang in self.hypothesis.gangs:
            return True
        if gang not in self._in_part and not (self.hypothesis.leaving and gang in self.proposal.snapshot.leaving):
            return False
        infos, frees = self.proposal.snapshot.nodes, self.hypothesis.frees
        seats = seats_of(self.proposal.snapshot.gangs[gang])
        return all(frees(s) for s in seats if infos[s.member.node].node.labels.get(key) == value)

    def free_space(self, name: str) -> FreeSpace:
        if name not in self._free_spaces:
            info = self.proposal.snapshot.nodes[name]
            free = dict(info.free)
            ports: list[HostPort] = []
            kept: list[Member] = []
            under, frees = not self.hypothesis.is_empty, self.hypothesis.frees
            for seat in info.seats:
                if under and frees(seat):
                    _give(free, seat.member.shape, 1)
                elif seat.member.shape.host_ports:
                    ports.extend(seat.member.shape.host_ports)
            for held in self.proposal.held.get(name, ()):
                if self.keeps(held, (name,)) or self._is_for_another_of_ours(held):
                    kept.append(held.member)
                    ports.extend(held.member.shape.host_ports)
            self._free_spaces[name] = FreeSpace(self._less(free, kept, info), ports)
        return self._free_spaces[name]

    def _less(self, free: dict[str, int], kept: list[Member], info: NodeInfo) -> dict[str, int]:
        """What is free beside held seats. The holders will also get what terminating pods release."""
        if not kept:
            return free
        later = dict(free)
        for seat in info.seats:
            if seat.leaving and not self.hypothesis.frees(seat):
                _give(later, seat.member.shape, 1)
        for member in kept:
            _give(later, member.shape, -1)
        return {name: min(amount, later.get(name, 0)) for name, amount in (later | free).items()}

    def room_for(self, shape: Shape, island: Island, name: str, limit: int) -> int:
        """How many members of this shape the node can take, without inter-pod rules."""
        if self.why_closed(shape, island, name) is not None:
            return 0
        free_space = self.free_space(name)
        if shape.host_ports:
            if ports_clash(shape, free_space.ports):
                return 0
            limit = min(limit, 1)
        if self.limit.spot_seats is not None and name in self.proposal.snapshot.spot:
            limit = min(limit, self.limit.spot_seats - self.spot_taken)
        return capacity(shape, free_space.free, limit)

    def take(self, member: Member, name: str) -> None:
        free_space = self.free_space(name)
        _give(free_space.free, member.shape, -1)
        free_space.ports.extend(member.shape.host_ports)
        self.seats[member.name] = name
        if self.limit is not NO_LIMIT:
            self.spot_taken += name in self.proposal.snapshot.spot
        if self.inter_pod:
            self.pod_affinity.seated[member.name] = (member, self.proposal.snapshot.nodes[name].node)

    def untake(self, member: Member) -> None:
        name = self.seats.pop(member.name)
        if self.limit is not NO_LIMIT:
            self.spot_taken -= name in self.proposal.snapshot.spot
        self.pod_affinity.seated.pop(member.name, None)
        free_space = self.free_space(name)
        _give(free_space.free, member.shape, 1)
        if member.shape.host_ports:
            del free_space.ports[-len(member.shape.host_ports) :]

    # Members onto nodes

    def seat_assignments(
        self, island: Island, members: Sequence[Member], nodes: NodeOrder, shared: bool = False
    ) -> Iterator[None]:
        """Ways to seat these members on these nodes, best first, within the limit of steps.

        One way is enough, unless the nodes are `shared` with members that are still to be seated.
        """
        ordered = _grouped(members)
        simple = not self.inter_pod
        if self._greedy(island, ordered, nodes, simple):
            yield
            self._clear(ordered)
            if not shared:
                return
        elif simple and all(m.shape is ordered[0].shape for m in ordered):
            return  # equal members fill nodes independently: where greedy fails, no way exists
        if len(ordered) <= SEARCHED_MEMBERS:
            names = list(islice(_merged([nodes.names(m.shape) for m in _one_a_shape(ordered)]), SEARCHED_NODES))
            yield from self._exhaustive(island, ordered, names, simple)

    def _greedy(self, island: Island, members: Sequence[Member], nodes: NodeOrder, simple: bool) -> bool:
        for run in _runs(members):
            left = self._reuse_previous_seats(island, run, nodes, simple)
            for name in nodes.names(run[0].shape) if left else ():
                fits = self.room_for(run[0].shape, island, name, len(left))
                if fits and simple:
                    for member in left[:fits]:
                        self.take(member, name)
                    left = left[fits:]
                elif fits:
                    left = [m for m in left if not self.seat(island, m, name)]
                if not left:
                    break
            if left:
                self._clear(members)
                return False
        return True

    def _reuse_previous_seats(
        self, island: Island, members: Sequence[Member], nodes: NodeOrder, simple: bool
    ) -> list[Member]:
        """Seats members where a seat is held for them, or where they sat before. Returns the others."""
        if self.has_no_previous_seats:
            return list(members)
        left: list[Member] = []
        for member in members:
            previous_seat = self.previous_seat(member)
            outside = nodes.within is not None and previous_seat not in nodes.within
            if not previous_seat or outside or not self.seat(island, member, previous_seat, simple):
                left.append(member)
        return left

    def seat(self, island: Island, member: Member, name: str, simple: bool = False) -> bool:
        """Takes the seat if the node can take the member."""
        if not self.room_for(member.shape, island, name, 1):
            return False
        if not simple and self.pod_affinity.refusal(member, self.proposal.snapshot.nodes[name].node) is not None:
            return False
        self.take(member, name)
        return True

    def previous_seat(self, member: Member) -> str:
        """The node where a seat is held for the member, else its last node; '' where neither is known."""
        previous_seat = self._wanted.get(member.name) or self._last_node(member)
        return previous_seat if previous_seat and previous_seat in self.proposal.snapshot.nodes else ""

    def _last_node(self, member: Member) -> str:
        """A pod that prefers spot capacity does not return to an on-demand node only because it sat there last."""
        spot = self.proposal.snapshot.spot
        if not len(spot) or member.last_node in spot or member.shape.capacity is not CapacityPolicy.PREFER_SPOT:
            return member.last_node
        return ""

    def _clear(self, members: Sequence[Member]) -> None:
        for member in reversed(members):
            if member.name in self.seats:
                self.untake(member)

    def _exhaustive(
        self, island: Island, members: Sequence[Member], names: Sequence[str], simple: bool, start: int = 0
    ) -> Iterator[None]:
        """Depth first. Equal members take nodes in one order only, since permutations are equivalent."""
        if not members:
            yield
            return
        member, rest = members[0], members[1:]
        alike = bool(rest) and simple and rest[0].shape is member.shape
        for index in range(start, len(names)):
            if self.steps <= 0:
                return
            self.steps -= 1
            if self.seat(island, member, names[index], simple):
                yield from self._exhaustive(island, rest, names, simple, index if alike else 0)
                self.untake(member)


def _give(free: dict[str, int], shape: Shape, count: int) -> None:
    for name, amount in shape.requests:
        free[name] = free.get(name, 0) + amount * count


def _owns_domains(gang: Gang) -> bool:
    return any(
        island.topology is not None and island.topology.mode is TopologyMode.EXCLUSIVE for island in gang.islands
    )


def _grouped(members: Sequence[Member]) -> list[Member]:
    """The hardest to seat first, with members of one shape together."""
    groups: dict[int, list[Member]] = {}
    for member in members:
        groups.setdefault(id(member.shape), []).append(member)
    if len(groups) == 1:
        return list(members)
    return [m for group in sorted(groups.values(), key=lambda group: hardest_first(group[0].shape)) for m in group]


def _runs(members: Sequence[Member]) -> Iterator[list[Member]]:
    """Runs of adjacent members with the same shape."""
    run: list[Member] = []
    for member in members:
        if run and run[0].shape is not member.shape:
            yield run
            run = []
        run.append(member)
    if run:
        yield run


def _one_a_shape(members: Iterable[Member]) -> list[Member]:
    return list({id(m.shape): m for m in members}.values())


def _merged(orders: Iterable[Iterable[str]]) -> Iterator[str]:
    """Each name once, in order of its first occurrence."""
    seen: set[str] = set()
    for order in orders:
        for name in order:
            if name not in seen:
                seen.add(name)
                yield name
