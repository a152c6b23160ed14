"""Spares: turns labels and the policy's rules into the nodes kept free for repairs, and who may borrow them."""

from collections.abc import Iterable, Iterator

from understudy.decide.policy import Policy, SpareRule
from understudy.model.gangs import Gang
from understudy.model.nodes import SpareRole
from understudy.model.snapshot import Room, Snapshot

Spares = dict[str, SpareRole]


def spare_nodes(snapshot: Snapshot, policy: Policy) -> Spares:
    """Every node that counts as a spare now. A spare on loan is still one: it is recalled when needed."""
    spares = {name: snapshot.rooms[name].node.spare for name in snapshot.spares}
    for rule in policy.spares:
        for name in _chosen(snapshot, policy, rule, spares):
            spares[name] = SpareRole.LENDABLE
    return spares


def may_borrow(gang: Gang, role: SpareRole, policy: Policy) -> bool:
    return policy.lend_spares and role is SpareRole.LENDABLE and gang.priority < policy.lend_below


def _chosen(snapshot: Snapshot, policy: Policy, rule: SpareRule, taken: Spares) -> Iterator[str]:
    """The rule's share: idle places first, then those that only borrowers use; always the same ones for a snapshot."""
    places = [place for place in _places(snapshot, rule) if not any(name in taken for name in place)]
    idle = [place for place in places if all(_serves(snapshot, name, policy, lent=False) for name in place)]
    lent = [place for place in places if all(_serves(snapshot, name, policy, lent=True) for name in place)]
    already = sum(1 for name in taken if _matches(snapshot.rooms[name], rule)) if not rule.topology else 0
    for place in list(dict.fromkeys(idle + lent))[: max(0, rule.count - already)]:
        yield from place


def _places(snapshot: Snapshot, rule: SpareRule) -> Iterable[tuple[str, ...]]:
    if not rule.topology:
        return [(name,) for name in sorted(snapshot.rooms) if _matches(snapshot.rooms[name], rule)]
    domains: dict[str, list[str]] = {}
    for name in sorted(snapshot.rooms):
        room = snapshot.rooms[name]
        if rule.topology in room.node.labels and _matches(room, rule):
            domains.setdefault(room.node.labels[rule.topology], []).append(name)
    return [tuple(domains[value]) for value in sorted(domains)]


def _matches(room: Room, rule: SpareRule) -> bool:
    return all(room.node.labels.get(key) == value for key, value in rule.labels.items())


def _serves(snapshot: Snapshot, name: str, policy: Policy, lent: bool) -> bool:
    room = snapshot.rooms[name]
    if not room.node.usable or room.node.unschedulable:
        return False
    occupants = {seat.gang for seat in room.seats if not snapshot.gangs[seat.gang].infrastructure}
    if not lent:
        return not occupants
    return all(may_borrow(snapshot.gangs[key], SpareRole.LENDABLE, policy) for key in occupants)
