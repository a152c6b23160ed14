"""Actions and reasons as sentences."""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import assert_never

from understudy.model.plans import (
    Action,
    Dismiss,
    Grow,
    Hold,
    Preempt,
    Refusal,
    RequestCheckpoint,
    Requeue,
    Shrink,
    Start,
    Swap,
    Wait,
    WaitCode,
    WaitReason,
)


def describe(action: Action) -> str:
    match action:
        case Start(gang, seats, ()):
            return f"start {gang} on {_nodes(n for _, n in seats)}"
        case Start(gang, seats, waits_for):
            return f"start {gang} on {_nodes(n for _, n in seats)} once {', '.join(waits_for)} left"
        case Grow(gang, seats):
            return f"grow {gang} by {len(seats)} on {_nodes(n for _, n in seats)}"
        case Preempt(gang, by, members, _, True, why):
            return f"preempt {gang} ({len(members)} pod{'s' * (len(members) != 1)}) for {by}: {why}"
        case Preempt(gang, by, members, _, _, why):
            return f"take {', '.join(members)} from {gang} for {by}: {why}"
        case Swap(gang, moves, why, waits_for):
            moved = ", ".join(f"{m.member} {m.from_node or '(no seat)'} -> {m.to_node} ({m.source})" for m in moves)
            return f"swap {gang}: {moved}" + (f", once {', '.join(waits_for)} left" if waits_for else "") + f"; {why}"
        case Shrink(gang, members, why):
            return f"shrink {gang} by {', '.join(members)}: {why}"
        case Requeue(gang, _, why):
            return f"requeue {gang}: {why}"
        case Dismiss(gang, node, _, by, member) if member:
            return f"let {gang} step in as {member} of {by} on {node}"
        case Dismiss(gang, node, why):
            return f"dismiss {gang} from {node}: {why}"
        case Hold(gang, (), why):
            return f"give up the seats held for {gang}: {why}"
        case Hold(gang, seats, why):
            return f"hold {_nodes(n for _, n in seats)} for {gang}: {why}"
        case RequestCheckpoint(gang, by, why) if by is not None:
            return f"ask {gang} to save a checkpoint by {time_text(by)}: {why}"
        case RequestCheckpoint(gang, _, why):
            return f"withdraw the request to {gang} to save a checkpoint: {why}"
        case Wait(gang, reason):
            return f"{gang} waits: {reason_summary(reason)}"
        case _:
            assert_never(action)


def reason_summary(reason: WaitReason) -> str:
    """The reason in one line."""
    match reason.code:
        case WaitCode.SUSPENDED:
            return "it is suspended by its owner"
        case (
            WaitCode.GATED
            | WaitCode.INCOMPLETE
            | WaitCode.UNSUPPORTED
            | WaitCode.STILL_LEAVING
            | WaitCode.NO_REPLACEMENT
            | WaitCode.CHECKPOINTING
        ):
            return "; ".join(refusal.why for refusal in reason.refusals)
        case WaitCode.VICTIMS_LEAVING:
            return f"until {', '.join(h.gang for h in reason.holders) or 'those who sit there'} left its seats"
        case WaitCode.GUARDED:
            return f"{reason.guard}{until_clause(reason.until)}; needs {reason.needs}"
        case WaitCode.NO_ROOM | WaitCode.BLOCKED_DOMAINS:
            what = "islands" if reason.code is WaitCode.BLOCKED_DOMAINS else "pods"
            place = "domain" if reason.code is WaitCode.BLOCKED_DOMAINS else "node"
            parts = [f"needs {reason.needs}", f"room for {reason.free} of {reason.wanted} {what}"]
            parts += [refusal_clause(refusal, place) for refusal in reason.refusals[:3]]
            return "; ".join(
                [*parts, f"cannot start on these nodes: {reason.infeasible}"] if reason.infeasible else parts
            )


_PLURAL = {"is": "are", "has": "have", "does": "do"}


def refusal_clause(refusal: Refusal, place: str) -> str:
    """«node-0 and node-1 have no nvidia.com/gpu», «7 nodes: taint a is not tolerated»."""
    names = list(refusal.names)
    which = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    if not which:
        which = f"{refusal.count} {place}{'s' * (refusal.count != 1)}"
    verb, _, rest = refusal.why.partition(" ")
    if verb not in _PLURAL:
        return f"{which}: {refusal.why}"
    return f"{which} {verb if refusal.count == 1 else _PLURAL[verb]} {rest}"


def until_clause(moment: float | None) -> str:
    """«, until 2026-01-31T12:00:00Z»."""
    return f", until {time_text(moment)}" if moment is not None else ""


def time_text(moment: float) -> str:
    """RFC 3339, rounded up to whole seconds."""
    return f"{datetime.fromtimestamp(-(-moment // 1), UTC):%Y-%m-%dT%H:%M:%SZ}"


def reason_with_holder(reason: WaitReason) -> str:
    """The reason in one line; for a lack of room also which gang holds most seats, and why it keeps them."""
    if reason.code not in (WaitCode.NO_ROOM, WaitCode.BLOCKED_DOMAINS) or not reason.holders:
        return reason_summary(reason)
    holder = reason.holders[0]
    seats = f"{holder.seats} seat{'s' * (holder.seats != 1)}"
    return f"{reason_summary(reason)}; held by {holder.gang}, {seats}: it {holder.keeps}"


def _nodes(names: Iterable[str]) -> str:
    counts = Counter(names)
    return ", ".join(name if count == 1 else f"{name} x{count}" for name, count in sorted(counts.items()))
