"""A greedy cover in the making: which victims it has so far, and who blocks each node or domain it could still take.

A candidate is a node for a member or a domain for an island, with the gangs that block it. Gangs that are victims
already cost nothing again, so prices only fall while a cover grows.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from understudy.decide.fit import ports_clash
from understudy.decide.holds import HeldSeat
from understudy.decide.placement.placement_request import NO_LIMIT, IslandRequest, PlacementRequest
from understudy.decide.preemption.victim_costs import VictimCosts
from understudy.model.gangs import Member
from understudy.model.node_info import NodeInfo, Seat

Price = tuple[float, float, int, float, float]  # in the order of Cost


class Candidate(msgspec.Struct, frozen=True):
    name: str
    blockers: frozenset[str]


class PartialCover:
    """The victims of a cover so far, and what they leave free."""

    def __init__(
        self,
        request: PlacementRequest,
        costs: VictimCosts,
        allowed: frozenset[str],
        pieces: frozenset[tuple[str, str]],
        per_seat: bool,
    ) -> None:
        self.proposal = costs.proposal
        self.request = request
        self.costs = costs
        self.allowed = allowed
        self.pieces = pieces
        self.per_seat = per_seat
        self.chosen: set[str] = set()
        self.used: dict[str, list[Member]] = defaultdict(list)  # node -> members this cover seats there
        self.domains: set[tuple[str, str]] = set()  # exclusive domains it has taken
        self.seats: dict[str, str] = {}  # of members of exclusive islands
        self.limit = request.limit
        self.alone_on_spot = 0  # seats of exclusive islands on spot nodes; those of others are in `used`
        self._requests: dict[int, dict[str, int]] = {}

    def fork(self) -> "PartialCover":
        twin = PartialCover(self.request, self.costs, self.allowed, self.pieces, self.per_seat)
        twin.chosen = set(self.chosen)
        twin.used = defaultdict(list, {name: list(members) for name, members in self.used.items()})
        twin.domains = set(self.domains)
        twin.alone_on_spot = self.alone_on_spot
        return twin

    def take(self, candidate: Candidate) -> None:
        self.chosen |= candidate.blockers

    def price(self, blockers: Iterable[str], frees: int) -> Price:
        """The cost of these gangs beyond the victims so far, divided by the number of candidates they free."""
        young, violations, highest, work, count = 0, 0, -(2**31), 0.0, 0
        weights, chosen = self.costs.weights, self.chosen
        for key in blockers:
            if key not in chosen:
                weight = weights[key]
                young += weight[0]
                violations += weight[1]
                work += weight[3]
                count += 1
                if weight[2] > highest:
                    highest = weight[2]
        if frees == 1 or not self.per_seat:
            return (young, violations, highest, work, count)
        return (young / frees, violations / frees, highest, work / frees, count / frees)

    def blockers(self, member: Member, name: str) -> frozenset[str] | None:
        """Which more gangs have to leave before the node can take the member; None where no preemption helps."""
        if self.proposal.refusal(member.shape, name) is not None:
            return None
        if self.proposal.spares and self.proposal.kept_as_spare(self.request.gang, name, self.request.repairing):
            return None
        if self.limit is not NO_LIMIT and self._is_beyond_limit(name):
            return None
        info = self.proposal.snapshot.nodes[name]
        must = self._owners(info)
        if must is None:
            return None
        chosen, pieces = self.chosen, self.pieces
        staying = [seat for seat in info.seats if not (seat.leaving or seat.gang in chosen)]
        if pieces:
            staying = [seat for seat in staying if (seat.gang, seat.member.name) not in pieces]
        if member.shape.host_ports:
            if any(ports_clash(member.shape, m.shape.host_ports) for m in self.used.get(name, ())):
                return None
            must |= {s.gang for s in staying if ports_clash(member.shape, s.member.shape.host_ports)}
            if not must <= self.allowed:
                return None
        missing = self._missing(member, info, len(staying) < len(info.seats) or bool(must), must)
        return must if not missing else self._with_cheapest_victims(missing, [*staying, *self._reserved(name)], must)

    def _is_beyond_limit(self, name: str) -> bool:
        return self.limit.why_not(name in self.proposal.snapshot.spot, self.spot_taken()) is not None

    def spot_taken(self, besides: Sequence[str] = ()) -> int:
        """How many seats on spot nodes it has taken, without those on some nodes."""
        counted = self.proposal.snapshot.spot
        elsewhere = (len(there) for node, there in self.used.items() if node in counted and node not in besides)
        return self.alone_on_spot + sum(elsewhere)

    def _reserved(self, name: str) -> list[Seat]:
        """Reserved seats of gangs that are no victims."""
        there = self.proposal.held.get(name, ())
        return [Seat(h.gang.key, h.member) for h in there if h.reserved and self._keeps(h)]

    def _keeps(self, held: HeldSeat) -> bool:
        return held.gang.key not in self.chosen and self.proposal.respects_hold(self.request.gang, held)

    def _is_gone(self, seat: Seat) -> bool:
        return seat.leaving or seat.gang in self.chosen or (seat.gang, seat.member.name) in self.pieces

    def _missing(self, member: Member, info: NodeInfo, some_leave: bool, must: frozenset[str]) -> dict[str, int]:
        """What the node is short of once the victims and the gangs in `must` have left."""
        free = info.free
        name = info.node.name
        if not (some_leave or name in self.used or name in self.proposal.held):
            return {what: short for what, amount in member.shape.requests if (short := amount - free.get(what, 0)) > 0}
        missing = {what: amount - free.get(what, 0) for what, amount in member.shape.requests}
        for seat in info.seats:
            if seat.gang in must or self._is_gone(seat):
                _add(missing, seat.member, -1)
        for other in self.used.get(name, ()):
            _add(missing, other, 1)
        for held in self.proposal.held.get(name, ()):
            if held.gang.key not in must and self._keeps(held):
                _add(missing, held.member, 1)
        return {what: short for what, short in missing.items() if short > 0}

    def _with_cheapest_victims(
        self, missing: dict[str, int], staying: Sequence[Seat], must: frozenset[str]
    ) -> frozenset[str] | None:
        """`must` and the cheapest further gangs that release what is missing."""
        if self._is_just_enough(missing, staying):
            return must.union([seat.gang for seat in staying])
        offers: dict[str, dict[str, int]] = {}
        for seat in staying:
            gang = seat.gang
            if gang in self.allowed and gang not in must:
                offers[gang] = _sum(offers[gang], seat.member) if gang in offers else self._amounts(seat.member)
        weights = self.costs.weights
        chosen: list[str] = []
        left = dict(missing)
        for _, gang in sorted([(weights[key], key) for key in offers]):
            chosen.append(gang)
            if _give(left, offers[gang]):
                break
        else:
            return None
        for gang in chosen[-2::-1]:  # put back what is not needed, the dearest first
            offer = offers[gang]
            for name, short in left.items():
                if short + offer.get(name, 0) > 0:
                    break
            else:
                chosen.remove(gang)
                left = {name: short + offer.get(name, 0) for name, short in left.items()}
        return must.union(chosen)

    def _is_just_enough(self, missing: dict[str, int], staying: Sequence[Seat]) -> bool:
        """Whether all of these equal pods have to go: usual where whole nodes are wanted, and a cheap check."""
        shape = staying[0].member.shape if staying else None
        for seat in staying:
            if seat.member.shape is not shape or seat.gang not in self.allowed:
                return False
        amounts = self._amounts(staying[0].member) if staying else {}
        exact = False
        for name, short in missing.items():
            given = amounts.get(name, 0) * len(staying)
            if given < short:
                return False
            exact = exact or given == short
        return exact

    def _amounts(self, member: Member) -> dict[str, int]:
        amounts = self._requests.get(id(member.shape))
        if amounts is None:
            amounts = self._requests[id(member.shape)] = dict(member.shape.requests)
        return amounts

    def _owners(self, info: NodeInfo) -> frozenset[str] | None:
        """Owners of this node's exclusive domains that would have to leave; None where they cannot."""
        owners: set[str] = set()
        for key in self.proposal.keys:
            if (value := info.node.labels.get(key)) is None:
                continue
            held = [h for h in self.proposal.held_for(key, value) if self._keeps(h)]
            if (key, value) in self.domains or not all(self._may_be_victim(h) for h in held):
                return None
            owners.update(h.gang.key for h in held)
            owner = self.proposal.owner(key, value)
            if owner is not None and owner[0] not in self.chosen and self.proposal.snapshot.gangs[owner[0]].seated():
                if owner[0] not in self.allowed:
                    return None
                owners.add(owner[0])
        return frozenset(owners)

    def exclusive_blockers(self, part: IslandRequest, value: str) -> frozenset[str] | None:
        """The gangs that have to leave before the island can own the domain; None where that is impossible."""
        assert part.island.topology is not None
        key = part.island.topology.key
        if part.pinned is None and value in self.proposal.unhealthy_domains(key):
            return None
        held = self._held_in(key, value) if self.proposal.held else []
        if not all(self._may_be_victim(h) for h in held):
            return None
        blockers = [h.gang.key for h in held]
        allowed = self.allowed
        for resident in self.proposal.gangs_in(key, value):
            if resident in allowed:
                if resident not in self.chosen:
                    blockers.append(resident)
            elif not self._is_no_obstacle(resident, part, value):
                return None
        return frozenset(blockers)

    def _held_in(self, key: str, value: str) -> list[HeldSeat]:
        """Seats in the domain that are held for other gangs and stay held so far."""
        there = (self.proposal.held.get(name, ()) for name in self.proposal.domain(key, value))
        return [held for seats in there for held in seats if self._keeps(held)]

    def _may_be_victim(self, held: HeldSeat) -> bool:
        return held.reserved and held.gang.key in self.allowed

    def _is_no_obstacle(self, resident: str, part: IslandRequest, value: str) -> bool:
        gang = self.proposal.snapshot.gangs[resident]
        if resident == self.request.gang.key and value == part.pinned:
            return True
        return all((gang.key, m.name) in self.pieces for m in gang.seated())  # then only terminating pods are left


def _give(missing: dict[str, int], offer: dict[str, int]) -> bool:
    """Subtracts the offer from what is missing. Whether nothing is missing any more."""
    enough = True
    for name in missing:
        missing[name] -= offer.get(name, 0)
        enough = enough and missing[name] <= 0
    return enough


def _sum(amounts: dict[str, int], member: Member) -> dict[str, int]:
    total = dict(amounts)
    for name, amount in member.shape.requests:
        total[name] = total.get(name, 0) + amount
    return total


def _add(amounts: dict[str, int], member: Member, sign: int) -> None:
    for name, amount in member.shape.requests:
        if name in amounts:
            amounts[name] += sign * amount
