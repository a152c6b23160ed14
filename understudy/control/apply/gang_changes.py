"""Groups the actions of a plan by gang: for each gang, everything that its actions change."""

from typing import assert_never

import msgspec

from understudy.model.gangs import Gang
from understudy.model.plans import (
    Action,
    Dismiss,
    Grow,
    Hold,
    Plan,
    Preempt,
    RequestCheckpoint,
    Requeue,
    Seats,
    Shrink,
    Start,
    Swap,
    Wait,
)
from understudy.model.snapshot import Snapshot


class GangChanges(msgspec.Struct):
    """What changes for one gang. Members are named as in the snapshot."""

    gang: Gang
    actions: list[Action] = []
    starts: dict[str, str] = {}  # seats to bind now, all of them or none
    replaces: dict[str, str] = {}  # seats to bind as soon as the replacement pods exist
    grows: dict[str, str] = {}  # seats to bind for the pods that exist
    leaves: list[str] = []  # members whose pods are evicted
    gives_up: bool = False  # the whole gang gives up its seats: it is requeued, or it ends
    by: str = ""  # the gang that gets the seats
    holds: Seats | None = None  # seats to hold from now on; None: no change
    waits_for: tuple[str, ...] = ()  # gangs that have to leave first

    @property
    def key(self) -> str:
        return self.gang.key

    @property
    def claims(self) -> dict[str, str]:
        """node -> the member that wants it. Of several members, the one that needs accelerators: the victims leave for
        those."""
        wanted = {**dict(self.holds or ()), **self.replaces, **self.starts}
        needs = {member.name: member.shape.accelerators for member in self.gang.members()}
        ranked = sorted(wanted.items(), key=lambda seat: (-needs.get(seat[0], 0), seat), reverse=True)
        return {node: member for member, node in ranked}


def changes_by_gang(plan: Plan, snapshot: Snapshot) -> dict[str, GangChanges]:
    """By gang, in the order in which the plan first names them."""
    by_gang: dict[str, GangChanges] = {}
    for action in plan.actions:
        if isinstance(action, Wait | Dismiss | RequestCheckpoint):
            continue  # these change no seat of the gang: see wait_reasons, warm_understudies and checkpoint_requests
        changes = by_gang.get(action.gang)
        if changes is None:
            changes = by_gang[action.gang] = GangChanges(snapshot.gangs[action.gang])
        if not changes.gives_up:  # what follows after the gang has left is decided by the next plan
            changes.actions.append(action)
            _add(changes, action, snapshot)
    return by_gang


def _add(changes: GangChanges, action: Action, snapshot: Snapshot) -> None:
    match action:
        case Start(seats=seats, waits_for=()):
            changes.starts, changes.holds = dict(seats), None
        case Start(seats=seats, waits_for=waits_for):
            changes.holds, changes.waits_for = seats, waits_for
        case Grow(seats=seats):
            changes.grows.update(seats)
        case Preempt():
            changes.leaves = [*changes.leaves, *action.members]
            changes.gives_up, changes.by = action.whole, action.by
        case Swap():
            _swap(changes, action, snapshot)
        case Shrink(members=members):
            changes.leaves = [*changes.leaves, *members]
            kept = changes.holds or (() if changes.replaces else changes.gang.holds)
            changes.holds = tuple(hold for hold in kept if hold[0] not in members)
        case Requeue(members=members):
            changes.leaves, changes.gives_up = list(members), True
        case Hold(seats=seats):
            changes.holds = seats
        case Wait() | Dismiss() | RequestCheckpoint():
            pass  # handled elsewhere, see changes_by_gang
        case _:
            assert_never(action)


def _swap(changes: GangChanges, swap: Swap, snapshot: Snapshot) -> None:
    """A lost seat is given up at once. A seat that still works is kept until its replacement is free."""
    changes.waits_for = swap.waits_for
    targets = {move.member: move.to_node for move in swap.moves}
    if swap.waits_for:
        changes.holds = tuple(sorted(targets.items()))
        changes.leaves = [move.member for move in swap.moves if move.from_node and snapshot.is_lost(move.from_node)]
    else:
        changes.replaces = targets
        changes.leaves = [move.member for move in swap.moves if move.from_node]
