"""Notices: a gang on a leaving node saves a checkpoint while its new seats are held, then moves as one."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.decide.builders import (
    LONG_AGO,
    NOW,
    cluster,
    jobset,
    lost,
    node,
    nodes,
    plan_lines,
    planned,
    queued,
    running,
    slices,
    suspect,
)
from understudy.decide.cycle import plan
from understudy.decide.policy import Policy
from understudy.decide.projection import snapshot_after, without_leaving_pods
from understudy.model.gangs import Gang
from understudy.model.nodes import Health, Node, Verdict
from understudy.model.plans import Hold, Plan, Preempt, RequestCheckpoint, Start, Swap, Wait, WaitCode
from understudy.model.snapshot import Snapshot

TOLD = NOW - 5.0
DEADLINE = NOW + 300.0
MOVE_AT = DEADLINE - 30.0 - 5.0  # the grace period, and the margin


def saves(name: str, on: str, **rest: Any) -> Gang:
    """A running gang that reports checkpoints, the last one long ago."""
    return running(name, on=on, **{"checkpoint_at": LONG_AGO, **rest})


def noticed(name: str, deadline: float | None = DEADLINE, told: float | None = TOLD, slice: str = "") -> Node:  # noqa: A002
    return replace(node(name, slice=slice), health=Health(Verdict.LEAVING, "notice", told, deadline))


def after(state: Snapshot, now: float = NOW) -> Snapshot:
    return snapshot_after(state, plan(state, Policy(), now))


def changes(made: Plan) -> list[object]:
    return [action for action in made.actions if not isinstance(action, Wait)]


def test_its_new_seat_is_held_at_once_and_it_is_asked_to_save() -> None:
    made = planned(noticed("a"), node("b"), saves("g", on="a"))
    hold, wait, request = made.actions
    assert isinstance(hold, Hold)
    assert hold.seats == (("g-0", "b"),)
    assert isinstance(wait, Wait)
    assert (wait.reason.code, wait.reason.until) == (WaitCode.CHECKPOINTING, MOVE_AT)
    assert isinstance(request, RequestCheckpoint)
    assert request.by == MOVE_AT
    assert made.recheck_at == MOVE_AT


def test_the_plan_and_its_reason_say_what_the_job_is_waited_for() -> None:
    assert plan_lines(noticed("a"), node("b"), saves("g", on="a")) == [
        "hold b for g: a leaving: notice",
        "g waits: a leaving: notice; it moves as soon as it has saved a checkpoint",
        "ask g to save a checkpoint by 1970-01-02T03:51:05Z: a leaving: notice, it goes by 1970-01-02T03:51:40Z",
    ]


def test_while_it_waits_nothing_more_is_planned() -> None:
    state = after(cluster(noticed("a"), noticed("c"), nodes("b d"), saves("g", on="a c")))
    again = plan(state, Policy(), NOW + 100.0)
    assert changes(again) == []
    assert again.recheck_at == MOVE_AT


def test_a_checkpoint_after_the_notice_lets_all_members_move_to_the_held_seats() -> None:
    state = after(cluster(noticed("a"), noticed("c"), nodes("b d e"), saves("g", on="a c")))
    held = state.gangs["Job/default/g"].holds
    saved = replace(state.gangs["Job/default/g"], checkpoint_at=NOW + 1.0)
    swap, withdrawal = plan(state.updated(gangs=[saved]), Policy(), NOW + 2.0).actions
    assert isinstance(swap, Swap)
    assert tuple((move.member, move.to_node) for move in swap.moves) == held
    assert withdrawal == RequestCheckpoint("Job/default/g", None, "it sits on no leaving node")


def test_when_the_time_has_come_it_moves_without_a_checkpoint() -> None:
    state = after(cluster(noticed("a"), node("b"), saves("g", on="a")))
    assert changes(plan(state, Policy(), MOVE_AT - 0.1)) == []
    [swap, _] = plan(state, Policy(), MOVE_AT).actions
    assert isinstance(swap, Swap)
    assert [(move.from_node, move.to_node) for move in swap.moves] == [("a", "b")]


def test_the_gang_is_at_rest_after_its_move() -> None:
    state = after(after(cluster(noticed("a"), node("b"), saves("g", on="a"))), MOVE_AT)
    moved = without_leaving_pods(state)
    assert [m.node for m in moved.gangs["Job/default/g"].seated()] == ["b"]
    assert moved.gangs["Job/default/g"].checkpoint_requests == ()
    assert plan(moved, Policy(), MOVE_AT + 1.0).actions == ()


@pytest.mark.parametrize(
    ("home", "gang"),
    [
        pytest.param(noticed("a"), running("g", on="a"), id="it never reported a checkpoint"),
        pytest.param(noticed("a"), saves("g", on="a", checkpoint_at=NOW - 1.0), id="it has saved since the notice"),
        pytest.param(noticed("a", deadline=None), saves("g", on="a"), id="the node may go at any time"),
        pytest.param(noticed("a", told=None), saves("g", on="a"), id="it is not known when the notice came"),
        pytest.param(noticed("a", deadline=NOW + 35.0), saves("g", on="a"), id="only its grace period is left"),
        pytest.param(noticed("a"), saves("g", on="a", grace=300.0), id="its own grace period is long"),
        pytest.param(noticed("a", deadline=NOW - 1.0), saves("g", on="a"), id="the deadline has passed"),
    ],
)
def test_it_moves_at_once_where_waiting_would_gain_nothing(home: Node, gang: Gang) -> None:
    [swap] = planned(home, node("b"), gang).actions
    assert isinstance(swap, Swap)


def test_a_gang_with_a_lost_member_too_moves_at_once() -> None:
    [swap] = planned(noticed("a"), lost(node("c")), nodes("b d"), saves("g", on="a c")).actions
    assert isinstance(swap, Swap)
    assert {move.from_node for move in swap.moves} == {"a", "c"}


def test_the_first_of_several_deadlines_counts_and_the_last_of_several_notices() -> None:
    homes = noticed("a", DEADLINE), noticed("c", NOW + 100.0, told=NOW - 1.0)
    made = planned(*homes, nodes("b d"), saves("g", on="a c", checkpoint_at=NOW - 2.0))
    assert made.recheck_at == NOW + 65.0


def test_a_margin_of_the_settings_is_kept() -> None:
    made = planned(noticed("a"), node("b"), saves("g", on="a"), policy=Policy(notice_margin=60.0))
    assert made.recheck_at == DEADLINE - 90.0


# The deadline changes


def with_notice(state: Snapshot, *homes: Node) -> Snapshot:
    return state.updated(nodes=homes)


def test_a_shortened_deadline_is_told_and_may_mean_to_move_at_once() -> None:
    state = after(cluster(noticed("a"), node("b"), saves("g", on="a")))
    [request] = changes(plan(with_notice(state, noticed("a", NOW + 100.0)), Policy(), NOW))
    assert isinstance(request, RequestCheckpoint)
    assert request.by == NOW + 65.0
    [swap, _] = plan(with_notice(state, noticed("a", NOW + 20.0)), Policy(), NOW).actions
    assert isinstance(swap, Swap)


def test_a_notice_that_is_withdrawn_leaves_nothing_behind() -> None:
    state = with_notice(after(cluster(noticed("a"), node("b"), saves("g", on="a"))), node("a"))
    assert plan(state, Policy(), NOW).actions == (
        Hold("Job/default/g", (), "it is whole again"),
        RequestCheckpoint("Job/default/g", None, "it sits on no leaving node"),
    )
    assert plan(after(state), Policy(), NOW).actions == ()


def test_of_two_notices_one_is_withdrawn_and_only_the_other_member_moves() -> None:
    state = after(cluster(noticed("a"), noticed("c"), nodes("b d"), saves("g", on="a c")))
    held = dict(state.gangs["Job/default/g"].holds)
    state = with_notice(state, node("a"))
    [hold] = changes(plan(state, Policy(), NOW))
    assert isinstance(hold, Hold)
    assert hold.seats == (("g-1", held["g-1"]),)
    [swap, _] = plan(after(state), Policy(), MOVE_AT).actions
    assert isinstance(swap, Swap)
    assert [move.member for move in swap.moves] == ["g-1"]


def test_a_second_notice_for_the_same_gang_holds_seats_for_both_members() -> None:
    state = after(cluster(noticed("a"), nodes("b c d"), saves("g", on="a c")))
    state = after(with_notice(state, noticed("c", told=NOW)))
    assert len(state.gangs["Job/default/g"].holds) == 2
    assert changes(plan(state, Policy(), NOW)) == []


def test_a_node_that_dies_before_its_deadline_is_swapped_at_once_to_the_held_seat() -> None:
    state = after(cluster(noticed("a"), nodes("b c"), saves("g", on="a")))
    [(_, held)] = state.gangs["Job/default/g"].holds
    [swap, _] = plan(with_notice(state, lost(node("a"))), Policy(), NOW).actions
    assert isinstance(swap, Swap)
    assert [(move.from_node, move.to_node) for move in swap.moves] == [("a", held)]


# Whole islands, victims, and no room


def test_an_exclusive_island_moves_whole_so_seats_are_held_for_all_of_it() -> None:
    state = cluster(noticed("a", slice="s0"), *slices(s0="b", s1="c d"), jobset("g", on="a b", checkpoint_at=LONG_AGO))
    state = after(state)
    assert state.gangs["Job/default/g"].holds == (("g-0-0", "c"), ("g-0-1", "d"))
    assert changes(plan(state, Policy(), NOW)) == []
    [swap, _] = plan(state, Policy(), MOVE_AT).actions
    assert isinstance(swap, Swap)
    assert {move.to_node for move in swap.moves} == {"c", "d"}


def test_no_other_gang_of_its_priority_gets_a_held_seat() -> None:
    state = after(cluster(noticed("a"), node("b"), saves("g", on="a")))
    later = plan(state.updated(gangs=[queued("rival")]), Policy(), NOW)
    assert not any(isinstance(action, Start) for action in later.actions)


def test_victims_go_at_once_and_the_gang_still_has_time_to_save() -> None:
    state = cluster(noticed("a"), node("b"), saves("g", on="a", priority=9), running("low", on="b", priority=1))
    preempt, swap, request = plan(state, Policy(), NOW).actions
    assert isinstance(preempt, Preempt)
    assert isinstance(swap, Swap)
    assert swap.waits_for == ("Job/default/low",)
    assert isinstance(request, RequestCheckpoint)
    leaving_now = after(state)
    [wait] = [a for a in plan(leaving_now, Policy(), NOW).actions if a.gang.endswith("/g")]
    assert isinstance(wait, Wait)
    assert wait.reason.code is WaitCode.VICTIMS_LEAVING
    free = without_leaving_pods(leaving_now)
    [waits] = [a for a in plan(free, Policy(), NOW).actions if a.gang.endswith("/g")]
    assert isinstance(waits, Wait)
    assert waits.reason.code is WaitCode.CHECKPOINTING


def test_a_gang_that_nothing_can_replace_is_asked_to_save_and_stays() -> None:
    wait, request = planned(noticed("a"), saves("g", on="a")).actions
    assert isinstance(wait, Wait)
    assert (wait.reason.code, wait.reason.until) == (WaitCode.NO_REPLACEMENT, DEADLINE)
    assert isinstance(request, RequestCheckpoint)
    assert request.by == MOVE_AT


def test_with_little_time_a_gang_that_stays_may_save_until_just_before_the_end() -> None:
    _, request = planned(noticed("a", NOW + 20.0), saves("g", on="a")).actions
    assert isinstance(request, RequestCheckpoint)
    assert request.by == NOW + 15.0


def test_no_request_is_made_that_is_over_already() -> None:
    [wait] = planned(noticed("a", NOW + 3.0), saves("g", on="a")).actions
    assert isinstance(wait, Wait)


def test_only_pods_that_lack_the_request_make_it_necessary_again() -> None:
    gang = saves("g", on="a b", checkpoint_requests=(("g-0", MOVE_AT), ("g-1", MOVE_AT)))
    state = noticed("a"), nodes("b c")
    assert not any(isinstance(a, RequestCheckpoint) for a in planned(*state, gang).actions)
    partly = replace(gang, checkpoint_requests=(("g-0", MOVE_AT),))
    assert any(isinstance(a, RequestCheckpoint) for a in planned(*state, partly).actions)


def test_a_suspect_node_does_not_take_the_time_to_save() -> None:
    made = planned(noticed("a"), suspect(node("c")), nodes("b d"), saves("g", on="a c"))
    hold, *_ = made.actions
    assert isinstance(hold, Hold)
    assert [name for name, _ in hold.seats] == ["g-0"]
    assert not any(isinstance(action, Swap) for action in made.actions)
