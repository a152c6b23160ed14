"""What the actions of a plan add up to, gang by gang."""

import msgspec

from tests.decide.builders import cluster, lost, node, nodes, queued, running
from understudy.control.apply.gang_changes import GangChanges, changes_by_gang
from understudy.decide.wait_reasons import suspended
from understudy.model.plans import (
    Action,
    Grow,
    Hold,
    Move,
    Plan,
    Preempt,
    Requeue,
    SeatSource,
    Shrink,
    Start,
    Swap,
    Wait,
)
from understudy.model.snapshot import Snapshot

G, H = "Job/default/g", "Job/default/h"
WORLD = cluster(lost(node("dead")), *nodes("a b c"), running("g", on="a dead"), queued("h", members=2))


def changes_of(*actions: Action, snapshot: Snapshot = WORLD) -> dict[str, GangChanges]:
    return changes_by_gang(Plan(actions), snapshot)


def swap(*moves: tuple[str, str, str], waits_for: tuple[str, ...] = ()) -> Swap:
    return Swap(G, tuple(Move(*move, SeatSource.IDLE) for move in moves), "dead lost", waits_for)


def test_a_start_takes_its_seats_and_needs_no_holds_any_more() -> None:
    changes = changes_of(Hold(H, (("h-0", "a"),), "suspect"), Start(H, (("h-0", "b"), ("h-1", "c"))))[H]
    assert (changes.starts, changes.holds, changes.waits_for) == ({"h-0": "b", "h-1": "c"}, None, ())


def test_a_start_that_waits_for_others_has_its_seats_held() -> None:
    seats = (("h-0", "a"), ("h-1", "c"))
    changes = changes_of(Preempt(G, H, ("g-0",), ("a",), True, "lower priority"), Start(H, seats, (G,)))[H]
    assert (changes.starts, changes.holds, changes.waits_for) == ({}, seats, (G,))
    assert changes.claims == {"a": "h-0", "c": "h-1"}


def test_a_victim_goes_whole_or_in_part() -> None:
    changes = changes_of(Preempt(G, H, ("g-1",), ("dead",), False, "surplus"))[G]
    assert (changes.leaves, changes.gives_up, changes.by) == (["g-1"], False, H)
    assert changes_of(Preempt(G, H, ("g-0", "g-1"), ("a", "dead"), True, "lower"))[G].gives_up


def test_a_swap_moves_every_member_it_names() -> None:
    changes = changes_of(swap(("g-0", "a", "b"), ("g-1", "dead", "c")))[G]
    assert (changes.replaces, changes.leaves, changes.holds) == ({"g-0": "b", "g-1": "c"}, ["g-0", "g-1"], None)


def test_a_swap_that_waits_gives_up_only_what_is_lost() -> None:
    changes = changes_of(swap(("g-0", "a", "b"), ("g-1", "dead", "c"), waits_for=(H,)))[G]
    assert (changes.replaces, changes.leaves, changes.holds) == ({}, ["g-1"], (("g-0", "b"), ("g-1", "c")))


def test_a_gang_that_goes_on_with_fewer_keeps_what_was_promised_to_the_rest() -> None:
    changes = changes_of(swap(("g-0", "a", "b"), waits_for=(H,)), Shrink(G, ("g-1",), "dead lost"))[G]
    assert (changes.leaves, changes.holds) == (["g-1"], (("g-0", "b"),))


def test_what_is_planned_for_a_gang_that_gave_up_is_left_to_the_next_plan() -> None:
    changes = changes_of(Requeue(G, ("g-0", "g-1"), "nothing can replace it"), Start(G, (("g-0", "b"), ("g-1", "c"))))[
        G
    ]
    assert (changes.gives_up, changes.starts, len(changes.actions)) == (True, {}, 1)


def test_growth_comes_on_top() -> None:
    changes = changes_of(Start(H, (("h-0", "b"),)), Grow(H, (("h-1", "c"),)))[H]
    assert (changes.starts, changes.grows) == ({"h-0": "b"}, {"h-1": "c"})


def test_nothing_is_done_with_those_who_only_wait() -> None:
    assert changes_of(Wait(H, suspended(WORLD.gangs[H]))) == {}


def test_of_several_who_want_a_node_the_one_with_accelerators_is_named() -> None:
    world = cluster(*nodes("a"), queued("h", members=2, gpus=0), queued("k", members=2))
    seats = (("k-0", "a"), ("k-1", "a"))
    gang = world.gangs["Job/default/k"]
    plain = world.gangs["Job/default/h"].islands[0].members[0].shape
    first, second = gang.islands[0].members
    island = msgspec.structs.replace(gang.islands[0], members=(msgspec.structs.replace(first, shape=plain), second))
    changes = GangChanges(msgspec.structs.replace(gang, islands=(island,)), holds=seats)
    assert changes.claims == {"a": "k-1"}
