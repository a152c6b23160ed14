"""Warm understudies in the planner: they block no other gang, and repairs try their seats first."""

import random
from typing import Any

from msgspec.structs import replace

from tests.decide.builders import (
    NOW,
    cluster,
    jobset,
    leaving,
    lost,
    node,
    nodes,
    plan_lines,
    planned,
    queued,
    running,
    seats,
    slices,
    spare,
    suspect,
)
from understudy.decide.cycle import plan
from understudy.decide.policy import Policy, SpareRule
from understudy.decide.projection import snapshot_after
from understudy.kinds.gangs.lone_pod import UNDERSTUDY_PRIORITY
from understudy.model.gangs import Gang, Suspension
from understudy.model.plans import Dismiss, Start, Wait
from understudy.model.snapshot import Snapshot


def warm(name: str, of: str, on: str = "", **rest: Any) -> Gang:
    """An understudy of the gang `of`; with `on`, it holds itself ready there."""
    as_usual = {"priority": UNDERSTUDY_PRIORITY, "warm_for": f"Job/default/{of}", **rest}
    return running(name, on, **as_usual) if on else queued(name, **as_usual)


SPARES = [spare(one) for one in nodes("s0 s1")]


def test_an_understudy_gets_a_seat_on_a_spare_whatever_the_rules_of_lending() -> None:
    assert plan_lines(nodes("a b"), SPARES, running("g", on="a"), warm("w", "g")) == ["start w on s0"]


def test_where_spares_are_named_it_sits_nowhere_else() -> None:
    full = running("other", on="s0 s1")
    [wait] = planned(nodes("a b"), SPARES, running("g", on="a"), full, warm("w", "g")).actions
    assert isinstance(wait, Wait)
    assert wait.reason.refusals[0].why == "no spare has room for it"


def test_where_there_are_no_spares_at_all_an_idle_node_will_do() -> None:
    assert plan_lines(nodes("a b"), running("g", on="a"), warm("w", "g")) == ["start w on b"]


def test_a_rule_makes_spares_too() -> None:
    policy = Policy(spares=(SpareRule(1),))
    assert plan_lines(nodes("a b c"), running("g", on="a"), warm("w", "g"), policy=policy) == ["start w on b"]


def test_it_keeps_to_the_constraints_of_its_template() -> None:
    small = [spare(node("s0", gpus=4)), spare(node("s1"))]
    assert plan_lines(nodes("a"), small, running("g", on="a"), warm("w", "g")) == ["start w on s1"]


def test_a_gang_that_does_not_run_gets_no_understudy() -> None:
    for gang in (queued("g", members=9), replace(running("g", on="a"), suspension=Suspension.BY_OWNER)):
        words = plan_lines(nodes("a"), SPARES, gang, warm("w", "g"))
        assert "w waits: needs a spare seat; room for 0 of 1 pods; 1 node: g does not run".replace(
            "Job/default/", ""
        ) in [line.replace("Job/default/", "") for line in words]


def test_a_lost_member_goes_where_its_understudy_is_which_steps_in() -> None:
    made = planned(lost(node("a")), nodes("b"), SPARES, running("g", on="a b"), warm("w", "g", on="s1"))
    assert seats(made) == {"g-0": "s1"}
    assert made.actions[-1] == Dismiss("Job/default/w", "s1", "it steps in as g-0", "Job/default/g", "g-0")


def test_a_used_understudy_is_placed_anew_once_it_is_made_anew() -> None:
    state = cluster(lost(node("a")), nodes("b"), SPARES, running("g", on="a b"), warm("w", "g", on="s1"))
    state = snapshot_after(state, plan(state, Policy(), NOW))
    assert [a for a in plan(state, Policy(), NOW).actions if isinstance(a, Start)] == [
        Start("Job/default/w", (("w-0", "s0"),))
    ]


def test_one_that_asks_for_something_else_does_not_step_in_but_makes_room() -> None:
    made = planned(lost(node("a")), nodes("b"), SPARES[:1], running("g", on="a b"), warm("w", "g", on="s0", gpus=4))
    assert seats(made) == {"g-0": "s0"}
    assert made.actions[-1] == Dismiss("Job/default/w", "s0", "s0 is needed", "Job/default/g")


def test_an_understudy_that_has_not_started_does_not_step_in() -> None:
    idle = replace(warm("w", "g", on="s0"), started_at=None)
    made = planned(lost(node("a")), nodes("b"), SPARES[:1], running("g", on="a b"), idle)
    assert made.actions[-1] == Dismiss("Job/default/w", "s0", "s0 is needed", "Job/default/g")


def test_an_understudy_of_another_makes_room_for_a_repair() -> None:
    made = planned(lost(node("a")), nodes("b c"), SPARES[:1], running("g", on="a b"), running("o", on="c"),
                   warm("w", "o", on="s0"))  # fmt: skip
    assert seats(made) == {"g-0": "s0"}
    assert made.actions[-1] == Dismiss("Job/default/w", "s0", "s0 is needed", "Job/default/o")


