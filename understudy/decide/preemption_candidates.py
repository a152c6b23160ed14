"""Priority queues of nodes and domains that a greedy cover can clear, cheapest first."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush

from understudy.decide.partial_cover import Candidate, PartialCover, Price
from understudy.decide.placement_request import IslandRequest
from understudy.model.gangs import Member, TopologyMode


class NodeCandidates:
    """The nodes one shape of member could go to, found as they are needed: those of the cheapest gangs first."""

    def __init__(self, purchase: PartialCover, member: Member, within: Sequence[str] | None, wanted: int) -> None:
        self.purchase = purchase
        self.member = member
        self.within = None if within is None else frozenset(within)
        self.wanted = wanted
        self.heap: list[tuple[Price, str, Candidate]] = []
        self.seen: set[str] = set()
        self.gangs: list[tuple[Price, str]] = []
        if within is None and len(purchase.allowed) <= 2 * len(purchase.floor.snapshot.rooms):
            self.gangs = sorted(map(self._bound, purchase.allowed - purchase.bought), reverse=True)
        else:
            self._explore_everything()

    def _bound(self, gang: str) -> tuple[Price, str]:
        """The least a spot can cost that needs this gang and none cheaper."""
        young, violations, priority, work, seats = self.purchase.ledger.weights[gang]
        frees = max(1, min(self.wanted, seats)) if self.purchase.sharing else 1
        return ((young / frees, violations / frees, priority, work / frees, 1 / frees), gang)

    def _explore_everything(self) -> None:
        """Where gangs are many and small, it is cheaper to look at every node than to put the gangs in order."""
        purchase, member = self.purchase, self.member
        for name in self.within if self.within is not None else purchase.floor.snapshot.rooms:
            blockers = purchase.blockers(member, name)
            if blockers is not None:
                price = purchase.price(blockers, self._frees(blockers))
                self.heap.append((price, name, Candidate(name, blockers)))
        heapify(self.heap)

    def _frees(self, gangs: Iterable[str]) -> int:
        """How many of the wanted places the gangs' leaving could free."""
        if not self.purchase.sharing:
            return 1
        return max(1, min(self.wanted, sum(self.purchase.ledger.weights[key][4] for key in gangs)))

    def cheapest(self) -> Candidate | None:
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
            if self.purchase.ledger.weights[gang][4] > 1:
                self._explore(gang, besides=name)

    def offer(self, name: str) -> None:
        blockers = self.purchase.blockers(self.member, name)
        if blockers is not None:
            heappush(self.heap, (self.purchase.price(blockers, self._frees(blockers)), name, Candidate(name, blockers)))

    def _explore(self, gang: str, besides: str | None = None) -> None:
        """Offer the nodes the gang sits on: those not seen yet, or all of them but one."""
        for node in dict.fromkeys(self.purchase.floor.snapshot.gangs[gang].occupied()):
            again = besides is not None and node != besides
            if (again or node not in self.seen) and (self.within is None or node in self.within):
                self.seen.add(node)
                self.offer(node)


class DomainCandidates:
    """The domains one kind of island could go to. `crowd` says who has to leave a domain that is shared."""

    def __init__(
        self,
        purchase: PartialCover,
        part: IslandRequest,
        crowd: Callable[[PartialCover, IslandRequest, str], frozenset[str] | None],
        wanted: int,
    ) -> None:
        topology = part.island.topology
        assert topology is not None
        self.purchase = purchase
        self.part = part
        self.key = topology.key
        self.blockers: Callable[[PartialCover, IslandRequest, str], frozenset[str] | None] = (
            PartialCover.tenants if topology.mode is TopologyMode.EXCLUSIVE else crowd
        )
        spots = self._first_offers()
        self.frees = {who: min(wanted, count) for who, count in Counter(spots.values()).items()}
        self.heap = [(self._price(who), value, Candidate(value, who)) for value, who in spots.items()]
        heapify(self.heap)

    def _first_offers(self) -> dict[str, frozenset[str]]:
        """Who blocks each domain. Covers that begin with nothing bought see the same, so that is kept for the next."""
        purchase, part = self.purchase, self.part
        memo = (purchase.allowed, part.island.topology, part.pinned)
        if part.exclusive and not purchase.bought and memo in purchase.ledger.offers:
            return purchase.ledger.offers[memo]
        domains = purchase.floor.snapshot.domains[self.key]
        values: Iterable[str] = [part.pinned] if part.pinned is not None else domains
        if not part.exclusive:  # who has to leave a shared domain takes longer to find out than whether it is too small
            values = [value for value in values if purchase.floor.could_hold(self.key, value, part.members)]
        spots = {value: spot for value in values if (spot := self.blockers(purchase, part, value)) is not None}
        if part.exclusive and not purchase.bought:
            purchase.ledger.offers[memo] = spots
        return spots

    def cheapest(self) -> Candidate | None:
        while self.heap:
            _, value, spot = heappop(self.heap)
            if (self.key, value) in self.purchase.domains:
                continue
            now = self.blockers(self.purchase, self.part, value)
            if now == spot.blockers:
                return spot
            if now is not None:
                heappush(self.heap, (self._price(now), value, Candidate(value, now)))
        return None

    def reprice(self, bought: Iterable[str]) -> None:
        """Offer again the domains that the newly bought sit in: they cost less now."""
        snapshot = self.purchase.floor.snapshot
        for gang in bought:
            rooms = (snapshot.rooms.get(name) for name in snapshot.gangs[gang].occupied())
            for value in {room.node.labels.get(self.key) for room in rooms if room is not None} - {None}:
                now = self.blockers(self.purchase, self.part, str(value))
                if now is not None:
                    heappush(self.heap, (self._price(now), str(value), Candidate(str(value), now)))

    def _price(self, blockers: frozenset[str]) -> Price:
        return self.purchase.price(blockers, self.frees.get(blockers, 1))
