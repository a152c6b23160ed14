"""Hot swap: every fall-back in its order, and what stays where it is."""

from msgspec.structs import replace

from tests.decide.builders import (
    GPU,
    NOW,
    SLICE,
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
    slices,
    spare,
    suspect,
)
from understudy.decide.cycle import plan
from understudy.decide.gang_health import impaired_gangs
from understudy.decide.policy import Policy
from understudy.decide.projection import snapshot_after, without_leaving_pods
from understudy.model.gangs import Shape, Topology, TopologyMode
from understudy.model.plans import Hold, Preempt, Requeue, SeatSource, Shrink, Start, Swap, Wait, WaitCode

TOGETHER = Topology(SLICE, TopologyMode.REQUIRED)


def moves(swap: Swap) -> dict[str, tuple[str, str, SeatSource]]:
    return {m.member: (m.from_node, m.to_node, m.source) for m in swap.moves}


# Who is damaged


def test_gangs_on_unhealthy_nodes_or_with_missing_members_are_damaged() -> None:
    state = cluster(
        lost(node("a")),
        suspect(node("b")),
        leaving(node("c")),
        nodes("d e"),
        *(running(f"on-{name}", on=name) for name in "abcd"),
        jobset("part", on="e"),
        queued("waits"),
        running("daemon", on="a", gpus=0, infrastructure=True),
        running("foreign", on="a", gpus=0, managed=False),
    )
    assert sorted(impaired_gangs(state)) == [f"Job/default/{name}" for name in ("on-a", "on-b", "on-c", "part")]


def test_a_member_deleted_from_a_lost_node_names_that_node_as_the_cause() -> None:
    """Its pod was deleted there and is not created again yet: for a reader that is the same swap."""
    gang = running("g", on="a b")
    [island] = gang.islands
    deleted, *rest = island.members
    members = (replace(deleted, node="", last_node="a"), *rest)
    gang = replace(gang, islands=(replace(island, members=members),))
    assert plan_lines(lost(node("a")), nodes("b c"), gang) == ["swap g: g-0 (no seat) -> c (idle); a lost: it died"]
    assert plan_lines(nodes("a b"), gang) == ["swap g: g-0 (no seat) -> a (idle); a member has no seat"]


def test_a_seat_on_a_node_that_no_longer_exists_is_lost() -> None:
    state = cluster(nodes("a b"), running("g", on="a")).updated(gone_nodes=["a"])
    [swap] = plan(state, Policy(), NOW).actions
    assert isinstance(swap, Swap)
    assert moves(swap) == {"g-0": ("a", "b", SeatSource.IDLE)}


def test_an_island_that_is_only_partly_seated_is_dropped() -> None:
    """An elastic gang has more members than it needs; but of its second island one alone does nothing."""
    torn = jobset("g", islands=2, on="a1 a2 b1", min_members=2)
    [shrink] = planned(slices(a="a1 a2", b="b1"), lost(node("b2", slice="b")), torn).actions
    assert isinstance(shrink, Shrink)
    assert shrink.members == ("g-1-0",)


def test_lost_members_are_released_although_their_new_seats_are_held_already() -> None:
    """A loop that was killed after the promise: the victim is on its way, and the dead still has its seat."""
    hero = replace(running("hero", on="a", priority=9), holds=(("hero-0", "b"),))
    going = queued("going", leaving=tuple(running("going", on="b").members()), priority=1)
    swap, *_ = planned(lost(node("a")), node("b"), hero, going).actions
    assert isinstance(swap, Swap)
    assert moves(swap) == {"hero-0": ("a", "b", SeatSource.VICTIM)}
    assert swap.waits_for == ("Job/default/going",)


# The fall-backs, each when those before it fail


def test_idle_nodes_are_used_and_the_healthy_stay() -> None:
    [swap] = planned(lost(node("a")), nodes("b c d"), running("g", on="a b c")).actions
    assert isinstance(swap, Swap)
    assert moves(swap) == {"g-0": ("a", "d", SeatSource.IDLE)}
    assert (swap.waits_for, swap.why) == ((), "a lost: it died")


def test_then_the_cheapest_less_important_gang_is_preempted() -> None:
    low, middle = running("low", on="b", priority=1), running("middle", on="c", priority=5)
    preempt, swap = planned(lost(node("a")), nodes("b c"), running("g", on="a", priority=9), low, middle).actions
    assert isinstance(preempt, Preempt)
    assert isinstance(swap, Swap)
    assert (preempt.gang, preempt.by, preempt.whole) == ("Job/default/low", "Job/default/g", True)
    assert moves(swap) == {"g-0": ("a", "b", SeatSource.VICTIM)}
    assert swap.waits_for == ("Job/default/low",)


