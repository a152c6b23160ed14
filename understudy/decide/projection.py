"""What a cluster becomes when a plan is carried out: turns a Snapshot and actions into the next Snapshot."""

from collections.abc import Iterable
from typing import assert_never

from msgspec.structs import replace

from understudy.model.gangs import Gang, Member, OnPreemption, Suspension
from understudy.model.nodes import Verdict
from understudy.model.plans import Action, Dismiss, Grow, Hold, Plan, Preempt, Requeue, Shrink, Start, Swap, Wait
from understudy.model.snapshot import Snapshot


def snapshot_after(snapshot: Snapshot, plan: Plan) -> Snapshot:
    """The snapshot once the plan is carried out: seats taken or held, victims on their way out."""
    return apply_actions(snapshot, plan.actions)


def without_leaving_pods(snapshot: Snapshot) -> Snapshot:
    """The snapshot once every pod that was leaving has left."""
    return snapshot.updated(gangs=[replace(gang, leaving=()) for gang in snapshot.gangs.values() if gang.leaving])


def apply_actions(snapshot: Snapshot, actions: Iterable[Action]) -> Snapshot:
    changed: dict[str, Gang] = {}
    for action in actions:
        gang = changed.get(action.gang) or snapshot.gangs[action.gang]
        changed[action.gang] = _carried_out(snapshot, gang, action)
    return snapshot.updated(gangs=changed.values()) if changed else snapshot


def _carried_out(snapshot: Snapshot, gang: Gang, action: Action) -> Gang:
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
        case Shrink():  # those it goes on with may have been promised seats
            holds = tuple(hold for hold in gang.holds if hold[0] not in action.members)
            return replace(_unseated(snapshot, gang, action.members), holds=holds)
        case Requeue():
            emptied = _unseated(snapshot, gang, action.members)
            return replace(emptied, holds=(), displaced=gang.displaced or not action.stalled, stalled=False)
        case Dismiss():
            return replace(gang.reseated(dict.fromkeys((m.name for m in gang.members()), "")), leaving=())
        case Hold():
            return replace(gang, holds=action.seats)
        case Wait():
            return gang
        case _:
            assert_never(action)


def _swapped(snapshot: Snapshot, gang: Gang, swap: Swap) -> Gang:
    targets = {move.member: move.to_node for move in swap.moves}
    if swap.waits_for:
        # A lost seat is given up at once; one that still works is kept until its replacement is free.
        lost = [move.member for move in swap.moves if _is_lost(snapshot, move.from_node)]
        return replace(_unseated(snapshot, gang, lost), holds=tuple(sorted(targets.items())))
    emptied = _unseated(snapshot, gang, [move.member for move in swap.moves if move.from_node])
    return replace(emptied.reseated(targets), holds=())


def _preempted(gang: Gang, preempt: Preempt) -> Gang:
    if not preempt.whole:
        return _drained(gang, preempt.members)
    drained = replace(_drained(gang, preempt.members), holds=(), started_at=None, checkpoint_at=None)
    if gang.on_preemption is OnPreemption.FAIL:
        # It wants nothing more. Its islands stay, empty: they say whose domains its leaving pods are in.
        return replace(drained, islands=tuple(replace(island, members=()) for island in drained.islands))
    return replace(drained, suspension=Suspension.REQUEUED)


def _unseated(snapshot: Snapshot, gang: Gang, members: Iterable[str]) -> Gang:
    """Seats on lost nodes are simply gone; pods on nodes that still live have to leave first."""
    names = set(members)
    alive = [m.name for m in gang.members() if m.name in names and not _is_lost(snapshot, m.node)]
    return _drained(gang, alive).reseated(dict.fromkeys(names, ""))


def _drained(gang: Gang, members: Iterable[str]) -> Gang:
    names = set(members)
    leaving: tuple[Member, ...] = tuple(m for m in gang.members() if m.name in names and m.node)
    return replace(gang.reseated(dict.fromkeys(names, "")), leaving=gang.leaving + leaving)


def _is_lost(snapshot: Snapshot, node: str) -> bool:
    info = snapshot.nodes.get(node)
    return info is None or info.node.health.verdict is Verdict.LOST
