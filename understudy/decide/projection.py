"""The snapshot that actions lead to: turns a Snapshot and a Plan into the next Snapshot."""

from collections.abc import Iterable
from typing import assert_never

from msgspec.structs import replace

from understudy.model.gangs import Gang, Member, OnPreemption, Suspension
from understudy.model.plans import (
    Action,
    Dismiss,
    Grow,
    Hold,
    Plan,
    Preempt,
    RequestCheckpoint,
    Requeue,
    Shrink,
    Start,
    Swap,
    Wait,
)
from understudy.model.snapshot import Snapshot


def snapshot_after(snapshot: Snapshot, plan: Plan) -> Snapshot:
    """The snapshot after the plan is applied: seats are taken or held, the pods of victims are terminating."""
    return apply_actions(snapshot, plan.actions)


def without_leaving_pods(snapshot: Snapshot) -> Snapshot:
    """The snapshot after all terminating pods are deleted."""
    return snapshot.updated(gangs=[replace(gang, leaving=()) for gang in snapshot.gangs.values() if gang.leaving])


def apply_actions(snapshot: Snapshot, actions: Iterable[Action]) -> Snapshot:
    changed: dict[str, Gang] = {}
    for action in actions:
        gang = changed.get(action.gang) or snapshot.gangs[action.gang]
        changed[action.gang] = _applied(snapshot, gang, action)
    return snapshot.updated(gangs=changed.values()) if changed else snapshot


def _applied(snapshot: Snapshot, gang: Gang, action: Action) -> Gang:
    match action:
        case Start(waits_for=()):
            return replace(gang.reseated(dict(action.seats)), holds=(), suspension=Suspension.NONE, displaced=False)
        case Grow():
            seats = dict(action.seats)
            return replace(gang.reseated(seats), holds=tuple(hold for hold in gang.holds if hold[0] not in seats))
        case Start():
            return replace(gang, holds=action.seats)
        case Swap():
            return _swapped(snapshot, gang, action)
        case Preempt():
            return _preempted(gang, action)
        case Shrink():  # holds of members that stay remain
            holds = tuple(hold for hold in gang.holds if hold[0] not in action.members)
            return replace(_unseated(snapshot, gang, action.members), holds=holds)
        case Requeue():
            freed = _unseated(snapshot, gang, action.members)
            displaced = gang.displaced or not action.stalled
            return replace(freed, holds=(), checkpoint_requests=(), displaced=displaced, stalled=False)
        case Dismiss():
            return replace(gang.reseated(dict.fromkeys((m.name for m in gang.members()), "")), leaving=())
        case Hold():
            return replace(gang, holds=action.seats)
        case RequestCheckpoint(by=None):
            return replace(gang, checkpoint_requests=())
        case RequestCheckpoint(by=by):
            return replace(gang, checkpoint_requests=tuple(sorted((m.name, by) for m in gang.seated())))
        case Wait():
            return gang
        case _:
            assert_never(action)


def _swapped(snapshot: Snapshot, gang: Gang, swap: Swap) -> Gang:
    targets = {move.member: move.to_node for move in swap.moves}
    if swap.waits_for:
        # A lost seat is given up at once; a healthy seat is kept until its replacement is free.
        lost = [move.member for move in swap.moves if snapshot.is_lost(move.from_node)]
        return replace(_unseated(snapshot, gang, lost), holds=tuple(sorted(targets.items())))
    freed = _unseated(snapshot, gang, [move.member for move in swap.moves if move.from_node])
    return replace(freed.reseated(targets), holds=())


def _preempted(gang: Gang, preempt: Preempt) -> Gang:
    if not preempt.whole:
        return _with_terminating(gang, preempt.members)
    drained = replace(
        _with_terminating(gang, preempt.members),
        holds=(),
        started_at=None,
        checkpoint_at=None,
        checkpoint_requests=(),
    )
    if gang.on_preemption is OnPreemption.FAIL:
        # The job ends. Its empty islands remain, since they say which domains its terminating pods own.
        return replace(drained, islands=tuple(replace(island, members=()) for island in drained.islands))
    return replace(drained, suspension=Suspension.REQUEUED)


def _unseated(snapshot: Snapshot, gang: Gang, members: Iterable[str]) -> Gang:
    """Seats on lost nodes are free at once; pods on other nodes have to terminate first."""
    names = set(members)
    alive = [m.name for m in gang.members() if m.name in names and not snapshot.is_lost(m.node)]
    return _with_terminating(gang, alive).reseated(dict.fromkeys(names, ""))


def _with_terminating(gang: Gang, members: Iterable[str]) -> Gang:
    names = set(members)
    leaving: tuple[Member, ...] = tuple(m for m in gang.members() if m.name in names and m.node)
    return replace(gang.reseated(dict.fromkeys(names, "")), leaving=gang.leaving + leaving)
