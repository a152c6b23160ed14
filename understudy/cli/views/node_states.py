"""Kinds of capacity and announced ends of nodes, in words and as columns of tables."""

from collections.abc import Sequence

from understudy.cli.input.times import long_duration
from understudy.cli.output.tables import NONE
from understudy.cli.queries.objects import NodeState
from understudy.model.nodes import Capacity, Health, Verdict


def departure(health: Health, now: float) -> str:
    """The time until a leaving node goes: «in 25s». Empty for any other node."""
    if health.verdict is not Verdict.LEAVING:
        return ""
    if health.deadline is None:
        return "at any moment"
    left = health.deadline - now
    return f"in {long_duration(left)}" if left >= 1 else f"at any moment, {long_duration(-left)} overdue"


def health_reason(health: Health, now: float) -> str:
    """Why a node is not healthy: «leaves in 25s: notice (azure Preempt)»."""
    when = departure(health, now)
    return f"leaves {when}: {health.cause}" if when else health.cause


def state_columns(states: Sequence[NodeState | None], now: float) -> list[list[str]]:
    """A heading and a row for each node. Where all nodes are on demand and none leaves, the columns are left out."""
    rows: list[list[str]] = [[], *([] for _ in states)]
    if any(one is not None and one.capacity is Capacity.SPOT for one in states):
        _add(rows, "CAPACITY", [one.capacity.value if one else NONE for one in states])
    reasons = [health_reason(one.health, now) if one and departure(one.health, now) else "" for one in states]
    if any(reasons):
        _add(rows, "LEAVES", [words.removeprefix("leaves ") or "<none>" for words in reasons])
    return rows


def _add(rows: Sequence[list[str]], head: str, cells: Sequence[str]) -> None:
    for row, cell in zip(rows, [head, *cells], strict=True):
        row.append(cell)
