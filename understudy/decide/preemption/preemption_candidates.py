"""Priority queues of nodes and domains that a greedy cover can clear, cheapest first."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush

from understudy.decide.placement.placement_request import IslandRequest
from understudy.decide.preemption.partial_cover import Candidate, PartialCover, Price
from understudy.model.gangs import Member, TopologyMode


class NodeCandidates:
    """The candidate nodes for one shape, found lazily: nodes of the cheapest gangs first."""

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
        """A lower bound for the price of a candidate that needs this gang and no cheaper one."""
        young, violations, priority, work, seats = self.cover.costs.weights[gang]
        frees = max(1, min(self.wanted, seats)) if self.cover.per_seat else 1
        return ((young / frees, violations / frees, priority, work / frees, 1 / frees), gang)

    def _offer_all_nodes(self) -> None:
        """With many small gangs, checking every node is cheaper than sorting the gangs."""
        cover, member = self.cover, self.member
        for name in self.within if self.within is not None else cover.proposal.snapshot.nodes:
            blockers = cover.blockers(member, name)
            if blockers is not None:
                price = cover.price(blockers, self._frees(blockers))
                self.heap.append((price, name, Candidate(name, blockers)))
        heapify(self.heap)

    def _frees(self, gangs: Iterable[str]) -> int:
        """How many of the wanted candidates these gangs could free."""
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
            self.offer(name)  # its price has changed meanwhile

    def reprice(self, chosen: Iterable[str], name: str) -> None:
        """Offers again what new victims change: this node, and the other nodes they sit on."""
        self.offer(name)
        for gang in chosen:
            if self.cover.costs.weights[gang][4] > 1:
                self._offer_nodes_of(gang, besides=name)

    def offer(self, name: str) -> None:
        blockers = self.cover.blockers(self.member, name)
        if blockers is not None:
            heappush(self.heap, (self.cover.price(blockers, self._frees(blockers)), name, Candidate(name, blockers)))

    def _offer_nodes_of(self, gang: str, besides: str | None = None) -> None:
        """Offers the nodes of the gang: those not seen yet, or all of them except one."""
        for node in dict.fromkeys(self.cover.proposal.snapshot.gangs[gang].occupied()):
            again = besides is not None and node != besides
            if (again or node not in self.seen) and (self.within is None or node in self.within):
                self.seen.add(node)
                self.offer(node)


class DomainCandidates:
    """The candidate domains for one kind of island. `shared_blockers` finds the blockers of a shared domain."""

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
        """The blockers of each domain. Covers without victims share the result."""
        cover, part = self.cover, self.part
        memo = (cover.allowed, part.island.topology, part.pinned)
        if part.exclusive and not cover.chosen and memo in cover.costs.offers:
            return cover.costs.offers[memo]
        domains = cover.proposal.snapshot.domains[self.key]
        values: Iterable[str] = [part.pinned] if part.pinned is not None else domains
        if not part.exclusive:  # for shared domains, a check of the size is cheaper than finding the blockers
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
        """Offers again the domains that the new victims sit in, since they are cheaper now."""
        snapshot = self.cover.proposal.snapshot
        for gang in chosen:
            infos = (snapshot.nodes.get(name) for name in snapshot.gangs[gang].occupied())
            for value in {info.node.labels.get(self.key) for info in infos if info is not None} - {None}:
                now = self.blockers(self.cover, self.part, str(value))
                if now is not None:
                    heappush(self.heap, (self._price(now), str(value), Candidate(str(value), now)))

    def _price(self, blockers: frozenset[str]) -> Price:
        return self.cover.price(blockers, self.frees.get(blockers, 1))
