"""Priority queues of nodes and domains that a greedy cover can clear, cheapest first."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush

from understudy.decide.partial_cover import Candidate, PartialCover, Price
from understudy.decide.placement_request import IslandRequest
from understudy.model.gangs import Member, TopologyMode


class NodeCandidates:
    """The nodes one shape of member could go to, found as they are needed: those of the cheapest gangs first."""

    def __init__(self, cover: PartialCover, member: Member, within: Sequence[str] | None, wanted: int) -> None:
        self.cover = cover
        self.member = member
        self.within = None if within is None else frozenset(within)
        self.wanted = wanted
        self.heap: list[tuple[Price, str, Candidate]] = []
        self.seen: set[str] = set()
        self.gangs: list[tuple[Price, str]] = []
        if within is None and len(cover.allowed) <= 2 * len(cover.proposal.snapshot.nodes):
            self.gangs = sorted(map(self._bound, cover.allowed - cover.chosen), reverse=True)
        else:
            self._offer_all_nodes()

    def _bound(self, gang: str) -> tuple[Price, str]:
        """The least a spot can cost that needs this gang and none cheaper."""
        young, violations, priority, work, seats = self.cover.costs.weights[gang]
        frees = max(1, min(self.wanted, seats)) if self.cover.per_seat else 1
        return ((young / frees, violations / frees, priority, work / frees, 1 / frees), gang)

    def _offer_all_nodes(self) -> None:
        """Where gangs are many and small, it is cheaper to look at every node than to put the gangs in order."""
        cover, member = self.cover, self.member
        for name in self.within if self.within is not None else cover.proposal.snapshot.nodes:
            blockers = cover.blockers(member, name)
            if blockers is not None:
                price = cover.price(blockers, self._frees(blockers))
                self.heap.append((price, name, Candidate(name, blockers)))
        heapify(self.heap)

    def _frees(self, gangs: Iterable[str]) -> int:
        """How many of the wanted places the gangs' leaving could free."""
        if not self.cover.per_seat:
            return 1
        return max(1, min(self.wanted, sum(self.cover.costs.weights[key][4] for key in gangs)))

    def cheapest(self) -> Candidate | None:
        while True:
            while self.gangs and (not self.heap or self.heap[0][0] > self.gangs[-1][0]):
                self._offer_nodes_of(self.gangs.pop()[1])
            if not self.heap:
                return None
            _, name, candidate = heappop(self.heap)
            if self.cover.blockers(self.member, name) == candidate.blockers:
                return candidate
            self.offer(name)  # things have changed since it was priced

    def reprice(self, chosen: Iterable[str], name: str) -> None:
        """Offer again what the purchase changed: the place itself, and wherever the newly bought sit."""
        self.offer(name)
        for gang in chosen:
            if self.cover.costs.weights[gang][4] > 1:
                self._offer_nodes_of(gang, besides=name)

    def offer(self, name: str) -> None:
        blockers = self.cover.blockers(self.member, name)
        if blockers is not None:
            heappush(self.heap, (self.cover.price(blockers, self._frees(blockers)), name, Candidate(name, blockers)))

    def _offer_nodes_of(self, gang: str, besides: str | None = None) -> None:
        """Offer the nodes the gang sits on: those not seen yet, or all of them but one."""
        for node in dict.fromkeys(self.cover.proposal.snapshot.gangs[gang].occupied()):
            again = besides is not None and node != besides
            if (again or node not in self.seen) and (self.within is None or node in self.within):
                self.seen.add(node)
                self.offer(node)


class DomainCandidates:
    """The domains one kind of island could go to. `crowd` says who has to leave a domain that is shared."""

    def __init__(
        self,
        cover: PartialCover,
        part: IslandRequest,
        shared_blockers: Callable[[PartialCover, IslandRequest, str], frozenset[str] | None],
        wanted: int,
    ) -> None:
        topology = part.island.topology
        assert topology is not None
        self.cover = cover
        self.part = part
        self.key = topology.key
        self.blockers: Callable[[PartialCover, IslandRequest, str], frozenset[str] | None] = (
            PartialCover.exclusive_blockers if topology.mode is TopologyMode.EXCLUSIVE else shared_blockers
        )
        candidates = self._first_offers()
        self.frees = {who: min(wanted, count) for who, count in Counter(candidates.values()).items()}
        self.heap = [(self._price(who), value, Candidate(value, who)) for value, who in candidates.items()]
        heapify(self.heap)

    def _first_offers(self) -> dict[str, frozenset[str]]:
        """Who blocks each domain. Covers that begin with nothing bought see the same, so that is kept for the next."""
        cover, part = self.cover, self.part
        memo = (cover.allowed, part.island.topology, part.pinned)
        if part.exclusive and not cover.chosen and memo in cover.costs.offers:
            return cover.costs.offers[memo]
        domains = cover.proposal.snapshot.domains[self.key]
        values: Iterable[str] = [part.pinned] if part.pinned is not None else domains
        if not part.exclusive:  # who has to leave a shared domain takes longer to find out than whether it is too small
            values = [value for value in values if cover.proposal.could_hold(self.key, value, part.members)]
        candidates = {
            value: candidate for value in values if (candidate := self.blockers(cover, part, value)) is not None
        }
        if part.exclusive and not cover.chosen:
            cover.costs.offers[memo] = candidates
        return candidates

    def cheapest(self) -> Candidate | None:
        while self.heap:
            _, value, candidate = heappop(self.heap)
            if (self.key, value) in self.cover.domains:
                continue
            now = self.blockers(self.cover, self.part, value)
            if now == candidate.blockers:
                return candidate
            if now is not None:
                heappush(self.heap, (self._price(now), value, Candidate(value, now)))
        return None

    def reprice(self, chosen: Iterable[str]) -> None:
        """Offer again the domains that the newly bought sit in: they cost less now."""
        snapshot = self.cover.proposal.snapshot
        for gang in chosen:
            infos = (snapshot.nodes.get(name) for name in snapshot.gangs[gang].occupied())
            for value in {info.node.labels.get(self.key) for info in infos if info is not None} - {None}:
                now = self.blockers(self.cover, self.part, str(value))
                if now is not None:
                    heappush(self.heap, (self._price(now), str(value), Candidate(str(value), now)))

    def _price(self, blockers: frozenset[str]) -> Price:
        return self.cover.price(blockers, self.frees.get(blockers, 1))