def test_a_repair_waits_for_terminating_pods_before_it_preempts_more() -> None:
    going = queued("going", leaving=tuple(running("going", on="b").members()), priority=1)
    low = running("low", on="c", priority=1)
    made = planned(lost(node("a")), nodes("b c"), running("g", on="a", priority=9), going, low).actions
    assert not any(isinstance(action, Preempt) for action in made)
    [swap] = [action for action in made if isinstance(action, Swap)]
    assert (moves(swap)["g-0"][:2], swap.waits_for) == (("a", "b"), ("Job/default/going",))


def test_then_an_elastic_gang_continues_with_fewer_members() -> None:
    [shrink] = planned(lost(node("a")), nodes("b c"), running("g", on="a b c", min_members=2)).actions
    assert isinstance(shrink, Shrink)
    assert shrink.members == ("g-0",)


def test_an_elastic_gang_replaces_what_it_can_and_goes_on_without_the_rest() -> None:
    sick = [lost(node("a")), lost(node("b"))]
    swap, shrink = planned(sick, nodes("c d"), running("g", on="a b c", min_members=2)).actions
    assert isinstance(swap, Swap)
    assert isinstance(shrink, Shrink)
    assert moves(swap) == {"g-0": ("a", "d", SeatSource.IDLE)}
    assert shrink.members == ("g-1",)


def test_an_elastic_gang_drops_a_broken_island_whole_and_keeps_the_others() -> None:
    racks = [*slices(s0="a b"), lost(node("c", slice="s1")), *slices(s1="d", s2="e f")]
    [shrink] = planned(racks, jobset("g", islands=3, on="a b c d e f", min_members=4)).actions
    assert isinstance(shrink, Shrink)
    assert shrink.members == ("g-1-0", "g-1-1")


def test_an_elastic_gang_below_its_minimum_gives_up() -> None:
    racks = [*slices(s0="a b"), lost(node("c", slice="s1")), *slices(s1="d")]
    [requeue, *_] = planned(racks, jobset("g", islands=2, on="a b c d", min_members=3)).actions
    assert isinstance(requeue, Requeue)


def test_otherwise_the_gang_gives_up_all_seats() -> None:
    [requeue] = planned(lost(node("a")), node("b"), running("g", on="a b")).actions
    assert isinstance(requeue, Requeue)
    assert requeue.members == ("g-0", "g-1")
    assert requeue.why == "a lost: it died; nothing can replace it"


def test_a_gang_that_may_not_preempt_gives_up_its_seats() -> None:
    low = running("low", on="b", priority=1)
    hero = running("g", on="a", priority=9, preempts=False)
    assert plan_lines(lost(node("a")), node("b"), hero, low)[0] == "requeue g: a lost: it died; nothing can replace it"


def test_a_repair_preempts_no_gang_of_equal_priority() -> None:
    peer = running("peer", on="b", priority=9)
    assert plan_lines(lost(node("a")), node("b"), running("g", on="a", priority=9), peer)[0].startswith("requeue g")


# Islands


def test_an_island_of_a_required_topology_stays_where_it_can() -> None:
    racks = [lost(node("a", slice="s0")), *slices(s0="b c", s1="d e")]
    [swap] = planned(racks, running("g", on="a b", topology=TOGETHER)).actions
    assert isinstance(swap, Swap)
    assert moves(swap) == {"g-0": ("a", "c", SeatSource.IDLE)}


def test_it_moves_whole_where_its_domain_has_no_room() -> None:
    racks = [lost(node("a", slice="s0")), *slices(s0="b", s1="d e")]
    [swap] = planned(racks, running("g", on="a b", topology=TOGETHER)).actions
    assert isinstance(swap, Swap)
    assert {m: to for m, (_, to, _) in moves(swap).items()} == {"g-0": "d", "g-1": "e"}


def test_an_idle_domain_is_preferred_to_a_victim_in_the_own_domain() -> None:
    racks = [lost(node("a", slice="s0")), *slices(s0="b c", s1="d e")]
    low = running("low", on="c", priority=1)
    made = planned(racks, running("g", on="a b", topology=TOGETHER, priority=9), low).actions
    assert [type(action) for action in made] == [Swap]


def test_other_islands_of_the_gang_stay() -> None:
    racks = [*slices(s0="a b"), lost(node("c", slice="s1")), *slices(s1="d", s2="e f")]
    [swap] = planned(racks, jobset("g", islands=2, on="a b c d")).actions
    assert isinstance(swap, Swap)
    assert {m: to for m, (_, to, _) in moves(swap).items()} == {"g-1-0": "e", "g-1-1": "f"}


