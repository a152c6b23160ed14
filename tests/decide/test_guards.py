"""Each guard: when it holds, until when, and what a plan does about it."""

import pytest

from tests.decide.builders import (
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
    slices,
)
from understudy.decide.guards import backing_off, failed_lately, lemon, mass_failure, over_budget
from understudy.decide.policy import Policy
from understudy.model.gangs import Topology, TopologyMode
from understudy.model.nodes import Node
from understudy.model.plans import Wait, WaitCode

POOL = Policy().pool_label
HOUR = 3600.0


# Back-off


@pytest.mark.parametrize(
    ("ages", "wait"),
    [
        pytest.param((), None, id="never failed"),
        pytest.param((1.0,), None, id="once is no habit"),
        pytest.param((5.0, 1.0), 20.0, id="twice: 10 s doubled"),
        pytest.param((9.0, 5.0, 1.0), 40.0, id="three times: doubled again"),
        pytest.param((1.0,) * 2000, 600.0, id="never longer than the limit"),
        pytest.param((100.0, 30.0), None, id="the wait is over"),
        pytest.param((4000.0, 1.0), None, id="long ago does not count"),
    ],
)
def test_back_off(ages: tuple[float, ...], wait: float | None) -> None:
    gang = queued("g", failures=tuple(NOW - age for age in ages))
    guard = backing_off(gang, Policy(), NOW)
    assert (guard.until if guard else None) == (NOW - 1.0 + wait if wait else None)


def test_a_gang_that_backs_off_takes_no_seat_and_says_until_when() -> None:
    [action] = planned(node("a"), queued("g", failures=(NOW - 5.0, NOW - 1.0))).actions
    assert isinstance(action, Wait)
    assert (action.reason.code, action.reason.until) == (WaitCode.GUARDED, NOW + 19.0)
    assert action.reason.guard == "back-off: it failed 2 times on healthy nodes lately"


def test_the_plan_is_to_be_looked_at_again_when_the_first_guard_ends() -> None:
    early, late = queued("a", failures=(NOW - 5.0, NOW - 4.0)), queued("b", failures=(NOW - 5.0, NOW - 1.0))
    assert planned(nodes("a b"), early, late).recheck_at == NOW + 16.0


# Preemption budget


@pytest.mark.parametrize(
    ("ages", "ends"),
    [
        pytest.param((), None, id="no preemption for it yet"),
        pytest.param((10.0,), None, id="below the budget"),
        pytest.param((100.0, 70.0), HOUR - 100.0, id="until the first of them is an hour ago"),
        pytest.param((100.0, 10.0), None, id="the one just now is still under way"),
        pytest.param((300.0, 200.0, 100.0), HOUR - 200.0, id="until only one is within the hour"),
        pytest.param((HOUR + 1, 10.0), None, id="longer than an hour ago does not count"),
    ],
)
def test_preemption_budget(ages: tuple[float, ...], ends: float | None) -> None:
    gang = queued("g", preempted_for_it=tuple(NOW - age for age in ages))
    guard = over_budget(gang, Policy(preemptions_per_hour=2), NOW)
    assert (guard.until if guard else None) == (NOW + ends if ends is not None else None)


def test_over_budget_a_gang_starts_where_there_is_room_and_preempts_no_gang() -> None:
    policy = Policy(preemptions_per_hour=1)
    hero = queued("hero", priority=9, preempted_for_it=(NOW - 60.0,))
    assert plan_lines(node("a"), hero, policy=policy) == ["start hero on a"]
    [waits] = planned(node("a"), running("low", on="a"), hero, policy=policy).actions
    assert isinstance(waits, Wait)
    assert (waits.reason.code, waits.reason.until) == (WaitCode.GUARDED, NOW - 60.0 + HOUR)
    assert plan_lines(node("a"), running("low", on="a"), queued("hero", priority=9), policy=policy) == [
        "preempt low (1 pod) for hero: priority 9 goes before 0",
        "start hero on a once low left",
    ]


def test_over_budget_a_broken_gang_is_repaired_from_idle_nodes_only() -> None:
    policy = Policy(preemptions_per_hour=1)
    hero = running("hero", on="a", priority=9, preempted_for_it=(NOW - 60.0,))
    low = running("low", on="b")
    assert plan_lines(lost(node("a")), nodes("b c"), hero, low, policy=policy) == [
        "swap hero: hero-0 a -> c (idle); a lost: it died"
    ]
    assert plan_lines(lost(node("a")), node("b"), hero, low, policy=policy)[0] == (
        "requeue hero: a lost: it died; nothing can replace it"
    )


