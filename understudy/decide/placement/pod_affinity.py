"""Rules about pods on other nodes: affinity, anti-affinity and topology spread. Placed pods become a refusal or None.

Only gangs with such rules pay for them, and new pods that the anti-affinity of placed pods may match.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from understudy.decide.fit import affine, selected, tolerated
from understudy.model.gangs import Gang, Member, PodTerm, Shape, SpreadConstraint
from understudy.model.node_info import Seat, seats_of
from understudy.model.nodes import Node
from understudy.model.snapshot import Snapshot

Counts = dict[str, int]  # domain value -> matching pods
Terms = tuple[PodTerm, ...]  # pods that match every term count, by domain of the first term's key


class PodAffinity:
    """The pods in the cluster without the seats that `freed` names, plus the members seated during a search."""

    def __init__(
        self, snapshot: Snapshot, gang: Gang, freed: Callable[[Seat], bool], promised: Sequence[Seat] = ()
    ) -> None:
        """`promised` are held seats. Like terminating pods, they count for anti-affinity and not for affinity."""
        self.snapshot = snapshot
        self.promised = promised
        self.gang = gang
        self.freed = freed
        self.seated: dict[str, tuple[Member, Node]] = {}
        self._counts: dict[tuple[Terms, bool], Counts] = {}
        self._eligible: dict[tuple[SpreadConstraint, Shape], tuple[frozenset[str], Counts]] = {}
        self._anti_affinity_places: list[tuple[PodTerm, str]] | None = None

    def refusal(self, member: Member, node: Node) -> str | None:
        return (
            self._anti_affinity_refusal(member, node)
            or self._affinity_refusal(member, node)
            or self._spread_refusal(member, node)
        )

    def applies(self) -> bool:
        """Whether inter-pod rules can affect this gang or pods that are already placed."""
        if len(self.snapshot.with_anti_affinity) or any(seat.member.shape.anti_affinity for seat in self.promised):
            return True
        shapes = {id(m.shape): m.shape for island in self.gang.islands for m in island.members}
        return any(shape.has_inter_pod_rules for shape in shapes.values())

    def affinity_score(self, shape: Shape, node: Node) -> int:
        """The score of the soft rules: weights of matching preferred terms, less the pods that spreading counts."""
        total = 0
        for weight, term in shape.preferred_affinity:
            if (value := node.labels.get(term.topology_key)) is not None:
                total += weight * (self._count((term,), leaving=False).get(value, 0) + self._own((term,), value))
        for spread in shape.spreads:
            if not spread.hard and (value := node.labels.get(spread.topology_key)) is not None:
                term = PodTerm(spread.topology_key, spread.selector, (self.gang.namespace,))
                total -= self._count((term,), leaving=False).get(value, 0) + self._own((term,), value)
        return total

    def _anti_affinity_refusal(self, member: Member, node: Node) -> str | None:
        for term in member.shape.anti_affinity:
            value = node.labels.get(term.topology_key)
            if value is not None and self._count((term,), leaving=True).get(value, 0) + self._own((term,), value):
                return f"anti-affinity to a pod in the same {term.topology_key}"
        for term, value in self._places_with_anti_affinity():
            if node.labels.get(term.topology_key) == value and term.matches(self.gang.namespace, member.labels):
                return f"a pod in the same {term.topology_key} has anti-affinity to it"
        for other, where in self.seated.values():
            for term in other.shape.anti_affinity:
                value = where.labels.get(term.topology_key)
                same = value is not None and node.labels.get(term.topology_key) == value
                if same and term.matches(self.gang.namespace, member.labels):
                    return f"another member in the same {term.topology_key} has anti-affinity to it"
        return None

    def _affinity_refusal(self, member: Member, node: Node) -> str | None:
        """A pod counts for affinity if all terms match it."""
        terms = member.shape.affinity
        for term in terms:
            value = node.labels.get(term.topology_key)
            if value is None:
                return f"affinity asks for label {term.topology_key}"
            joined = (term, *terms)
            if self._count(joined, leaving=False).get(value, 0) + self._own(joined, value):
                continue
            # The first pod of a group with affinity to itself finds no pod to match yet.
            alone = not any(self._count((t, *terms), leaving=False) or self._own((t, *terms), None) for t in terms)
            if alone and _all_match(terms, self.gang, member):
                continue
            return f"no pod its affinity asks for is in the same {term.topology_key}"
        return None

    def _spread_refusal(self, member: Member, node: Node) -> str | None:
        for spread in member.shape.spreads:
            if not spread.hard:
                continue
            value = node.labels.get(spread.topology_key)
            if value is None:
                return f"spreading asks for label {spread.topology_key}"
            term = PodTerm(spread.topology_key, spread.selector, (self.gang.namespace,))
            counts = self._count_eligible(term, spread, member.shape)
            least = min(counts.values(), default=0) if len(counts) >= spread.min_domains else 0
            joins = 1 if term.matches(self.gang.namespace, member.labels) else 0
            if counts.get(value, 0) + joins - least > spread.max_skew:
                return f"too many pods are in the same {spread.topology_key} already"
        return None

    def _own(self, terms: Terms, value: str | None) -> int:
        """Members seated during this search that the terms match, in one domain or (None) in any."""
        key = terms[0].topology_key
        return sum(
            1
            for member, node in self.seated.values()
            if (node.labels.get(key) == value if value is not None else key in node.labels)
            and _all_match(terms, self.gang, member)
        )

    def _count(self, terms: Terms, leaving: bool) -> Counts:
        if (terms, leaving) not in self._counts:
            counts: Counts = defaultdict(int)
            for node, seat in self._occupied():
                value = node.labels.get(terms[0].topology_key)
                if value is None or (seat.leaving and not leaving):
                    continue
                if _all_match(terms, self.snapshot.gangs[seat.gang], seat.member):
                    counts[value] += 1
            self._counts[terms, leaving] = dict(counts)
        return self._counts[terms, leaving]

    def _count_eligible(self, term: PodTerm, spread: SpreadConstraint, shape: Shape) -> Counts:
        """Matching pods by eligible domain. Pods on nodes that are not eligible do not count."""
        if (spread, shape) not in self._eligible:
            nodes = [info.node for info in self.snapshot.nodes.values() if _is_eligible(spread, shape, info.node)]
            names = frozenset(node.name for node in nodes)
            existing = dict.fromkeys((node.labels[term.topology_key] for node in nodes), 0)
            for node, seat in self._occupied():
                if node.name in names and not seat.leaving:
                    matches = term.matches(self.snapshot.gangs[seat.gang].namespace, seat.member.labels)
                    existing[node.labels[term.topology_key]] += matches
            self._eligible[spread, shape] = (names, existing)
        names, existing = self._eligible[spread, shape]
        counts = dict(existing)
        for member, node in self.seated.values():
            if node.name in names and term.matches(self.gang.namespace, member.labels):
                counts[node.labels[term.topology_key]] += 1
        return counts

    def _places_with_anti_affinity(self) -> list[tuple[PodTerm, str]]:
        if self._anti_affinity_places is None:
            self._anti_affinity_places = []
            seats = [s for key in sorted(self.snapshot.with_anti_affinity) for s in seats_of(self.snapshot.gangs[key])]
            for seat in (*(s for s in seats if not self.freed(s)), *self.promised):
                labels = self.snapshot.nodes[seat.member.node].node.labels
                places = ((t, labels.get(t.topology_key)) for t in seat.member.shape.anti_affinity)
                self._anti_affinity_places.extend((t, value) for t, value in places if value is not None)
        return self._anti_affinity_places

    def _occupied(self) -> Iterator[tuple[Node, Seat]]:
        for info in self.snapshot.nodes.values():
            for seat in info.seats:
                if not self.freed(seat):
                    yield info.node, seat
        for seat in self.promised:
            yield self.snapshot.nodes[seat.member.node].node, seat


def _all_match(terms: Terms, gang: Gang, member: Member) -> bool:
    return all(term.matches(gang.namespace, member.labels) for term in terms)


def _is_eligible(spread: SpreadConstraint, shape: Shape, node: Node) -> bool:
    """Whether the node counts for this spread: it has every key, and the inclusion policies admit it."""
    if any(s.topology_key not in node.labels for s in shape.spreads if s.hard):
        return False
    if spread.honor_affinity and (selected(shape, node) or affine(shape, node)):
        return False
    return not (spread.honor_taints and tolerated(shape, node))
