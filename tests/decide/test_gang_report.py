"""Reasons tell of the right places and people, and the whole story of one gang."""

import pytest

from tests.decide.builders import (
    NOW,
    SLICE,
    cluster,
    jobset,
    node,
    nodes,
    plan_lines,
    planned,
    queued,
    running,
    shape,
    slices,
)
from understudy.decide.describe import describe
from understudy.decide.gang_needs import needs
from understudy.decide.gang_report import GangReport, gang_report
from understudy.decide.policy import Policy
from understudy.model.gangs import Gang, Topology, TopologyMode
from understudy.model.nodes import Node
from understudy.model.plans import Refusal, Wait, WaitCode, WaitReason


@pytest.mark.parametrize(
    ("gang", "words"),
    [
        (queued("g"), "1 pod with 8 nvidia.com/gpu"),
        (queued("g", members=3, asks=shape(2, cpu=1500)), "3 pods with 2 nvidia.com/gpu + 1500m cpu each"),
        (queued("g", asks=shape(0)), "1 pod"),
        (queued("g", members=4, min_members=2), "4 pods with 8 nvidia.com/gpu each, at least 2 of 4"),
        (jobset("g", islands=3), f"3 islands, each alone in one {SLICE}, 6 pods with 8 nvidia.com/gpu each"),
        (jobset("g", mode=TopologyMode.REQUIRED), f"1 island within one {SLICE}, 2 pods with 8 nvidia.com/gpu each"),
        (
            queued("g", topology=Topology(SLICE, TopologyMode.PREFERRED)),
            f"1 island preferably within one {SLICE}, 1 pod with 8 nvidia.com/gpu",
        ),
    ],
)
def test_what_a_gang_needs(gang: Gang, words: str) -> None:
    assert needs(gang) == words


def reason(*things: Node | Gang) -> WaitReason:
    """The reason of the gang named `new`, which waits."""
    [found] = [a.reason for a in planned(*things).actions if isinstance(a, Wait) and a.gang.endswith("/new")]
    return found


def test_refusals_are_counted_most_frequent_first() -> None:
    where = [*nodes("a b"), node("c", unschedulable=True), node("d", gpus=0)]
    full = [running("x", on="a", priority=9), running("y", on="b", priority=9)]
    assert reason(*where, *full, queued("new")).refusals == (
        Refusal("has 0 of 8 nvidia.com/gpu free", 2, ("a", "b")),
        Refusal("has no nvidia.com/gpu", 1, ("d",)),
        Refusal("is cordoned", 1, ("c",)),
    )


@pytest.mark.parametrize(
    ("holder", "new", "keeps"),
    [
        (running("x", on="a", priority=5), queued("new", priority=5), "has the same priority (5)"),
        (
            running("x", on="a"),
            queued("new", priority=5, preempts=False),
            "is less important, but this gang may not preempt",
        ),
        (running("x", on="a"), queued("new", members=2, priority=5), "is less important, but its seats are not enough"),
    ],
)
def test_holders_say_why_they_keep_their_seats(holder: Gang, new: Gang, keeps: str) -> None:
    [found] = reason(node("a"), holder, new).holders
    assert (found.gang, found.seats, found.keeps) == ("Job/default/x", 1, keeps)


def test_a_reason_for_lack_of_accelerators_names_the_gangs_that_use_them() -> None:
    shared_blockers = running("crowd", on="a", gpus=0, priority=9)
    assert [
        h.gang for h in reason(node("a"), shared_blockers, running("x", on="a", priority=9), queued("new")).holders
    ] == ["Job/default/x"]


def test_domains_that_are_taken_name_their_tenants() -> None:
    racks = slices(s0="a b", s1="c d")
    found = reason(*racks, jobset("x", on="a b", priority=9), running("y", on="c", gpus=1, priority=9), jobset("new"))
    assert found.code is WaitCode.BLOCKED_DOMAINS
    assert found.refusals == (
        Refusal("Job/default/x sits there", 1, ("s0",)),
        Refusal("Job/default/y sits there", 1, ("s1",)),
    )
    assert [(h.gang, h.seats) for h in found.holders] == [("Job/default/x", 2), ("Job/default/y", 1)]


def test_the_member_that_finds_no_node_is_the_one_told_of() -> None:
    """The worker would fit; it is the launcher that does not."""
    launcher = queued("new", asks=shape(0, cpu=1000, selector=(("role", "cpu"),))).islands[0].members[0]
    [worker] = queued("worker").islands[0].members
    gang = queued("new")
    island = gang.islands[0]
    mixed = type(gang)(gang.key, gang.kind, gang.namespace, gang.name, (type(island)("i0", (launcher, worker)),))
    assert plan_lines(node("a"), mixed) == [
        (
            "new waits: needs 1 pod with 8 nvidia.com/gpu and 1 pod with 1 cpu; room for 1 of 2 pods; "
            "a: label role=cpu is asked for"
        )
    ]


# The whole story


def report(*things: Node | Gang, key: str = "Job/default/g") -> GangReport:
    return gang_report(cluster(*things), Policy(), NOW, key)


def test_a_report_has_every_domain_and_its_cost() -> None:
    racks = [*slices(s0="a b", s1="c d"), node("e", slice="s2", unschedulable=True)]
    low, high = jobset("low", on="a b", priority=1), jobset("high", on="c d", priority=9)
    whole = report(*racks, low, high, jobset("g", priority=5))
    found = {look.place: look for look in whole.places}
    assert {place: look.refused for place, look in found.items()} == {
        "s0": "Job/default/low sits there",
        "s1": "Job/default/high sits there",
        "s2": "does not hold the island: is cordoned",
    }
    assert found["s0"].cost is not None
    assert found["s1"].cost is None  # its tenant may not be preempted
    assert found["s0"].occupants == ("Job/default/low",)


def test_a_report_has_every_node_where_no_domain_is_required() -> None:
    found = report(*nodes("a b"), running("x", on="a", priority=1), queued("g", priority=5))
    assert [(look.place, look.refused, look.occupants) for look in found.places] == [
        ("a", "has 0 of 8 nvidia.com/gpu free", ("Job/default/x",)),
        ("b", "", ()),
    ]


def test_a_report_has_the_turn_and_the_actions_for_the_gang() -> None:
    found = report(
        node("a"), running("low", on="a", priority=1), queued("g", priority=5), queued("first", priority=9, gpus=9)
    )
    assert (found.turn, found.turns, found.priority) == (2, 2, 5)
    assert [describe(action).split()[0] for action in found.actions] == ["preempt", "start"]


def test_a_content_gang_has_a_short_story() -> None:
    found = report(node("a"), running("g", on="a"))
    assert (found.turn, found.places, found.actions) == (0, (), ())
