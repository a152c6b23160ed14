"""Places for sale: turns nodes and domains into spots with the victims they cost, cheapest first.

A spot takes one unit (a member on a node, an island in a domain) once its blockers have left. Whoever has been bought
already costs nothing again, so prices only fall while a cover is bought.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush

import msgspec

from understudy.decide.fit import ports_clash
from understudy.decide.floor import Floor
from understudy.decide.place import Part, Quest
from understudy.decide.worth import Ledger
from understudy.model.gangs import Gang, Member, Mode
from understudy.model.snapshot import Room, Seat

Price = tuple[float, float, int, float, float]


class Spot(msgspec.Struct, frozen=True):
    name: str
    blockers: frozenset[str]


class Purchase:
    """What a cover has bought so far, and what that leaves of each place."""

    def __init__(
        self,
        floor: Floor,
        quest: Quest,
        ledger: Ledger,
        allowed: frozenset[str],
        pieces: frozenset[tuple[str, str]],
        sharing: bool,
    ) -> None:
        self.floor = floor
        self.quest = quest
        self.ledger = ledger
        self.allowed = allowed
        self.pieces = pieces
        self.sharing = sharing
        self.bought: set[str] = set()
        self.used: dict[str, list[Member]] = defaultdict(list)  # node -> members this cover seats there
        self.domains: set[tuple[str, str]] = set()  # bought whole

    def fork(self) -> "Purchase":
        twin = Purchase(self.floor, self.quest, self.ledger, self.allowed, self.pieces, self.sharing)
        twin.bought = set(self.bought)
        twin.used = defaultdict(list, {name: list(members) for name, members in self.used.items()})
        twin.domains = set(self.domains)
        return twin

    def buy(self, spot: Spot) -> None:
        self.bought |= spot.blockers

    def price(self, blockers: Iterable[str], frees: int) -> Price:
        """What these cost beyond whom was bought, divided among the places they free."""
        weights = [self.ledger.weight(key) for key in blockers if key not in self.bought]
        share = frees if self.sharing else 1
        return (
            sum(w[0] for w in weights) / share,
            sum(w[1] for w in weights) / share,
            max((w[2] for w in weights), default=-(2**31)),
            sum(w[3] for w in weights) / share,
            len(weights) / share,
        )

    def blockers(self, member: Member, name: str) -> frozenset[str] | None:
        """Who else has to leave before the member can sit on this node; None where nobody's leaving would do."""
        if self.floor.refusal(member.shape, name) is not None:
            return None
        if self.floor.kept_as_spare(self.quest.gang, name, self.quest.repairing):
            return None
        room = self.floor.snapshot.rooms[name]
        owners = self._owners(room)
        if owners is None or any(ports_clash(member.shape, m.shape.host_ports) for m in self.used.get(name, ())):
            return None
        staying = [seat for seat in room.seats if not self._is_gone(seat)]
        must = owners
        if member.shape.host_ports:
            must |= {s.gang for s in staying if ports_clash(member.shape, s.member.shape.host_ports)}
        if not must <= self.allowed:
            return None
        missing = self._missing(member, room, must)
        return must if not missing else self._made_up(missing, staying, must)

    def _is_gone(self, seat: Seat) -> bool:
        return seat.leaving or seat.gang in self.bought or (seat.gang, seat.member.name) in self.pieces

    def _missing(self, member: Member, room: Room, must: frozenset[str]) -> dict[str, int]:
        """What the node is short of once the bought and those in `must` have left."""
        short = {name: amount - room.free.get(name, 0) for name, amount in member.shape.requests}
        if all(amount <= 0 for amount in short.values()) and not self.used and not self.floor.held:
            return {}
        for seat in room.seats:
            if seat.gang in must or self._is_gone(seat):
                _add(short, seat.member, -1)
        for other in self.used.get(room.node.name, ()):
            _add(short, other, 1)
        for held in self.floor.held.get(room.node.name, ()):
            if self._respects(held.gang):
                _add(short, held.member, 1)
        return {name: amount for name, amount in short.items() if amount > 0}

    def _respects(self, holder: Gang) -> bool:
        return holder.key != self.quest.gang.key and holder.priority >= self.quest.gang.priority

    def _made_up(self, missing: dict[str, int], staying: Sequence[Seat], must: frozenset[str]) -> frozenset[str] | None:
        """`must`, and the cheapest of the others whose leaving makes up for what is missing."""
        offers: dict[str, dict[str, int]] = {}
        for seat in staying:
            if seat.gang in self.allowed and seat.gang not in must:
                offer = offers.setdefault(seat.gang, dict.fromkeys(missing, 0))
                _add(offer, seat.member, 1)
        chosen: list[str] = []
        for gang in sorted(offers, key=lambda key: (self.ledger.weight(key), key)):
            chosen.append(gang)
            missing = {name: short - offers[gang][name] for name, short in missing.items()}
            if all(short <= 0 for short in missing.values()):
                break
        else:
            return None
        for gang in chosen[-2::-1]:  # the dearest that is not needed is put back first
            if all(short + offers[gang][name] <= 0 for name, short in missing.items()):
                chosen.remove(gang)
                missing = {name: short + offers[gang][name] for name, short in missing.items()}
        return must.union(chosen)

    def _owners(self, room: Room) -> frozenset[str] | None:
        """Gangs that have this node's domains to themselves and would have to leave; None where they cannot."""
        owners = set()
        for key in self.floor.keys:
            if (value := room.node.labels.get(key)) is None:
                continue
            if (key, value) in self.domains or any(map(self._respects, self.floor.held_for(key, value))):
                return None
            owner = self.floor.owner(key, value)
            if owner is not None and owner[0] not in self.bought and self.floor.snapshot.gangs[owner[0]].seated():
                if owner[0] not in self.allowed:
                    return None
                owners.add(owner[0])
        return frozenset(owners)

    def tenants(self, part: Part, value: str) -> frozenset[str] | None:
        """Whoever has to leave before the island has the domain to itself; None where that cannot be."""
        assert part.island.topology is not None
        key = part.island.topology.key
        if part.pinned is None and value in self.floor.sick_domains(key):
            return None
        blockers = []
        for tenant in self.floor.snapshot.tenants[key].get(value, ()):
            if tenant in self.allowed:
                if tenant not in self.bought:
                    blockers.append(tenant)
            elif not self._stays_out_of_the_way(tenant, part, value):
                return None
        return frozenset(blockers)

    def _stays_out_of_the_way(self, tenant: str, part: Part, value: str) -> bool:
        gang = self.floor.snapshot.gangs[tenant]
        if gang.infrastructure or (tenant == self.quest.gang.key and value == part.pinned):
            return True
        return all((gang.key, m.name) in self.pieces for m in gang.seated())  # only leaving pods are left otherwise


