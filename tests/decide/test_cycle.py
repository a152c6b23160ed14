"""The order of one cycle: the order of turns, what each turn does, and the reasons of gangs that wait."""

import pytest
from msgspec.structs import replace

from tests.decide.builders import (
    LONG_AGO,
    NOW,
    SLICE,
    cluster,
    jobset,
    lost,
    node,
    nodes,
    plan_lines,
    planned,
    queued,
    running,
    seats,
    shape,
    slices,
)
from understudy.decide import cycle
from understudy.decide.cycle import plan
from understudy.decide.placement.placement_request import PlacementRequest
from understudy.decide.policy import Policy
from understudy.decide.projection import snapshot_after, without_leaving_pods
from understudy.decide.proposal import Proposal
from understudy.model.gangs import Gang, Suspension, Topology, TopologyMode
from understudy.model.nodes import Node
from understudy.model.plans import Grow, Preempt, Start, Wait, WaitCode
from understudy.model.selectors import Requirement, Selector
from understudy.model.snapshot import Budget

TWO = nodes("a b")


# Whose turn it is


def test_the_more_important_gang_goes_first_even_if_it_came_later() -> None:
    early, late = queued("early", priority=1, queued_at=1.0), queued("late", priority=2, queued_at=9.0)
    assert plan_lines(node("a"), early, late)[0] == "start late on a"


def test_at_equal_priority_the_longest_waiting_gang_goes_first() -> None:
    assert plan_lines(node("a"), queued("a", queued_at=9.0), queued("b", queued_at=1.0))[0] == "start b on a"


def test_the_name_breaks_ties() -> None:
    assert plan_lines(node("a"), queued("y"), queued("x"))[0] == "start x on a"


def test_a_small_gang_goes_ahead_of_a_large_one_that_does_not_fit() -> None:
    assert plan_lines(node("a"), queued("big", members=2, priority=9), queued("small"))[0] == "start small on a"


def test_a_small_gang_does_not_take_seats_that_preemption_frees_for_a_large_one() -> None:
    big, low = queued("big", members=2, priority=9), running("low", on="a", priority=1)
    assert plan_lines(*TWO, big, low, queued("small", priority=5))[:2] == [
        "preempt low (1 pod) for big: priority 9 goes before 1",
        "start big on a, b once low left",
    ]


def test_no_gang_is_started_and_preempted_in_one_plan() -> None:
    made = planned(node("a"), queued("low", priority=1), queued("high", priority=2))
    assert not any(isinstance(action, Preempt) for action in made.actions)


# Starting


def test_a_gang_goes_back_to_its_old_seats_each_member_to_its_own() -> None:
    old = running("g", on="c b")
    back = old.reseated({"g-0": "", "g-1": ""})
    assert seats(planned(nodes("a b c"), back)) == {"g-0": "c", "g-1": "b"}


def test_an_elastic_gang_starts_as_large_as_it_fits() -> None:
    assert seats(planned(*TWO, queued("g", members=5, min_members=1))) == {"g-0": "a", "g-1": "b"}
    assert seats(planned(*TWO, queued("g", members=5, min_members=3))) == {}


def test_elastic_islands_come_whole() -> None:
    racks = slices(s0="a b", s1="c d")
    assert sorted(seats(planned(racks, jobset("g", islands=3, min_members=3)))) == ["g-0-0", "g-0-1", "g-1-0", "g-1-1"]


def test_a_requeued_gang_is_resumed_and_one_its_owner_suspended_is_not() -> None:
    requeued = queued("g", suspension=Suspension.REQUEUED)
    state = cluster(node("a"), requeued)
    resumed = snapshot_after(state, plan(state, Policy(), NOW)).gangs["Job/default/g"]
    assert (resumed.suspension, resumed.seated()[0].node) == (Suspension.NONE, "a")
    assert plan_lines(node("a"), queued("g", suspension=Suspension.BY_OWNER)) == [
        "g waits: it is suspended by its owner"
    ]


@pytest.mark.parametrize(
    ("gang", "code"),
    [
        pytest.param(queued("g", suspension=Suspension.BY_OWNER), WaitCode.SUSPENDED, id="suspended"),
        pytest.param(queued("g", gates=("example.com/quota",)), WaitCode.GATED, id="gated"),
        pytest.param(queued("g", awaits=("PodGroup g does not exist yet",)), WaitCode.INCOMPLETE, id="incomplete"),
        pytest.param(queued("g", asks=shape(unsupported=("claims",))), WaitCode.UNSUPPORTED, id="unsupported"),
        pytest.param(queued("g", failures=(NOW - 1.0,) * 2), WaitCode.GUARDED, id="backing off"),
    ],
)
def test_a_gang_that_cannot_start_releases_its_holds(gang: Gang, code: WaitCode) -> None:
    made = planned(*TWO, gang).actions
    assert [a.reason.code for a in made if isinstance(a, Wait)] == [code]
    holding = replace(gang, holds=(("g-0", "a"),))
    assert plan_lines(*TWO, holding)[0].startswith("give up the seats held for g: ")


