"""Spares: which nodes are kept free, who may borrow them, and that a loan is recalled when a repair needs it."""

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
    spare,
)
from understudy.decide.policy import Policy, SpareRule
from understudy.decide.spares import SpareShare, may_borrow, shares, spare_nodes
from understudy.model.gangs import Gang
from understudy.model.nodes import Node, SpareRole

LENDING = Policy(lend_below=5)


def kept(*things: Node | Gang, rules: tuple[SpareRule, ...], lend_below: int = 0) -> str:
    return " ".join(sorted(spare_nodes(cluster(*things), Policy(spares=rules, lend_below=lend_below), NOW)))


# Which nodes


def test_labelled_nodes_are_spares_with_or_without_a_rule() -> None:
    there = cluster(spare(node("a")), spare(node("b"), SpareRole.LENDABLE), node("c"))
    assert spare_nodes(there, Policy(), NOW) == {"a": SpareRole.KEPT, "b": SpareRole.LENDABLE}
    assert spare_nodes(there, Policy(lend_spares=False), NOW) == {"a": SpareRole.KEPT, "b": SpareRole.KEPT}


def test_a_rule_keeps_idle_nodes_first() -> None:
    assert kept(*nodes("a b c"), running("x", on="a"), rules=(SpareRule(1),)) == "b"
    assert kept(*nodes("a b c"), running("x", on="a"), rules=(SpareRule(5),)) == "b c"


def test_a_rule_counts_nodes_that_only_borrowers_use() -> None:
    low, high = running("low", on="a", priority=1), running("high", on="b", priority=9)
    assert kept(*nodes("a b"), low, high, rules=(SpareRule(2),), lend_below=5) == "a"


def test_a_rule_looks_only_at_its_labels() -> None:
    mixed = [node("a", labels={"pool": "x"}), node("b", labels={"pool": "y"})]
    assert kept(*mixed, rules=(SpareRule(1, {"pool": "y"}),)) == "b"


def test_labelled_spares_count_towards_a_rule() -> None:
    assert kept(spare(node("c")), *nodes("a b"), rules=(SpareRule(2),)) == "a c"


def test_a_rule_with_a_topology_keeps_whole_domains() -> None:
    two = slices(s0="a b", s1="c d")
    assert kept(*two, rules=(SpareRule(1, topology=SLICE),)) == "a b"
    assert kept(*two, running("x", on="b"), rules=(SpareRule(1, topology=SLICE),)) == "c d"
    assert kept(*two, running("x", on="b"), running("y", on="c"), rules=(SpareRule(1, topology=SLICE),)) == ""


@pytest.mark.parametrize("bad", [lost(node("a")), node("a", unschedulable=True)], ids=["lost", "cordoned"])
def test_a_node_that_cannot_serve_is_no_spare_by_rule(bad: Node) -> None:
    assert kept(bad, node("b"), rules=(SpareRule(1),)) == "b"


def test_daemons_do_not_make_a_node_busy() -> None:
    daemon = running("d", on="a", gpus=0, infrastructure=True)
    assert kept(*nodes("a b"), daemon, rules=(SpareRule(1),)) == "a"


def test_a_rule_keeps_its_count_in_each_value_of_a_label() -> None:
    racks = slices(s0="a b c", s1="d e", s2="f")
    by_rack = (SpareRule(2, per=SLICE),)
    assert kept(*racks, node("without"), running("x", on="a"), rules=by_rack) == "b c d e f"
    assert kept(*racks, running("x", on="d"), rules=(SpareRule(1, per=SLICE),)) == "a e f"
    assert kept(spare(node("z", slice="s0")), *racks, rules=(SpareRule(1, per=SLICE),)) == "d f z"


def test_a_rule_keeps_whole_domains_in_each_value_of_a_label() -> None:
    racks = [node(f"{zone}{i}", slice=f"{zone}-{i // 2}", labels={"zone": zone}) for zone in "xy" for i in range(4)]
    assert kept(*racks, running("g", on="x1"), rules=(SpareRule(1, topology=SLICE, per="zone"),)) == "x2 x3 y0 y1"


def test_a_rule_refills_as_nodes_come_back() -> None:
    one = (SpareRule(1),)
    hero = running("hero", on="b")  # the spare a stepped in for b, which died
    swapped = hero.reseated({"hero-0": "a"})
    assert kept(*nodes("a b"), hero, rules=one) == "a"
    assert kept(node("a"), lost(node("b")), swapped, rules=one) == ""
    assert kept(*nodes("a b"), swapped, rules=one) == "b"


def test_a_labelled_spare_that_is_gone_or_in_use_is_made_up_for() -> None:
    two = (SpareRule(2),)
    assert kept(lost(spare(node("c"))), *nodes("a b"), rules=two) == "a b c"
    assert kept(spare(node("c")), *nodes("a b"), running("x", on="c", priority=9), rules=two) == "a b c"


def test_a_whole_domain_of_labelled_spares_counts_towards_a_rule() -> None:
    racks = [*slices(s0="a b"), *(spare(n) for n in slices(s1="c d"))]
    assert kept(*racks, rules=(SpareRule(1, topology=SLICE),)) == "c d"