class NodeSpots:
    """The nodes one shape of member could go to, found as they are needed: those of the cheapest gangs first."""

    def __init__(self, purchase: Purchase, member: Member, within: Sequence[str] | None, wanted: int) -> None:
        self.purchase = purchase
        self.member = member
        self.within = None if within is None else frozenset(within)
        self.wanted = wanted
        self.heap: list[tuple[Price, str, Spot]] = []
        self.seen: set[str] = set()
        bounds = [(self._price(frozenset([key])), key) for key in self._gangs()]
        self.gangs = sorted(bounds, reverse=True)  # the least a spot can cost that needs this gang and none cheaper

    def _gangs(self) -> Iterable[str]:
        if self.within is None:
            return self.purchase.allowed - self.purchase.bought
        seats = (seat.gang for name in self.within for seat in self.purchase.floor.snapshot.rooms[name].seats)
        return {gang for gang in seats if gang in self.purchase.allowed and gang not in self.purchase.bought}

    def cheapest(self) -> Spot | None:
        while True:
            while self.gangs and (not self.heap or self.heap[0][0] > self.gangs[-1][0]):
                self._explore(self.gangs.pop()[1])
            if not self.heap:
                return None
            _, name, spot = heappop(self.heap)
            if self.purchase.blockers(self.member, name) == spot.blockers:
                return spot
            self.offer(name)  # things have changed since it was priced

    def reprice(self, bought: Iterable[str], name: str) -> None:
        """Offer again what the purchase changed: the place itself, and wherever the newly bought sit."""
        self.offer(name)
        for gang in bought:
            self._explore(gang, again=True)

    def offer(self, name: str) -> None:
        blockers = self.purchase.blockers(self.member, name)
        if blockers is not None:
            heappush(self.heap, (self._price(blockers), name, Spot(name, blockers)))

    def _explore(self, gang: str, again: bool = False) -> None:
        for member in self.purchase.floor.snapshot.gangs[gang].seated():
            if (again or member.node not in self.seen) and (self.within is None or member.node in self.within):
                self.seen.add(member.node)
                self.offer(member.node)

    def _price(self, blockers: frozenset[str]) -> Price:
        frees = 1
        if self.purchase.sharing:
            gangs = self.purchase.floor.snapshot.gangs
            frees = max(1, min(self.wanted, len({m.node for key in blockers for m in gangs[key].seated()})))
        return self.purchase.price(blockers, frees)


class DomainSpots:
    """The domains one kind of island could go to. `crowd` says who has to leave a domain that is shared."""

    def __init__(
        self,
        purchase: Purchase,
        part: Part,
        crowd: Callable[[Purchase, Part, str], frozenset[str] | None],
        wanted: int,
    ) -> None:
        topology = part.island.topology
        assert topology is not None
        self.purchase = purchase
        self.part = part
        self.key = topology.key
        self.blockers: Callable[[Purchase, Part, str], frozenset[str] | None] = (
            Purchase.tenants if topology.mode is Mode.EXCLUSIVE else crowd
        )
        values = [part.pinned] if part.pinned is not None else purchase.floor.snapshot.domains[topology.key]
        spots = {value: spot for value in values if (spot := self.blockers(purchase, part, value)) is not None}
        self.frees = {who: min(wanted, count) for who, count in Counter(spots.values()).items()}
        self.heap = [(self._price(who), value, Spot(value, who)) for value, who in spots.items()]
        heapify(self.heap)

    def cheapest(self) -> Spot | None:
        while self.heap:
            _, value, spot = heappop(self.heap)
            if (self.key, value) in self.purchase.domains:
                continue
            now = self.blockers(self.purchase, self.part, value)
            if now == spot.blockers:
                return spot
            if now is not None:
                heappush(self.heap, (self._price(now), value, Spot(value, now)))
        return None

    def reprice(self, bought: Iterable[str]) -> None:
        """Offer again the domains that the newly bought sit in: they cost less now."""
        snapshot = self.purchase.floor.snapshot
        for gang in bought:
            nodes = (m.node for m in snapshot.gangs[gang].seated())
            for value in {snapshot.rooms[name].node.labels.get(self.key) for name in nodes} - {None}:
                now = self.blockers(self.purchase, self.part, str(value))
                if now is not None:
                    heappush(self.heap, (self._price(now), str(value), Spot(str(value), now)))

    def _price(self, blockers: frozenset[str]) -> Price:
        return self.purchase.price(blockers, self.frees.get(blockers, 1))


def _add(amounts: dict[str, int], member: Member, sign: int) -> None:
    for name, amount in member.shape.requests:
        if name in amounts:
            amounts[name] += sign * amount
