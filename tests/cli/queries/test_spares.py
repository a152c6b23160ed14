"""The spares of a cluster and who has them, in words and figures."""

from typing import Any

from msgspec.structs import replace

from tests.decide.builders import NOW, SLICE, cluster, lost, node, nodes, running, slices, spare
from understudy.cli.queries.scheduler_state import PlanningState
from understudy.cli.queries.spares import list_spares, rule_statuses
from understudy.cli.views.spares import holder_text, role_text, rule_figures, rule_status_text, spare_figures
from understudy.decide.policy import Policy, SpareRule
from understudy.model.nodes import SpareRole

LENDING = Policy(lend_below=5)


def seen(*things: Any, policy: Policy = LENDING) -> PlanningState:
    return PlanningState(cluster(*things), policy, NOW)


def states(at: PlanningState) -> dict[str, str]:
    return {one.node: f"{one.by}, {role_text(one)}, {one.state}" for one in list_spares(at)}


def wants(*things: Any, rule: SpareRule) -> list[str]:
    return [
        rule_status_text(need) for need in rule_statuses(seen(*things, policy=Policy(spares=(rule,), lend_below=5)))
    ]


def test_what_becomes_of_spares() -> None:
    lendable = [spare(node(name), SpareRole.LENDABLE) for name in "abcd"]
    leaving = running("gone", on="c", priority=1)
    leaving = replace(leaving.reseated({"gone-0": ""}), leaving=tuple(leaving.seated()))
    at = seen(
        lendable,
        spare(node("e")),
        lost(spare(node("f"))),
        spare(node("g", unschedulable=True)),
        spare(node("h", failures=(NOW - 3, NOW - 2, NOW - 1))),
        running("low", on="b b", gpus=4, priority=1),
        leaving,
        running("high", on="d", priority=9),
    )
    assert states(at) == {
        "a": "label, lendable, free",
        "b": "label, lendable, on loan",
        "c": "label, lendable, recalled",
        "d": "label, lendable, in use",
        "e": "label, kept, free",
        "f": "label, kept, lost",
        "g": "label, kept, cordoned",
        "h": "label, kept, failing again and again",
    }
    [holder] = list_spares(at)[1].holders
    assert holder_text(holder) == "Job default/low (priority 1, 2 seats)"
    assert spare_figures(list_spares(at)[1]) == {
        "node": "b",
        "domain": "",
        "by": "label",
        "role": "lendable",
        "state": "on loan",
        "since": "1970-01-02T01:00:00Z",
        "reason": "",
        "holders": [
            {
                "kind": "Job",
                "namespace": "default",
                "name": "low",
                "priority": 1,
                "seats": 2,
                "onLoan": True,
                "leaving": False,
            }
        ],
    }


def test_a_spare_by_rule_tells_its_domain() -> None:
    at = seen(*slices(s0="a b", s1="c"), policy=Policy(spares=(SpareRule(1, per=SLICE, lend=False),)))
    assert [(one.node, one.domain, one.by, role_text(one)) for one in list_spares(at)] == [
        ("a", "s0", "rule 1", "kept"),
        ("c", "s1", "rule 1", "kept"),
    ]


def test_what_a_rule_lacks() -> None:
    assert wants(*nodes("a b"), rule=SpareRule(1)) == ["rule 1: 1 node: wanted 1, have 1"]
    assert wants(*nodes("a b"), lost(node("c")), running("x", on="a", priority=9), rule=SpareRule(3)) == [
        "rule 1: 3 nodes: wanted 3, have 1 (2 missing: no idle node: 1 in use, 1 lost)"
    ]
    assert wants(*nodes("a b"), rule=SpareRule(3)) == [
        "rule 1: 3 nodes: wanted 3, have 2 (1 missing: there are no more nodes)"
    ]
    assert wants(*nodes("a b"), rule=SpareRule(1, {"pool": "x"})) == [
        "rule 1: 1 node with pool=x: wanted 1, have 0 (1 missing: no node has its labels)"
    ]
    assert wants(*slices(s0="a b", s1="c d"), running("x", on="b", priority=9), rule=SpareRule(1, per=SLICE)) == [
        f"rule 1: 1 node per {SLICE}, s0: wanted 1, have 1",
        f"rule 1: 1 node per {SLICE}, s1: wanted 1, have 1",
    ]
    two = SpareRule(2, topology=SLICE)
    assert wants(*slices(s0="a b", s1="c d"), running("x", on="b", priority=9), rule=two) == [
        f"rule 1: 2 domains of {SLICE}: wanted 2, have 1 (1 missing: no idle domain: 1 in use)"
    ]


def test_what_a_rule_lacks_for_programs() -> None:
    [need] = rule_statuses(seen(node("a"), policy=Policy(spares=(SpareRule(2),))))
    assert rule_figures(need) == {
        "rule": 1,
        "count": 2,
        "labels": {},
        "topology": "",
        "per": "",
        "lend": None,
        "value": "",
        "wanted": 2,
        "have": 1,
        "missing": 1,
        "why": "there are no more nodes",
    }