def test_a_gang_on_the_move_keeps_the_seats_held_for_it_until_its_pods_have_left() -> None:
    moving = queued("g", leaving=tuple(running("g", on="b").members()), holds=(("g-0", "a"),))
    (wait,) = planned(*TWO, moving).actions
    assert isinstance(wait, Wait)
    assert wait.reason.code is WaitCode.STILL_LEAVING


def test_seats_held_for_a_less_important_gang_are_used_last() -> None:
    lesser = queued("lesser", priority=1, holds=(("lesser-0", "a"),))
    assert plan_lines(*TWO, lesser, queued("hero", priority=9)) == ["start hero on b", "start lesser on a"]
    both = plan_lines(*TWO, lesser, queued("hero", members=2, priority=9))
    assert both[0] == "start hero on a, b"


def test_preferred_domains_are_kept_to_where_that_is_possible() -> None:
    near = Topology(SLICE, TopologyMode.PREFERRED)
    racks = slices(s0="a", s1="b c")
    assert sorted(seats(planned(racks, queued("g", members=2, topology=near))).values()) == ["b", "c"]
    assert len(seats(planned(racks, queued("g", members=3, topology=near)))) == 3


def test_required_domains_fit_tightly() -> None:
    racks = slices(s0="a b c", s1="d e")
    within = Topology(SLICE, TopologyMode.REQUIRED)
    assert sorted(seats(planned(racks, queued("g", members=2, topology=within))).values()) == ["d", "e"]


def test_an_exclusive_island_wants_every_node_of_its_domain_healthy() -> None:
    racks = [lost(node("a", slice="s0")), *slices(s0="b c", s1="d e f")]
    assert sorted(seats(planned(racks, jobset("g"))).values()) == ["d", "e"]


# Preempting


def test_victims_cost_in_the_stated_order() -> None:
    """Each of these is the better victim than the next, by the first thing in which they differ."""
    budget = Budget("b", "default", Selector((Requirement("gang", "In", ("kept",)),)), 0)
    by_cost = [
        running("saved", on="a", priority=1, checkpoint_at=NOW - 10.0),
        running("worked", on="b", priority=1),
        running("important", on="c", priority=2, checkpoint_at=NOW),
        running("kept", on="d", priority=1, checkpoint_at=NOW),
        running("young", on="e", priority=1, started_at=NOW - 10.0),
    ]
    things: list[Node | Gang] = [*nodes("a b c d e"), *by_cost]
    for gang in by_cost:
        [preempt, _] = planned(*things, budget, queued("hero", priority=9)).actions
        assert isinstance(preempt, Preempt)
        assert preempt.gang == gang.key
        things.remove(gang)
        things.append(replace(gang, priority=9))


def test_fewer_gangs_are_better_than_more_where_no_work_is_lost() -> None:
    small = [running(f"s{i}", on="a", gpus=4, priority=1, checkpoint_at=NOW) for i in range(2)]
    large = running("z", on="b", priority=1, checkpoint_at=NOW)
    [preempt, _] = planned(*TWO, *small, large, queued("hero", priority=9)).actions
    assert isinstance(preempt, Preempt)
    assert preempt.gang == "Job/default/z"


def test_surplus_goes_before_whole_gangs_and_the_last_member_first() -> None:
    elastic = running("e", on="a b", priority=5, min_members=1)
    low = running("low", on="c", priority=1)
    assert plan_lines(nodes("a b c"), elastic, low, queued("hero", priority=9)) == [
        "take e-1 from e for hero: priority 9 goes before 5",
        "start hero on b once e left",
    ]


def test_an_elastic_gang_that_goes_whole_gives_up_no_surplus() -> None:
    elastic = running("e", on="a b", min_members=1, whole=True)
    preempt = planned(*TWO, elastic, queued("hero", priority=9)).actions[0]
    assert isinstance(preempt, Preempt)
    assert (preempt.whole, preempt.members) == (True, ("e-0", "e-1"))


def test_a_gated_member_causes_no_preemption() -> None:
    hurt = queued("g", members=2, priority=9, gates=("example.com/quota",), started_at=LONG_AGO)
    (waits,) = planned(*TWO, hurt.reseated({"g-0": "a"}), running("low", on="b")).actions
    assert isinstance(waits, Wait)
    assert waits.reason.code is WaitCode.GATED