def test_its_seat_is_free_for_other_gangs_even_without_preemption() -> None:
    non_preempting = queued("meek", preempts=False, priority=-5)
    words = plan_lines(nodes("a b"), running("g", on="a"), warm("w", "g", on="b"), non_preempting)
    assert words == ["start meek on b", "dismiss w from b: b is needed"]


def test_it_keeps_no_domain_occupied() -> None:
    mine, wants = running("g", on="x"), jobset("j", members=2)
    made = planned(slices(s0="a b"), node("x"), mine, warm("w", "g", on="a"), wants)
    assert seats(made) == {"j-0-0": "a", "j-0-1": "b"}
    assert made.actions[-1] == Dismiss("Job/default/w", "a", "a is needed", "Job/default/g")


def test_an_island_that_moves_whole_goes_to_the_domain_of_its_understudies() -> None:
    gang = jobset("g", members=2, on="a b")
    ready = [warm("w0", "g", on="e"), warm("w1", "g", on="f")]
    made = planned(lost(node("a", slice="s0")), node("b", slice="s0"), slices(s1="c d", s2="e f"), gang, *ready)
    assert seats(made) == {"g-0-0": "e", "g-0-1": "f"}
    assert {a.member for a in made.actions if isinstance(a, Dismiss)} == {"g-0-0", "g-0-1"}


def test_with_too_few_of_them_the_rest_of_the_island_starts_cold() -> None:
    gang = jobset("g", members=2, on="a b")
    made = planned(lost(node("a", slice="s0")), node("b", slice="s0"), slices(s1="c d", s2="e f"), gang,
                   warm("w0", "g", on="f"))  # fmt: skip
    assert set(seats(made).values()) == {"e", "f"}
    [step] = [a for a in made.actions if isinstance(a, Dismiss)]
    assert seats(made)[step.member] == "f"


def test_understudies_leave_lost_and_leaving_nodes_but_not_suspect_ones() -> None:
    for bad in (lost(SPARES[0]), leaving(SPARES[0])):
        made = planned(nodes("a"), bad, running("g", on="a"), warm("w", "g", on="s0")).actions
        assert [type(action) for action in made] == [Dismiss]
    assert plan_lines(nodes("a"), suspect(SPARES[0]), running("g", on="a"), warm("w", "g", on="s0")) == []


def test_one_on_a_node_that_is_no_more_goes_too() -> None:
    state = cluster(nodes("a s0"), running("g", on="a"), warm("w", "g", on="s0")).updated(gone_nodes=["s0"])
    assert plan(state, Policy(), NOW).actions == (Dismiss("Job/default/w", "s0", "its node is gone", "Job/default/g"),)


def test_where_its_own_node_dies_with_the_member_the_usual_order_holds() -> None:
    made = planned(lost(node("a")), lost(SPARES[0]), SPARES[1], running("g", on="a"), warm("w", "g", on="s0"))
    assert seats(made) == {"g-0": "s1"}
    assert [a.member for a in made.actions if isinstance(a, Dismiss)] == [""]


def test_understudies_change_nothing_but_the_order_of_seats() -> None:
    """Without them the plan is as good for all other gangs: the same gangs get seats, and the same are victims."""
    for seed in range(300):
        draw = random.Random(seed)
        world, ready = _any_cluster(draw)
        with_them = plan(world.updated(gangs=ready), Policy(), NOW)
        without = plan(world, Policy(), NOW)
        mine = {gang.key for gang in ready}
        assert [(type(a), a.gang) for a in with_them.actions if a.gang not in mine] == [
            (type(a), a.gang) for a in without.actions
        ], seed
        _check_seats(snapshot_after(world.updated(gangs=ready), with_them), seed)


def _any_cluster(draw: random.Random) -> tuple[Snapshot, list[Gang]]:
    names = [f"n{i}" for i in range(8)]
    free = draw.sample(names, 8)
    gangs = [running(f"g{i}", on=" ".join(free.pop() for _ in range(2)), priority=i * 10) for i in range(2)]
    gangs.append(queued("q", members=draw.randint(1, 3), priority=draw.choice((-5, 5, 50))))
    ready = [warm(f"w{i}", f"g{draw.randint(0, 1)}", on=draw.choice([*free, ""])) for i in range(3)]
    hurt = draw.sample(names, draw.randint(0, 2))
    places = [lost(node(n)) if n in hurt else node(n) for n in names]
    return cluster(places, *gangs), ready


def _check_seats(state: Snapshot, seed: int) -> None:
    """No accelerator is given twice, understudies included."""
    used: dict[str, int] = {}
    for gang in state.gangs.values():
        for member in (*gang.members(), *gang.leaving):
            used[member.node] = used.get(member.node, 0) + member.shape.accelerators
    used.pop("", None)
    assert all(count <= 8 for count in used.values()), (seed, used)
