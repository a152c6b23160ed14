"""Spares: turns labels and the policy's rules into the nodes kept free for repairs, and says who may borrow them."""

from collections.abc import Iterator, Sequence

import msgspec

from understudy.decide.guards import failed_lately, lemon
from understudy.decide.policy import Policy, SpareRule
from understudy.model.gangs import Gang
from understudy.model.node_info import NodeInfo
from understudy.model.nodes import SpareRole
from understudy.model.snapshot import Snapshot

Spares = dict[str, SpareRole]
SpareUnit = tuple[str, ...]  # a node, or all nodes of a domain: what a rule counts


class SpareShare(msgspec.Struct, frozen=True):
    """What one rule keeps: among all nodes, or among those with one value of its `per` label."""

    rule: int  # its number in the policy, from 0
    value: str
    counted: tuple[SpareUnit, ...]  # spares by label or by an earlier rule
    chosen: tuple[SpareUnit, ...]
    places: tuple[SpareUnit, ...]  # all it could keep

    @property
    def kept(self) -> tuple[SpareUnit, ...]:
        return self.counted + self.chosen


def spare_nodes(snapshot: Snapshot, policy: Policy, now: float) -> Spares:
    """Every node that is a spare now. A lent spare is still one: it is recalled when needed."""
    spares = _labelled(snapshot, policy)
    for share in shares(snapshot, policy, now):
        for place in share.chosen:
            spares.update(dict.fromkeys(place, role_by(policy.spares[share.rule], policy)))
    return spares


def may_borrow(gang: Gang, role: SpareRole, policy: Policy) -> bool:
    return role is SpareRole.LENDABLE and gang.priority < policy.lend_below


def role_by(rule: SpareRule, policy: Policy) -> SpareRole:
    lends = policy.lend_spares if rule.lend is None else rule.lend
    return SpareRole.LENDABLE if lends else SpareRole.KEPT


def _labelled(snapshot: Snapshot, policy: Policy) -> Spares:
    """A label that allows loans allows those that the policy allows."""
    roles = {name: snapshot.nodes[name].node.spare for name in snapshot.spares}
    return roles if policy.lend_spares else dict.fromkeys(roles, SpareRole.KEPT)


def shares(snapshot: Snapshot, policy: Policy, now: float) -> Iterator[SpareShare]:
    """What each rule keeps, in order. The same snapshot gives the same nodes, so no state is needed to refill."""
    taken = set(snapshot.spares) if policy.spares else set()
    for number, rule in enumerate(policy.spares):
        for value, places in _places(snapshot, rule).items():
            choice = _SpareSelector(snapshot, policy, now, role_by(rule, policy))
            counted = tuple(p for p in places if taken.issuperset(p) and choice.serves(p, lent=True))
            free = [place for place in places if taken.isdisjoint(place)]
            chosen = choice.best(free, rule.count - len(counted))
            taken.update(name for place in chosen for name in place)
            yield SpareShare(number, value, counted, chosen, tuple(places))


def why_unfit(snapshot: Snapshot, name: str, policy: Policy, now: float) -> str:
    """Why no rule can keep this node as a spare now, whatever runs on it; '' where one can."""
    node = snapshot.nodes[name].node
    if not node.usable:
        return str(node.health.verdict)
    if node.unschedulable:
        return "cordoned"
    return "failing again and again" if node.failures and lemon(node, policy, now) else ""


def occupants(snapshot: Snapshot, name: str) -> set[str]:
    """The gangs on a node, terminating ones included. Daemons do not count."""
    return {seat.gang for seat in snapshot.nodes[name].seats if not snapshot.gangs[seat.gang].infrastructure}


class _SpareSelector(msgspec.Struct, frozen=True):
    """Which units can serve as spares of a role."""

    snapshot: Snapshot
    policy: Policy
    now: float
    role: SpareRole

    def best(self, places: Sequence[SpareUnit], count: int) -> tuple[SpareUnit, ...]:
        """Idle units first, those with recent failures after the others; then units that only borrowers use."""
        if count <= 0:
            return ()
        idle = [place for place in places if self.serves(place, lent=False)]
        idle.sort(key=self._failed_lately)
        lent = [place for place in places if self.serves(place, lent=True)] if len(idle) < count else []
        return tuple(dict.fromkeys(idle + lent))[:count]

    def serves(self, place: SpareUnit, lent: bool) -> bool:
        return all(self._node_serves(name, lent) for name in place)

    def _node_serves(self, name: str, lent: bool) -> bool:
        if why_unfit(self.snapshot, name, self.policy, self.now):
            return False
        there = occupants(self.snapshot, name)
        if not lent:
            return not there
        return all(may_borrow(self.snapshot.gangs[key], self.role, self.policy) for key in there)

    def _failed_lately(self, place: SpareUnit) -> bool:
        return any(failed_lately(self.snapshot.nodes[name].node, self.policy, self.now) for name in place)


def _places(snapshot: Snapshot, rule: SpareRule) -> dict[str, list[SpareUnit]]:
    """The units a rule may choose among, by the value of its `per` label. Of a domain, the first node counts."""
    domains: dict[str, list[str]] = {}
    for name in sorted(snapshot.nodes):
        info = snapshot.nodes[name]
        if _matches(info, rule):
            domains.setdefault(info.node.labels[rule.topology] if rule.topology else name, []).append(name)
    found: dict[str, list[SpareUnit]] = {}
    for _, names in sorted(domains.items()):
        value = snapshot.nodes[names[0]].node.labels.get(rule.per, "")
        found.setdefault(value, []).append(tuple(names))
    return dict(sorted(found.items())) or {"": []}


def _matches(info: NodeInfo, rule: SpareRule) -> bool:
    labels = info.node.labels
    if not all(key in labels for key in (rule.topology, rule.per) if key):
        return False
    return all(labels.get(key) == value for key, value in rule.labels.items())
