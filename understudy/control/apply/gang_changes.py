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
    deeds: dict[str, GangChanges] = {}
    for action in plan.actions:
        if isinstance(action, Wait | Dismiss):
            continue  # nothing is done with who waits but to tell him why; for understudies see there
        deed = deeds.get(action.gang)
        if deed is None:
            deed = deeds[action.gang] = GangChanges(snapshot.gangs[action.gang])
        if not deed.gives_up:  # what is planned for it after that is for the next plan to say, when its pods have gone
            deed.actions.append(action)
            _add(deed, action, snapshot)
    return deeds


def _add(deed: GangChanges, action: Action, snapshot: Snapshot) -> None:
    match action:
        case Start(seats=seats, waits_for=()):
            deed.starts, deed.holds = dict(seats), None
        case Start(seats=seats, waits_for=waits_for):
            deed.holds, deed.waits_for = seats, waits_for
        case Grow(seats=seats):
            deed.grows.update(seats)
        case Preempt():
            deed.leaves = [*deed.leaves, *action.members]
            deed.gives_up, deed.by = action.whole, action.by
        case Swap():
            _swap(deed, action, snapshot)
        case Shrink(members=members):
            deed.leaves = [*deed.leaves, *members]
            kept = deed.holds or (() if deed.replaces else deed.gang.holds)
            deed.holds = tuple(hold for hold in kept if hold[0] not in members)
        case Requeue(members=members):
            deed.leaves, deed.gives_up = list(members), True
        case Hold(seats=seats):
            deed.holds = seats
        case Wait() | Dismiss():
            pass  # told, and done, elsewhere
        case _:
            assert_never(action)


def _swap(deed: GangChanges, swap: Swap, snapshot: Snapshot) -> None:
    """A lost seat is given up at once; one that still works is kept until its replacement is free."""
    deed.waits_for = swap.waits_for
    targets = {move.member: move.to_node for move in swap.moves}
    if swap.waits_for:
        deed.holds = tuple(sorted(targets.items()))
        deed.leaves = [move.member for move in swap.moves if move.from_node and snapshot.is_lost(move.from_node)]
    else:
        deed.replaces = targets
        deed.leaves = [move.member for move in swap.moves if move.from_node]