# Nodes that will go, or may


def test_a_gang_on_a_leaving_node_keeps_its_seat_until_the_victim_has_left() -> None:
    low = running("low", on="b", priority=1)
    state = cluster(leaving(node("a")), node("b"), running("g", on="a", priority=9), low)
    soon = snapshot_after(state, plan(state, Policy(), NOW))
    assert [m.node for m in soon.gangs["Job/default/g"].seated()] == ["a"]
    [swap, *_] = plan(without_leaving_pods(soon), Policy(), NOW).actions
    assert isinstance(swap, Swap)
    assert moves(swap)["g-0"][:2] == ("a", "b")


def test_a_hold_is_given_up_when_the_gang_that_was_leaving_the_seat_stays() -> None:
    going = running("g", on="a", holds=(("g-0", "b"),))
    made = plan_lines(leaving(node("a")), node("b"), going, running("stays", on="b"))
    assert made[0] == "give up the seats held for g: their occupants stay"


def test_one_that_nothing_can_replace_runs_on_and_says_until_when() -> None:
    [waits, _] = planned(leaving(node("a"), NOW + 77.0), running("g", on="a")).actions
    assert isinstance(waits, Wait)
    assert (waits.reason.code, waits.reason.until) == (WaitCode.NO_REPLACEMENT, NOW + 77.0)


def test_a_suspect_node_causes_no_preemption() -> None:
    low = running("low", on="b", priority=1)
    assert plan_lines(suspect(node("a")), node("b"), running("g", on="a", priority=9), low) == []


def test_a_held_seat_on_a_suspect_node_is_waited_for_without_preemption() -> None:
    hurt = replace(running("g", on="a", priority=9), holds=(("g-0", "b"),))
    low = running("low", on="c", priority=1)
    [wait] = planned(lost(node("a")), suspect(node("b")), node("c"), hurt, low).actions
    assert isinstance(wait, Wait)
    assert wait.reason.refusals[0].why.endswith("b, kept for it, is suspect, and is waited for")
    assert plan_lines(lost(node("a")), lost(node("b")), node("c"), hurt, low)[-1].startswith(
        "swap g: g-0 a -> c (victim)"
    )


def test_a_seat_is_held_for_a_suspect_node_and_given_up_when_it_is_well() -> None:
    gang = running("g", on="a")
    assert plan_lines(suspect(node("a")), node("b"), gang) == ["hold b for g: node a is suspect"]
    assert plan_lines(*nodes("a b"), replace(gang, holds=(("g-0", "b"),))) == [
        "give up the seats held for g: it is whole again"
    ]


def test_a_held_seat_that_a_more_important_gang_took_is_released() -> None:
    gang = running("g", on="a", holds=(("g-0", "b"),))
    hero = running("hero", on="b", priority=9)
    assert plan_lines(suspect(node("a")), node("b"), gang, hero) == [
        "give up the seats held for g: a more important gang has them now"
    ]


def test_seats_held_for_a_suspect_node_go_to_members_that_lose_theirs_for_certain() -> None:
    """Exclusive islands on s0 and s1; only s2 is free, and it is held because s1 is in doubt."""
    sick = [leaving(node("a", slice="s0")), suspect(node("c", slice="s1")), *slices(s0="b", s1="d", s2="e f")]
    gang = jobset("g", islands=2, on="a b c d", holds=(("g-1-0", "e"), ("g-1-1", "f")))
    state = cluster(sick, gang)
    made = plan(state, Policy(), NOW)
    [swap] = made.actions
    assert isinstance(swap, Swap)
    assert {m: to for m, (_, to, _) in moves(swap).items()} == {"g-0-0": "e", "g-0-1": "f"}
    assert not any(isinstance(action, Hold) for action in plan(snapshot_after(state, made), Policy(), NOW).actions)


def test_a_gang_that_lost_a_seat_is_not_requeued_while_one_is_held_for_a_suspect_node() -> None:
    gang = running("g", on="a b", holds=(("g-1", "c"),))
    assert plan_lines(lost(node("a")), suspect(node("b")), node("c"), gang) == [
        "swap g: g-0 a -> c (idle); a lost: it died"
    ]


def test_a_gang_that_begins_in_stages_is_not_requeued_for_a_suspect_node_in_the_slice_that_is_held_for_it() -> None:
    """A slice works only whole, but the node may be healthy again soon. A new leader has seen one renewal of each
    lease, and counts all nodes as suspect until the second one."""
    gang = jobset("g", islands=2, on="a b", holds=(("g-1-0", "c"), ("g-1-1", "d")))
    [wait] = planned(slices(s0="a b"), suspect(node("c", slice="s1")), node("d", slice="s1"), gang).actions
    assert isinstance(wait, Wait)
    assert wait.reason.refusals[0].why.endswith("c, kept for it, is suspect, and is waited for")