def test_an_occasion_that_was_counted_and_not_carried_out_goes_on() -> None:
    policy = Policy(preemptions_per_hour=1)
    hero = queued("hero", priority=9, preempted_for_it=(NOW - 5.0,), holds=(("hero-0", "a"),))
    assert plan_lines(node("a"), running("low", on="a"), hero, policy=policy)[0] == (
        "preempt low (1 pod) for hero: priority 9 goes before 0"
    )
    late = queued("hero", priority=9, preempted_for_it=(NOW - 65.0,), holds=(("hero-0", "a"),))
    assert over_budget(late, policy, NOW) is not None


# Nodes that failed


@pytest.mark.parametrize(
    ("ages", "is_one"), [((), False), ((1.0, 2.0), False), ((1.0, 2.0, 3.0), True), ((1.0, 2.0, 90_000.0), False)]
)
def test_lemon(ages: tuple[float, ...], is_one: bool) -> None:
    assert (lemon(node("a", failures=tuple(NOW - age for age in ages)), Policy(), NOW) is not None) is is_one


def test_a_lemon_gets_no_new_seats_and_keeps_its_pods() -> None:
    bad = node("a", failures=(NOW - 3.0, NOW - 2.0, NOW - 1.0))
    guard = "lemon node: failed 3 times lately, until 1970-01-03T03:46:37Z"
    assert plan_lines(bad, running("old", on="a", gpus=4), queued("new", gpus=4)) == [
        f"new waits: needs 1 pod with 4 nvidia.com/gpu; room for 0 of 1 pods; a: {guard}"
    ]


@pytest.mark.parametrize(("ages", "lately"), [((), False), ((599.0,), True), ((600.0,), False), ((9000.0, 1.0), True)])
def test_failed_lately(ages: tuple[float, ...], lately: bool) -> None:
    assert failed_lately(node("a", failures=tuple(NOW - age for age in ages)), Policy(), NOW) is lately


def test_within_a_domain_too_a_node_that_failed_lately_is_the_last_choice() -> None:
    racks = [node("a", slice="s0", failures=(NOW - 60.0,)), *slices(s0="b c")]
    together = Topology(SLICE, TopologyMode.REQUIRED)
    assert sorted(seats(planned(racks, queued("g", members=2, topology=together))).values()) == ["b", "c"]
    assert sorted(seats(planned(racks, queued("g", members=3, topology=together))).values()) == ["a", "b", "c"]


# Mass failure


def pool(bad: int, good: int, age: float = 5.0, kind: str = "h100") -> list[Node]:
    labels = {POOL: kind}
    return [lost(node(f"{kind}-bad{i}", labels=labels), NOW - age) for i in range(bad)] + [
        node(f"{kind}-good{i}", labels=labels) for i in range(good)
    ]


@pytest.mark.parametrize(
    ("bad", "good", "age", "guarded"),
    [
        pytest.param(9, 1, 5.0, False, id="few nodes may all be bad"),
        pytest.param(10, 15, 5.0, False, id="exactly the share"),
        pytest.param(10, 14, 5.0, True, id="more than the share"),
        pytest.param(10, 14, 300.0, True, id="within the window"),
        pytest.param(10, 14, 301.0, False, id="it lasts: they are bad"),
    ],
)
def test_mass_failure(bad: int, good: int, age: float, guarded: bool) -> None:
    state = cluster(pool(bad, good, age))
    assert (mass_failure(state, Policy(), NOW) != {}) is guarded


def test_pools_are_judged_apart() -> None:
    state = cluster(pool(10, 2), pool(1, 20, kind="l4"))
    [(kind, guard)] = mass_failure(state, Policy(), NOW).items()
    assert (kind, guard.detail) == ("h100", "10 of 12 nodes of h100 turned bad at once")
    assert guard.until == NOW - 5.0 + 300.0


def test_in_a_mass_failure_no_gang_moves_and_other_pools_are_repaired() -> None:
    policy = Policy(mass_failure_nodes=2)
    one = running("one", on="h100-bad0 h100-good0")
    other = running("other", on="l4-bad0")
    guard = "mass failure: 2 of 4 nodes of h100 turned bad at once, until 1970-01-02T03:51:35Z"
    assert plan_lines(pool(2, 2), pool(1, 3, kind="l4"), one, other, policy=policy) == [
        f"one waits: {guard}; needs 2 pods with 8 nvidia.com/gpu each",
        "swap other: other-0 l4-bad0 -> h100-good1 (idle); l4-bad0 lost: it died",
    ]


def test_an_exclusive_island_is_not_moved_either() -> None:
    policy = Policy(mass_failure_nodes=1, mass_failure_share=0.1)
    sick = [lost(node("a", slice="s0")), *slices(s0="b", s1="c d")]
    [waits] = planned(sick, jobset("g", on="a b"), policy=policy).actions
    assert isinstance(waits, Wait)
    assert waits.reason.code is WaitCode.GUARDED
