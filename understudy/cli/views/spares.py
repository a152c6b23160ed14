"""Spares and the rules about them as lines of text for people and as figures for programs."""

from typing import Any

import msgspec

from understudy.cli.input.times import rfc3339
from understudy.cli.queries.spares import RuleStatus, Spare, SpareHolder
from understudy.decide.policy import SpareRule
from understudy.model.nodes import SpareRole

_ROLES = {SpareRole.LENDABLE: "lendable", SpareRole.KEPT: "kept"}


# Words


def holder_text(holder: SpareHolder) -> str:
    seats = f"{holder.seats} seat{'s' * (holder.seats != 1)}"
    leaving = ", leaving" if holder.leaving else ""
    return f"{holder.gang.title} (priority {holder.gang.priority}, {seats}{leaving})"


def role_text(spare: Spare) -> str:
    return _ROLES[spare.role]


def rule_text(rule: SpareRule) -> str:
    """A rule in words: «1 domain of rack per zone»."""
    what = f"domain{'s' * (rule.count > 1)} of {rule.topology}" if rule.topology else f"node{'s' * (rule.count > 1)}"
    where = ", ".join(f"{key}={value}" for key, value in sorted(rule.labels.items()))
    return f"{rule.count} {what}" + (f" with {where}" if where else "") + (f" per {rule.per}" if rule.per else "")


def rule_status_text(need: RuleStatus) -> str:
    where = f", {need.value}" if need.value else ""
    lacks = f" ({need.missing} missing: {need.why})" if need.missing else ""
    return f"rule {need.number}: {rule_text(need.rule)}{where}: wanted {need.rule.count}, have {need.have}{lacks}"


# For programs: the keys are a promise; docs/reference/cli.md lists them.


def spare_figures(spare: Spare) -> dict[str, Any]:
    return {
        "node": spare.node,
        "domain": spare.domain,
        "by": spare.by,
        "role": role_text(spare),
        "state": spare.state,
        "since": rfc3339(spare.since) if spare.since is not None else None,
        "reason": spare.reason,
        "holders": [_holder_figures(holder) for holder in spare.holders],
    }


def _holder_figures(holder: SpareHolder) -> dict[str, Any]:
    gang = holder.gang
    return {
        "kind": gang.kind,
        "namespace": gang.namespace,
        "name": gang.name,
        "priority": gang.priority,
        "seats": holder.seats,
        "onLoan": holder.borrowed,
        "leaving": holder.leaving,
    }


def rule_figures(need: RuleStatus) -> dict[str, Any]:
    return {
        "rule": need.number,
        **msgspec.to_builtins(need.rule),
        "value": need.value,
        "wanted": need.rule.count,
        "have": need.have,
        "missing": need.missing,
        "why": need.why,
    }