def test_a_seat_that_is_held_beside_a_suspect_node_of_its_slice_is_waited_for() -> None:
    gang = jobset("g", islands=2, members=1, on="a", holds=(("g-1-0", "d"),))
    [wait] = planned(node("a", slice="s0"), suspect(node("c", slice="s1")), node("d", slice="s1"), gang).actions
    assert isinstance(wait, Wait)
    [_, requeue] = planned(node("a", slice="s0"), lost(node("c", slice="s1")), node("d", slice="s1"), gang).actions
    assert isinstance(requeue, Requeue)


def test_seats_held_for_a_suspect_node_stay_held_where_they_help_no_other_member() -> None:
    """The members on the leaving node cannot sit in the held domain."""
    sick = [leaving(node("a", slice="s0")), suspect(node("c", slice="s1")), *slices(s0="b", s1="d", s2="e f")]
    wide = jobset("g", islands=2, on="a b c d", holds=(("g-1-0", "e"), ("g-1-1", "f")))
    large, small = wide.islands
    only_there = Shape(requests=((GPU, 8),), selector=((SLICE, "s0"),))
    pinned = replace(large, members=tuple(replace(m, shape=only_there) for m in large.members))
    [wait, _] = planned(sick, replace(wide, islands=(pinned, small))).actions
    assert isinstance(wait, Wait)
    assert wait.reason.code is WaitCode.NO_REPLACEMENT


# Several at once


def test_the_more_important_gang_gets_the_only_replacement() -> None:
    sick = [lost(node("a")), lost(node("b"))]
    low, high = running("low", on="a", priority=1), running("high", on="b", priority=9)
    assert plan_lines(sick, spare(node("c")), low, high)[:2] == [
        "swap high: high-0 b -> c (spare); b lost: it died",
        "requeue low: a lost: it died; nothing can replace it",
    ]


def test_a_broken_gang_may_be_the_victim_of_another() -> None:
    """Both lost a node. The one that would give up anyway makes room with what it has left."""
    sick = [lost(node("a")), lost(node("c"))]
    high, low = running("high", on="a b", priority=9), running("low", on="c d", priority=1)
    made = planned(sick, nodes("b d"), high, low).actions
    assert [type(action) for action in made[:2]] == [Preempt, Swap]
    assert sum(isinstance(action, Requeue) for action in made) == 0


def test_an_important_start_comes_before_an_unimportant_repair() -> None:
    hero = queued("hero", priority=9)
    assert plan_lines(lost(node("a")), node("b"), running("low", on="a", priority=1), hero)[0] == "start hero on b"


def test_at_equal_priority_a_repair_comes_before_a_start() -> None:
    waiting = queued("waits", queued_at=-5.0)
    assert plan_lines(lost(node("a")), node("b"), running("g", on="a"), waiting)[0].startswith("swap g")


def test_seats_held_in_two_domains_keep_no_other_gang_out_of_both() -> None:
    """As it is when the seats of a gang are noted on its pods one by one, and the plan has changed in between."""
    going = [
        queued(name, priority=1, leaving=tuple(running(name, on=on).members()))
        for name, on in (("v0", "a b c"), ("v1", "d e f"))
    ]
    torn = jobset("torn", members=3, priority=9, holds=(("torn-0-0", "a"), ("torn-0-1", "e")))
    other = jobset("other", members=3, priority=9)
    lesser = jobset("lesser", members=3, priority=1, on="g h i")
    made = planned(slices(s0="a b c", s1="d e f", s2="g h i"), *going, torn, other, lesser)
    assert not any(isinstance(action, Preempt) for action in made.actions), "there is room for both"
    assert {action.gang.rpartition("/")[2] for action in made.actions if isinstance(action, Start)} == {"torn", "other"}


def test_a_seat_reserved_for_a_gang_that_has_begun_is_its_own_beside_an_old_hold_of_another() -> None:
    """The hold of the other gang was given up, and its pods still show where they were to sit."""
    begun = queued("g", members=2, priority=5, started_at=NOW, holds=(("g-1", "b"),)).reseated({"g-0": "a"})
    other = replace(queued("old", members=2, priority=5), holds=(("old-0", "b"), ("old-1", "a")))
    made = planned(*nodes("a b"), begun, other)
    assert [type(action) for action in made.actions if action.gang == begun.key] == [Swap]
    assert moves(next(a for a in made.actions if isinstance(a, Swap)))["g-1"][1] == "b"
