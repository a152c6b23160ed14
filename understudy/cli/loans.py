"""A snapshot and a policy into the spares there are, who has them, and what each rule still lacks."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from understudy.cli.glance import Glance
from understudy.cli.moments import rfc3339
from understudy.cli.node.standing import POOLS, first_of
from understudy.decide.policy import SpareRule
from understudy.decide.spares import SpareShare, may_borrow, occupants, shares, spare_nodes, why_unfit
from understudy.model.gangs import Gang
from understudy.model.nodes import SpareRole

LABEL = "label"
_ROLES = {SpareRole.LENDABLE: "lendable", SpareRole.KEPT: "kept"}


class Loan(msgspec.Struct, frozen=True):
    """Who sits on a spare."""

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
    loans: tuple[Loan, ...]
    since: float | None  # when whoever has it got it, or when it turned bad
    reason: str


class Need(msgspec.Struct, frozen=True):
    """What a rule wants, among all nodes or in one value of its `per` label, and what it has."""

    number: int  # from 1, as people count
    rule: SpareRule
    value: str
    have: int
    why: str  # it lacks the rest

    @property
    def missing(self) -> int:
        return max(0, self.rule.count - self.have)


class _Source(msgspec.Struct, frozen=True):
    """What makes a node a spare, and as part of what."""

    by: str
    domain: str


def spares_in(seen: Glance) -> list[Spare]:
    roles = spare_nodes(seen.snapshot, seen.policy, seen.now)
    sources = _sources(seen)
    return [_spare(seen, name, roles[name], sources[name]) for name in sorted(roles)]


def needs_of(seen: Glance) -> list[Need]:
    spares = spare_nodes(seen.snapshot, seen.policy, seen.now)
    found = []
    for share in shares(seen.snapshot, seen.policy, seen.now):
        rule = seen.policy.spares[share.rule]
        why = _why_missing(seen, share, spares) if len(share.kept) < rule.count else ""
        found.append(Need(share.rule + 1, rule, share.value, len(share.kept), why))
    return found


def _sources(seen: Glance) -> dict[str, _Source]:
    rooms = seen.snapshot.nodes
    found = {name: _Source(LABEL, first_of(rooms[name].node.labels, POOLS)) for name in seen.snapshot.spares}
    for share in shares(seen.snapshot, seen.policy, seen.now):
        rule = seen.policy.spares[share.rule]
        for name in (name for place in share.chosen for name in place):
            labels = rooms[name].node.labels
            domain = labels.get(rule.topology) or share.value or first_of(labels, POOLS)
            found[name] = _Source(f"rule {share.rule + 1}", domain)
    return found


def _spare(seen: Glance, name: str, role: SpareRole, source: _Source) -> Spare:
    node = seen.snapshot.nodes[name].node
    loans = tuple(_loans(seen, name))
    state = why_unfit(seen.snapshot, name, seen.policy, seen.now) or _state(loans)
    since = min((at for loan in loans if (at := loan.gang.started_at) is not None), default=None)
    since = node.health.since if not node.usable else since
    return Spare(name, source.domain, source.by, role, state, loans, since, node.health.cause)


def _loans(seen: Glance, name: str) -> Iterator[Loan]:
    for key in sorted(occupants(seen.snapshot, name)):
        gang = seen.snapshot.gangs[key]
        seats = [seat for seat in seen.snapshot.nodes[name].seats if seat.gang == key]
        borrowed = may_borrow(gang, SpareRole.LENDABLE, seen.policy)
        yield Loan(gang, len(seats), all(seat.leaving for seat in seats), borrowed)


def _state(loans: tuple[Loan, ...]) -> str:
    if not loans:
        return "free"
    if all(loan.leaving for loan in loans):
        return "recalled"
    return "on loan" if all(loan.borrowed for loan in loans) else "in use"


def _why_missing(seen: Glance, share: SpareShare, spares: Mapping[str, SpareRole]) -> str:
    """What is the matter with the places that are not kept: in each, the first thing that is."""
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


# Words


def told(loan: Loan) -> str:
    seats = f"{loan.seats} seat{'s' * (loan.seats != 1)}"
    leaving = ", leaving" if loan.leaving else ""
    return f"{loan.gang.title} (priority {loan.gang.priority}, {seats}{leaving})"


def role_of(spare: Spare) -> str:
    return _ROLES[spare.role]


def rule_in_words(rule: SpareRule) -> str:
    """«1 domain of rack per zone»."""
    what = f"domain{'s' * (rule.count > 1)} of {rule.topology}" if rule.topology else f"node{'s' * (rule.count > 1)}"
    where = ", ".join(f"{key}={value}" for key, value in sorted(rule.labels.items()))
    return f"{rule.count} {what}" + (f" with {where}" if where else "") + (f" per {rule.per}" if rule.per else "")


def need_in_words(need: Need) -> str:
    where = f", {need.value}" if need.value else ""
    lacks = f" ({need.missing} missing: {need.why})" if need.missing else ""
    return f"rule {need.number}: {rule_in_words(need.rule)}{where}: wanted {need.rule.count}, have {need.have}{lacks}"


# For programs: the keys are a promise; docs/reference/cli.md lists them.


def spare_figures(spare: Spare) -> dict[str, Any]:
    return {
        "node": spare.node,
        "domain": spare.domain,
        "by": spare.by,
        "role": role_of(spare),
        "state": spare.state,
        "since": rfc3339(spare.since) if spare.since is not None else None,
        "reason": spare.reason,
        "holders": [_loan_figures(loan) for loan in spare.loans],
    }


def _loan_figures(loan: Loan) -> dict[str, Any]:
    gang = loan.gang
    return {
        "kind": gang.kind,
        "namespace": gang.namespace,
        "name": gang.name,
        "priority": gang.priority,
        "seats": loan.seats,
        "onLoan": loan.borrowed,
        "leaving": loan.leaving,
    }


def need_figures(need: Need) -> dict[str, Any]:
    return {
        "rule": need.number,
        **msgspec.to_builtins(need.rule),
        "value": need.value,
        "wanted": need.rule.count,
        "have": need.have,
        "missing": need.missing,
        "why": need.why,
    }
