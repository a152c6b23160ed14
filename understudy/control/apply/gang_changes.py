"""Turns a plan into deeds: for each gang, all that its actions together ask to be done with it."""

from typing import assert_never

import msgspec

from understudy.model.gangs import Gang
from understudy.model.plans import Action, Dismiss, Grow, Hold, Plan, Preempt, Requeue, Seats, Shrink, Start, Swap, Wait
from understudy.model.snapshot import Snapshot


class GangChanges(msgspec.Struct):
    """What is to be done with one gang. Members go by their names in the snapshot."""

    gang: Gang
    actions: list[Action] = []
    starts: dict[str, str] = {}  # seats to take now, all of them or none
    replaces: dict[str, str] = {}  # seats to take as soon as the pods that fill them are there
    grows: dict[str, str] = {}  # seats to take by those who are there
    leaves: list[str] = []  # members whose pods have to go
    gives_up: bool = False  # the gang goes whole: back to the queue, or to its end
    by: str = ""  # the gang for which its seats are taken away
    holds: Seats | None = None  # seats to be kept for it from now on; None: as before
    waits_for: tuple[str, ...] = ()  # gangs that have to leave first

    @property
    def key(self) -> str:
        return self.gang.key

    @property
    def claims(self) -> dict[str, str]:
        """node -> the member that wants it; of several the one that needs accelerators, which others go for."""
        wanted = {**dict(self.holds or ()), **self.replaces, **self.starts}
        needs = {member.name: member.shape.accelerators for member in self.gang.members()}
        ranked = sorted(wanted.items(), key=lambda seat: (-needs.get(seat[0], 0), seat), reverse=True)
        return {node: member for member, node in ranked}


def changes_by_gang(plan: Plan, snapshot: Snapshot) -> dict[str, GangChanges]:
    """By gang, in the order in which the plan first speaks of them."""
    by_gang: dict[str, GangChanges] = {}
    for action in plan.actions:
        if isinstance(action, Wait | Dismiss):
            continue  # nothing is done with who waits but to tell him why; for understudies see there
        changes = by_gang.get(action.gang)
        if changes is None:
            changes = by_gang[action.gang] = GangChanges(snapshot.gangs[action.gang])
        if not changes.gives_up:  # the next plan says what follows when its pods have gone
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
        case Wait() | Dismiss():
            pass  # told, and done, elsewhere
        case _:
            assert_never(action)


def _swap(changes: GangChanges, swap: Swap, snapshot: Snapshot) -> None:
    """A lost seat is given up at once; one that still works is kept until its replacement is free."""
    changes.waits_for = swap.waits_for
    targets = {move.member: move.to_node for move in swap.moves}
    if swap.waits_for:
        changes.holds = tuple(sorted(targets.items()))
        changes.leaves = [move.member for move in swap.moves if move.from_node and snapshot.is_lost(move.from_node)]
    else:
        changes.replaces = targets
        changes.leaves = [move.member for move in swap.moves if move.from_node]