def test_an_elastic_gang_preempts_only_for_its_minimum() -> None:
    low = [running(f"low{i}", on=name, priority=1) for i, name in enumerate("ab")]
    made = planned(*TWO, *low, queued("hero", members=2, min_members=1, priority=9)).actions
    assert sum(isinstance(action, Preempt) for action in made) == 1


def test_a_gang_that_is_seated_by_another_scheduler_is_no_victim() -> None:
    assert plan_lines(node("a"), running("foreign", on="a", managed=False), queued("hero", priority=9)) == [
        "hero waits: needs 1 pod with 8 nvidia.com/gpu; room for 0 of 1 pods; a has 0 of 8 nvidia.com/gpu free"
    ]


def test_a_start_waits_for_terminating_pods_rather_than_preempt_more() -> None:
    going = queued("going", priority=1, leaving=tuple(running("going", on="a").members()))
    made = planned(*TWO, going, running("low", on="b", priority=1), queued("hero", priority=9)).actions
    [start] = [action for action in made if isinstance(action, Start)]
    assert (start.seats, start.waits_for) == ((("hero-0", "a"),), ("Job/default/going",))
    assert not any(isinstance(action, Preempt) for action in made)


def test_a_preemption_plays_out_in_two_plans() -> None:
    state = cluster(node("a"), running("low", on="a", priority=1), queued("hero", priority=9))
    soon = snapshot_after(state, plan(state, Policy(), NOW))
    assert soon.gangs["Job/default/hero"].holds == (("hero-0", "a"),)
    assert [type(a) for a in plan(soon, Policy(), NOW).actions] == [Wait, Wait]
    done = snapshot_after(without_leaving_pods(soon), plan(without_leaving_pods(soon), Policy(), NOW))
    assert [m.node for m in done.gangs["Job/default/hero"].seated()] == ["a"]
    assert done.gangs["Job/default/low"].suspension is Suspension.REQUEUED


# Growing


def test_growth_comes_after_all_turns() -> None:
    wide = queued("e", members=2, priority=9, min_members=1, started_at=LONG_AGO).reseated({"e-0": "a"})
    assert plan_lines(*TWO, wide, queued("small", priority=1)) == ["start small on b"]
    [grow] = planned(*TWO, wide).actions
    assert isinstance(grow, Grow)
    assert grow.seats == (("e-1", "b"),)


def test_growth_preempts_no_gang() -> None:
    wide = queued("e", members=2, priority=9, min_members=1, started_at=LONG_AGO).reseated({"e-0": "a"})
    assert plan_lines(*TWO, wide, running("low", on="b", priority=1)) == []


# The plan as a whole


def test_a_cluster_without_waiting_or_damaged_gangs_needs_no_actions() -> None:
    assert planned(node("a")).actions == ()
    assert planned(node("a"), running("g", on="a")).actions == ()


def test_reasons_describe_the_cluster_after_the_plan() -> None:
    first, second = queued("first", queued_at=1.0), queued("second", queued_at=2.0)
    [_, waits] = planned(node("a"), first, second).actions
    assert isinstance(waits, Wait)
    assert (waits.reason.code, waits.reason.free, waits.reason.wanted) == (WaitCode.NO_ROOM, 0, 1)
    assert [holder.gang for holder in waits.reason.holders] == ["Job/default/first"]


def test_without_a_guard_time_alone_changes_nothing() -> None:
    assert planned(node("a"), queued("first"), queued("second")).recheck_at is None


# More than the whole cluster


def test_for_a_gang_larger_than_the_cluster_no_seats_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []

    def counted(_: Proposal, request: PlacementRequest) -> None:
        searched.append(request.gang.name)

    monkeypatch.setattr(cycle, "find_seats_sparing_holds", counted)
    huge, small = queued("huge", members=cycle.SEARCHED, gpus=1, priority=9), queued("small", gpus=1)
    made = planned(nodes("a b"), huge, small)
    assert searched == ["small"]
    reasons = {action.gang: action.reason for action in made.actions if isinstance(action, Wait)}
    assert reasons[huge.key].code is WaitCode.NO_ROOM
    assert (reasons[huge.key].wanted, reasons[huge.key].free) == (cycle.SEARCHED, 16)


def test_a_gang_that_fills_the_cluster_is_seated() -> None:
    assert len(seats(planned(nodes("a b c d e f g h"), queued("huge", members=cycle.SEARCHED, gpus=1)))) == 64
