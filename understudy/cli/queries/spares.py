"""The spares of a cluster: the nodes, their holders, and what each rule still lacks."""

from collections import Counter
from collections.abc import Iterator, Mapping

import msgspec

from understudy.cli.queries.nodes import POOLS, first_label
from understudy.cli.queries.scheduler_state import PlanningState
from understudy.decide.policy import SpareRule
from understudy.decide.spares import SpareShare, may_borrow, occupants, shares, spare_nodes, why_unfit
from understudy.model.gangs import Gang
from understudy.model.nodes import SpareRole

LABEL = "label"


class SpareHolder(msgspec.Struct, frozen=True):
    """A gang that sits on a spare."""

    gang: Gang
    seats: int
    leaving: bool
    borrowed: bool  # else it is no borrower: the spare has stepped in for something it lost


class Spare(msgspec.Struct, frozen=True):
    node: str
    domain: str
    by: str
    role: SpareRole
    state: str
    holders: tuple[SpareHolder, ...]
    since: float | None  # when its holders got it, or when it became unfit
    reason: str


class RuleStatus(msgspec.Struct, frozen=True):
    """The number of spares a rule wants, among all nodes or in one value of its `per` label, and the number it has."""

    number: int  # from 1, as people count
    rule: SpareRule
    value: str
    have: int
    why: str  # it lacks the rest

    @property
    def missing(self) -> int:
        return max(0, self.rule.count - self.have)


class _SpareSource(msgspec.Struct, frozen=True):
    """The rule or label that makes a node a spare, and the domain the node is kept with."""

    by: str
    domain: str


def list_spares(seen: PlanningState) -> list[Spare]:
    roles = spare_nodes(seen.snapshot, seen.policy, seen.now)
    sources = _sources(seen)
    return [_spare(seen, name, roles[name], sources[name]) for name in sorted(roles)]


def rule_statuses(seen: PlanningState) -> list[RuleStatus]:
    spares = spare_nodes(seen.snapshot, seen.policy, seen.now)
    found = []
    for share in shares(seen.snapshot, seen.policy, seen.now):
        rule = seen.policy.spares[share.rule]
        why = _why_missing(seen, share, spares) if len(share.kept) < rule.count else ""
        found.append(RuleStatus(share.rule + 1, rule, share.value, len(share.kept), why))
    return found


def _sources(seen: PlanningState) -> dict[str, _SpareSource]:
    rooms = seen.snapshot.nodes
    found = {name: _SpareSource(LABEL, first_label(rooms[name].node.labels, POOLS)) for name in seen.snapshot.spares}
    for share in shares(seen.snapshot, seen.policy, seen.now):
        rule = seen.policy.spares[share.rule]
        for name in (name for place in share.chosen for name in place):
            labels = rooms[name].node.labels
            domain = labels.get(rule.topology) or share.value or first_label(labels, POOLS)
            found[name] = _SpareSource(f"rule {share.rule + 1}", domain)
    return found


def _spare(seen: PlanningState, name: str, role: SpareRole, source: _SpareSource) -> Spare:
    node = seen.snapshot.nodes[name].node
    holders = tuple(_holders(seen, name))
    state = why_unfit(seen.snapshot, name, seen.policy, seen.now) or _state(holders)
    since = min((at for holder in holders if (at := holder.gang.started_at) is not None), default=None)
    since = node.health.since if not node.usable else since
    return Spare(name, source.domain, source.by, role, state, holders, since, node.health.cause)


def _holders(seen: PlanningState, name: str) -> Iterator[SpareHolder]:
    for key in sorted(occupants(seen.snapshot, name)):
        gang = seen.snapshot.gangs[key]
        seats = [seat for seat in seen.snapshot.nodes[name].seats if seat.gang == key]
        borrowed = may_borrow(gang, SpareRole.LENDABLE, seen.policy)
        yield SpareHolder(gang, len(seats), all(seat.leaving for seat in seats), borrowed)


def _state(holders: tuple[SpareHolder, ...]) -> str:
    if not holders:
        return "free"
    if all(holder.leaving for holder in holders):
        return "recalled"
    return "on loan" if all(holder.borrowed for holder in holders) else "in use"


def _why_missing(seen: PlanningState, share: SpareShare, spares: Mapping[str, SpareRole]) -> str:
    """Counts why places are not kept as spares: the first reason in each place."""
    if not share.places:
        return "no node has its labels"
    counts: Counter[str] = Counter()
    for place in share.places:
        if place not in share.kept:
            whys = [why_unfit(seen.snapshot, name, seen.policy, seen.now) for name in place]
            whys += ["kept as spares otherwise" for name in place if name in spares]
            counts[next(filter(None, whys), "in use")] += 1
    rest = ", ".join(f"{count} {why}" for why, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])))
    what = "domain" if seen.policy.spares[share.rule].topology else "node"
    return f"no idle {what}: {rest}" if rest else f"there are no more {what}s"