def test_a_node_that_fails_again_and_again_is_no_spare_and_one_that_failed_lately_the_last_choice() -> None:
    lemon, shaky = node("a", failures=(NOW - 30, NOW - 20, NOW - 10)), node("b", failures=(NOW - 10,))
    assert kept(lemon, rules=(SpareRule(1),)) == ""
    assert kept(shaky, node("c"), rules=(SpareRule(1),)) == "c"
    assert kept(shaky, rules=(SpareRule(1),)) == "b"


@pytest.mark.parametrize(
    ("lend", "lend_spares", "role"),
    [
        (None, True, SpareRole.LENDABLE),
        (None, False, SpareRole.KEPT),
        (True, False, SpareRole.LENDABLE),
        (False, True, SpareRole.KEPT),
    ],
)
def test_a_rule_says_whether_its_spares_are_lent(lend: bool | None, lend_spares: bool, role: SpareRole) -> None:
    policy = Policy(spares=(SpareRule(1, lend=lend),), lend_spares=lend_spares, lend_below=5)
    assert spare_nodes(cluster(node("a")), policy, NOW) == {"a": role}


def test_what_is_not_lent_is_not_found_where_borrowers_sit() -> None:
    low = running("low", on="a", priority=1)
    assert kept(node("a"), low, rules=(SpareRule(1, lend=False),), lend_below=5) == ""


def test_a_share_tells_what_a_rule_keeps_and_what_it_could() -> None:
    rules = (SpareRule(1, per=SLICE), SpareRule(1, {"no": "such"}))
    first, second, third = shares(cluster(*slices(s0="a b", s1="c")), Policy(spares=rules), NOW)
    assert first == SpareShare(0, "s0", (), (("a",),), (("a",), ("b",)))
    assert second == SpareShare(0, "s1", (), (("c",),), (("c",),))
    assert third == SpareShare(1, "", (), (), ())


# Who may have them


@pytest.mark.parametrize(
    ("role", "priority", "policy", "allowed"),
    [
        (SpareRole.LENDABLE, 4, LENDING, True),
        (SpareRole.LENDABLE, 5, LENDING, False),
        (SpareRole.KEPT, 4, LENDING, False),
        (SpareRole.LENDABLE, 4, Policy(), False),
    ],
)
def test_who_may_borrow(role: SpareRole, priority: int, policy: Policy, allowed: bool) -> None:
    assert may_borrow(queued("g", priority=priority), role, policy) is allowed


def test_a_gang_that_may_not_borrow_does_not_start_on_a_spare() -> None:
    lendable = spare(node("a"), SpareRole.LENDABLE)
    assert seats(planned(lendable, queued("low", priority=4), policy=LENDING)) == {"low-0": "a"}
    assert plan_lines(lendable, queued("high", priority=5), policy=LENDING) == [
        "high waits: needs 1 pod with 8 nvidia.com/gpu; room for 0 of 1 pods; a is kept free for repairs (spare)"
    ]


def test_a_gang_that_may_not_borrow_preempts_no_gang_on_a_spare() -> None:
    borrower = running("low", on="a", priority=4)
    made = planned(spare(node("a"), SpareRole.LENDABLE), borrower, queued("high", priority=9), policy=LENDING)
    assert seats(made) == {}


def test_plain_nodes_are_borrowed_from_before_spares() -> None:
    made = planned(spare(node("a"), SpareRole.LENDABLE), node("b"), queued("low", priority=1), policy=LENDING)
    assert seats(made) == {"low-0": "b"}


# Repairs


def test_a_repair_takes_a_spare_before_an_idle_node() -> None:
    assert plan_lines(lost(node("a")), node("b"), spare(node("c")), running("g", on="a")) == [
        "swap g: g-0 a -> c (spare); a lost: it died"
    ]


def test_a_repair_takes_an_idle_node_before_recalling_a_loan() -> None:
    lent = spare(node("c"), SpareRole.LENDABLE)
    borrower = running("low", on="c", priority=1)
    made = planned(lost(node("a")), node("b"), lent, running("g", on="a", priority=9), borrower, policy=LENDING)
    assert seats(made) == {"g-0": "b"}


def test_a_loan_is_recalled_when_nothing_else_is_left() -> None:
    lent = spare(node("c"), SpareRole.LENDABLE)
    hero, low = running("hero", on="a", priority=9), running("low", on="c", priority=1)
    assert plan_lines(lost(node("a")), lent, hero, low, policy=LENDING)[-1] == (
        "swap hero: hero-0 a -> c (victim), once low left; a lost: it died"
    )


def test_an_exclusive_island_moves_to_the_spare_domain_first() -> None:
    racks = [lost(node("a", slice="s0")), *slices(s0="b", s1="c d")]
    racks += [spare(n) for n in slices(s2="e f")]
    assert seats(planned(racks, jobset("g", on="a b"))) == {"g-0-0": "e", "g-0-1": "f"}


def test_a_domain_that_is_only_partly_spare_is_not_taken_first() -> None:
    racks = [
        lost(node("a", slice="s0")),
        *slices(s0="b", s2="e f"),
        spare(node("c", slice="s1")),
        node("d", slice="s1"),
    ]
    made = planned(racks, jobset("g", on="a b"))
    assert set(seats(made).values()) in ({"c", "d"}, {"e", "f"})


def test_a_borrower_takes_a_plain_domain_before_a_spare_one() -> None:
    racks = [spare(n, SpareRole.LENDABLE) for n in slices(s0="a b")] + slices(s1="c d")
    assert sorted(seats(planned(racks, jobset("low", priority=1), policy=LENDING)).values()) == ["c", "d"]
