"""RBAC rules and request attributes, without a server."""

import pytest

from understudy.embedded.api.access_rules import Attributes, Rule, uncovered


def rule(verbs: str, resources: str = "", group: str = "", names: str = "", paths: str = "") -> Rule:
    groups = frozenset([group]) if resources else frozenset[str]()
    parts = (frozenset(text.split()) for text in (verbs, resources, names, paths))
    made = list(parts)
    return Rule(made[0], groups, made[1], made[2], made[3])


LIST_PODS = Attributes("list", "default", "", "pods")
GET_LOG = Attributes("get", "default", "", "pods", "log", "a")
HEALTH = Attributes("get", path="/healthz")


@pytest.mark.parametrize(
    ("given", "asked", "allowed"),
    [
        (rule("list", "pods"), LIST_PODS, True),
        (rule("*", "*"), LIST_PODS, True),
        (rule("get", "pods"), LIST_PODS, False),
        (rule("list", "pods", "batch"), LIST_PODS, False),
        (rule("list", "pods", "*"), LIST_PODS, True),
        (rule("list", "pods", names="a"), LIST_PODS, False),
        (rule("get", "pods"), GET_LOG, False),
        (rule("get", "pods/log"), GET_LOG, True),
        (rule("get", "*/log"), GET_LOG, True),
        (rule("get", "*"), GET_LOG, True),
        (rule("get", "pods/log", names="b"), GET_LOG, False),
        (rule("get", paths="/healthz"), HEALTH, True),
        (rule("get", paths="/health*"), HEALTH, True),
        (rule("get", paths="/livez"), HEALTH, False),
        (rule("get", "*"), HEALTH, False),
        (rule("get", paths="*"), LIST_PODS, False),
    ],
)
def test_a_rule_allows_what_it_names(given: Rule, asked: Attributes, allowed: bool) -> None:
    assert given.allows(asked) is allowed


@pytest.mark.parametrize(
    ("wanted", "held", "covered"),
    [
        (rule("get list", "pods"), [rule("get", "pods"), rule("list", "pods")], True),
        (rule("get", "pods secrets"), [rule("get", "pods")], False),
        (rule("get", "pods", names="a"), [rule("get", "pods")], True),
        (rule("get", "pods"), [rule("get", "pods", names="a")], False),
        (rule("get", "pods", names="a b"), [rule("get", "pods", names="a"), rule("get", "pods", names="b")], True),
        (rule("*", "pods"), [rule("get list watch create update patch delete", "pods")], False),
        (rule("get", "*"), [rule("*", "*")], True),
        (rule("get", "pods", "*"), [rule("get", "pods")], False),
        (rule("get", "pods/log"), [rule("get", "*/log")], True),
        (rule("get", paths="/a/b"), [rule("get", paths="/a/*")], True),
        (rule("get", paths="*"), [rule("get", paths="/*")], False),
    ],
)
def test_rules_are_covered_where_each_right_is(wanted: Rule, held: list[Rule], covered: bool) -> None:
    assert (uncovered([wanted], held) is None) is covered
