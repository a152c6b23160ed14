"""Kinds of capacity: on which nodes a pod may sit, how many members of a gang may sit on spot, and what is cheapest."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.decide.builders import (
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
    seats,
    shape,
    slices,
    spare,
)
from understudy.decide.cycle import plan
from understudy.decide.policy import Policy, PriceRule
from understudy.model.gangs import Gang, Island, Member, TopologyMode
from understudy.model.nodes import Capacity, CapacityPolicy, Node
from understudy.model.plans import Grow, Plan, Requeue, Start, Swap, Wait, WaitReason

SPOT, ON_DEMAND, PREFER_SPOT = CapacityPolicy.SPOT, CapacityPolicy.ON_DEMAND, CapacityPolicy.PREFER_SPOT


def spot(names: str, **rest: Any) -> list[Node]:
    return [replace(each, capacity=Capacity.SPOT) for each in nodes(names, **rest)]


def wanting(name: str, capacity: CapacityPolicy, members: int = 1, gpus: int = 8, **rest: Any) -> Gang:
    return queued(name, members, asks=shape(gpus, capacity=capacity), **rest)


def taken(made: Plan) -> list[str]:
    return sorted(seats(made).values())


def reason(made: Plan, name: str) -> WaitReason:
    return next(a.reason for a in made.actions if isinstance(a, Wait) and a.gang == f"Job/default/{name}")


# What a pod asks for


@pytest.mark.parametrize(("capacity", "expected"), [(SPOT, "s"), (ON_DEMAND, "a"), (PREFER_SPOT, "s")])
def test_a_pod_sits_on_the_capacity_it_asks_for(capacity: CapacityPolicy, expected: str) -> None:
    assert taken(planned(node("a"), spot("s"), wanting("j", capacity))) == [expected]


def test_a_pod_that_may_sit_anywhere_packs_as_if_there_were_no_spot_nodes() -> None:
    fuller = running("other", on="s", gpus=4)
    assert taken(planned(node("a"), spot("s"), fuller, queued("j", gpus=4))) == ["s"]
    assert taken(planned(spot("s"), node("a"), running("other", on="a", gpus=4), queued("j", gpus=4))) == ["a"]


def test_a_pod_that_prefers_spot_sits_on_demand_where_spot_is_full() -> None:
    assert taken(planned(node("a"), spot("s"), wanting("j", PREFER_SPOT, members=2))) == ["a", "s"]


def test_a_pod_that_prefers_spot_packs_spot_nodes_first_even_where_an_on_demand_node_fits_better() -> None:
    fuller = running("other", on="a", gpus=4)
    assert taken(planned(node("a"), spot("s"), fuller, wanting("j", PREFER_SPOT, gpus=4))) == ["s"]


def test_the_reason_names_the_capacity() -> None:
    made = planned(spot("s t"), wanting("j", ON_DEMAND))
    assert [(r.count, r.why) for r in reason(made, "j").refusals] == [(2, "is spot; it asks for on-demand capacity")]
    assert "on on-demand capacity" in reason(made, "j").needs


def test_a_gang_that_prefers_spot_does_not_go_back_to_its_on_demand_seat() -> None:
    again = wanting("j", PREFER_SPOT).reseated({"j-0": "a"}).reseated({"j-0": ""})
    assert taken(planned(node("a"), spot("s"), again)) == ["s"]
    assert taken(planned(node("a"), node("b"), again)) == ["a"]


def test_an_island_that_prefers_spot_goes_to_a_spot_domain() -> None:
    mine = [replace(each, capacity=Capacity.SPOT) for each in slices(s1="c d")]
    gang = jobset("j", asks=shape(capacity=PREFER_SPOT))
    assert taken(planned(slices(s0="a b"), mine, gang)) == ["c", "d"]
    shared = jobset("j", asks=shape(capacity=PREFER_SPOT), mode=TopologyMode.REQUIRED)
    assert taken(planned(slices(s0="a b"), mine, shared)) == ["c", "d"]


def test_only_victims_on_the_wanted_capacity_help() -> None:
    low = [running("cheap", on="s", priority=1), running("dear", on="a", priority=2)]
    assert plan_lines(node("a"), spot("s"), *low, wanting("j", ON_DEMAND, priority=9))[0] == (
        "preempt dear (1 pod) for j: priority 9 goes before 2"
    )


# How many members may sit on spot


def test_no_more_members_than_allowed_sit_on_spot() -> None:
    gang = queued("j", members=3, max_spot_members=1)
    assert taken(planned(nodes("a b"), spot("s t u"), gang)) == ["a", "b", "s"]
    made = planned(node("a"), spot("s t u"), gang)
    assert taken(made) == []
    why = reason(made, "j")
    assert (why.free, why.wanted) == (2, 3)
    assert "is spot, and no more of its members may sit on spot" in [r.why for r in why.refusals]
    assert "at most 1 of them on spot" in why.needs


def test_members_that_need_spot_get_its_seats_before_members_that_could_sit_elsewhere() -> None:
    """More members than the exact search takes: only the order of the nodes helps."""
    anywhere = tuple(Member(f"a{i}", shape(8)) for i in range(30))
    picky = tuple(Member(f"s{i}", shape(4, capacity=SPOT)) for i in range(10))
    members = (*_one_shape(anywhere), *_one_shape(picky))
    gang = replace(queued("j"), islands=(Island("i", members),), max_spot_members=10)
    things = [*spot(" ".join(f"s{i}" for i in range(40))), *nodes(" ".join(f"z{i}" for i in range(30)))]
    made = planned(things, gang)
    assert len(seats(made)) == 40
    assert sum(name.startswith("s") for name in seats(made).values()) == 10


def _one_shape(members: tuple[Member, ...]) -> tuple[Member, ...]:
    return tuple(replace(m, shape=members[0].shape) for m in members)


def test_islands_share_the_seats_on_spot() -> None:
    mine = [replace(each, capacity=Capacity.SPOT) for each in slices(s1="c d", s2="e f")]
    gang = jobset("j", islands=2, max_spot_members=2)
    assert taken(planned(slices(s0="a b"), mine, gang)) == ["a", "b", "c", "d"]
    assert taken(planned(mine, gang)) == []


def test_the_reason_of_islands_names_the_rule() -> None:
    mine = [replace(each, capacity=Capacity.SPOT) for each in slices(s1="c d", s2="e f")]
    (refusal,) = reason(planned(mine, jobset("j", max_spot_members=0)), "j").refusals
    assert refusal.count == 2
    assert "is spot, and the rules of the gang leave only on-demand capacity" in refusal.why


def test_a_replacement_counts_the_members_that_stay() -> None:
    gang = running("j", on="s a", max_spot_members=1)
    assert taken(planned(spot("s t"), lost(node("a")), node("b"), gang)) == ["b"]
    made = planned(spot("s t"), lost(node("a")), gang)
    assert taken(made) == []
    assert isinstance(made.actions[0], Requeue)
    assert taken(planned([lost(spot("s")[0])], spot("t"), node("a"), gang)) == ["t"]


def test_an_elastic_gang_grows_only_as_far_as_its_rule_allows() -> None:
    gang = replace(running("j", on="a s", min_members=1), max_spot_members=2)
    grown = replace(gang, islands=(replace(gang.islands[0], members=(*gang.islands[0].members, *_more(gang, 3))),))
    made = planned(node("a"), spot("s t u"), grown)
    assert [a for a in made.actions if isinstance(a, Grow)] == [Grow("Job/default/j", (("j-2", "t"),))]


def _more(gang: Gang, count: int) -> list[Member]:
    first = gang.islands[0].members[0]
    return [Member(f"j-{i + 2}", first.shape, first.labels) for i in range(count)]


def test_victims_are_only_preempted_where_the_rule_lets_the_gang_sit() -> None:
    low = [running("l0", on="s", priority=1), running("l1", on="t", priority=1), running("l2", on="a", priority=5)]
    gang = queued("j", members=2, priority=9, max_spot_members=1)
    lines = plan_lines(node("a"), spot("s t"), *low, gang)
    assert sum("preempt l2" in line for line in lines) == 1
    assert sum(line.startswith("preempt") for line in lines) == 2


@pytest.mark.parametrize("exact", [10, 0])
def test_in_a_large_cluster_victims_are_found_within_the_rule(exact: int) -> None:
    """More victims than are tried one by one: the cover has to know the rule itself."""
    cheap = [running(f"s{i}", on=f"s{i}", priority=1) for i in range(40)]
    dear = [running(f"z{i}", on=f"z{i}", priority=1, started_at=NOW - 50_000.0) for i in range(40)]
    things = [*spot(" ".join(f"s{i}" for i in range(40))), *nodes(" ".join(f"z{i}" for i in range(40)))]
    gang = queued("j", members=8, priority=9, max_spot_members=3)
    made = planned(things, *cheap, *dear, gang, policy=Policy(exact_victims=exact))
    where = taken(made)
    assert len(where) == 8
    assert sum(name.startswith("s") for name in where) == 3


# One kind of capacity


def test_a_gang_of_one_kind_does_not_mix() -> None:
    gang = queued("j", members=2, one_capacity_kind=True)
    assert taken(planned(node("a"), spot("s t"), gang)) == ["s", "t"]
    assert taken(planned(nodes("a b"), spot("s t"), gang)) == ["a", "b"]
    made = planned(node("a"), spot("s"), gang)
    assert taken(made) == []
    assert reason(made, "j").free == 1


def test_a_gang_of_one_kind_that_prefers_spot_takes_spot_where_all_fit() -> None:
    gang = wanting("j", PREFER_SPOT, members=2, one_capacity_kind=True)
    assert taken(planned(nodes("a b"), spot("s t"), gang)) == ["s", "t"]
    assert taken(planned(nodes("a b"), spot("s"), gang)) == ["a", "b"]


def test_a_gang_of_one_kind_starts_whole_elsewhere_where_its_kind_has_no_replacement() -> None:
    gang = running("j", on="s t", one_capacity_kind=True)
    made = planned(spot("s"), [lost(spot("t")[0])], nodes("a b"), gang)
    assert isinstance(made.actions[0], Requeue)
    made = planned(spot("s u"), [lost(spot("t")[0])], nodes("a b"), gang)
    assert isinstance(made.actions[0], Swap)
    assert taken(made) == ["u"]


# Bursts: only a part of the spot capacity comes back


def test_an_elastic_gang_takes_the_part_of_the_spot_capacity_that_comes_back() -> None:
    gang = wanting("j", SPOT, members=4, min_members=1)
    made = planned(node("a"), spot("s t"), gang)
    assert taken(made) == ["s", "t"]
    assert isinstance(made.actions[0], Start)


def test_a_rigid_gang_keeps_nothing_idle_while_only_a_part_comes_back() -> None:
    gang, other = wanting("j", SPOT, members=4, priority=9), wanting("small", SPOT, members=2)
    made = planned(node("a"), spot("s t u"), gang, other)
    assert len([a for a in made.actions if isinstance(a, Start)]) == 1
    assert set(seats(made)) == {"small-0", "small-1"}
    assert plan(cluster(spot("s t u"), gang), Policy(), NOW).actions[0].gang == gang.key
    assert taken(planned(spot("s t u"), gang)) == []


# Prices

DEAR, CHEAP = {"pool": "dear"}, {"pool": "cheap"}
PRICES = Policy(prices=(PriceRule(1.0, CHEAP), PriceRule(4.0, DEAR)))


def test_cheap_nodes_are_taken_first_even_where_another_one_is_fuller() -> None:
    dear, cheap = node("a", labels=DEAR), node("b", labels=CHEAP)
    fuller = running("other", on="a", gpus=4)
    assert taken(planned(dear, cheap, fuller, queued("j", gpus=4), policy=PRICES)) == ["b"]
    assert taken(planned(dear, cheap, fuller, queued("j", gpus=4))) == ["a"]


def test_the_price_of_a_unit_counts_and_not_that_of_the_machine() -> None:
    large, small = node("a", gpus=16, labels=DEAR), node("b", gpus=2, labels=CHEAP)
    assert taken(planned(large, small, queued("j", gpus=2), policy=PRICES)) == ["a"]


def test_nodes_without_a_price_come_after_those_with_one() -> None:
    assert taken(planned(node("a"), node("b", labels=DEAR), queued("j"), policy=PRICES)) == ["b"]


def test_spares_stay_the_last_choice_however_cheap() -> None:
    cheap = spare(node("b", labels=CHEAP))
    assert taken(planned(node("a", labels=DEAR), cheap, queued("j"), policy=PRICES)) == ["a"]


def test_a_pod_that_prefers_spot_gets_the_cheapest_spot_node() -> None:
    things = [replace(node(n, labels=label), capacity=Capacity.SPOT) for n, label in (("s", DEAR), ("t", CHEAP))]
    there = [node("a", labels=CHEAP), *things]
    assert taken(planned(there, wanting("j", PREFER_SPOT, members=2), policy=PRICES)) == ["s", "t"]
    assert taken(planned(there, wanting("j", PREFER_SPOT), policy=PRICES)) == ["t"]


@pytest.mark.parametrize("mode", list(TopologyMode))
def test_the_cheapest_domain_is_taken(mode: TopologyMode) -> None:
    there = [
        node(n, slice=value, labels=DEAR if value == "s0" else CHEAP)
        for n, value in (("a", "s0"), ("b", "s0"), ("c", "s1"), ("d", "s1"), ("e", "s1"))
    ]
    assert taken(planned(there, jobset("j", mode=mode), policy=PRICES)) == ["c", "d"]
    if mode is not TopologyMode.PREFERRED:
        assert taken(planned(there, jobset("j", mode=mode))) == ["a", "b"]
