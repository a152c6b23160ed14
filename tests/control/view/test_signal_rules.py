"""Rules that read the health of a node: which rule decides, when it counts, and which rules are refused."""

from typing import Any

import pytest

from tests.objects.documents import MADE, MADE_AT, Document, node
from understudy.control.view.node_health import CordonPolicy, HealthFinding, HealthLimits, examine_node
from understudy.control.view.signal_rules import SignalRule
from understudy.kinds.decoding import decode
from understudy.model.nodes import Health, Verdict
from understudy.objects.nodes import Node

HEALTHY, SUSPECT, LOST, LEAVING = Verdict.HEALTHY, Verdict.SUSPECT, Verdict.LOST, Verdict.LEAVING


def found(document: Document, *rules: SignalRule, after: float = 0.0, **limits: Any) -> HealthFinding:
    obj = decode(document)
    assert isinstance(obj, Node)
    return examine_node(obj, None, MADE_AT + after, HealthLimits(signals=rules, **limits))


def condition(name: str, status: str = "True", **fields: str) -> Document:
    return {"type": name, "status": status, "lastTransitionTime": MADE, **fields}


def labelled(**labels: str) -> Document:
    return node("n", {"labels": {key.replace("_", "/"): value for key, value in labels.items()}})


def test_a_rule_of_the_settings_goes_before_the_default() -> None:
    errors = node("n", conditions=[condition("XIDErrors")])
    assert found(errors).health.verdict is LOST
    assert found(errors, SignalRule(SUSPECT, condition="XIDErrors")).health.verdict is SUSPECT


def test_a_rule_switches_a_default_off_and_leaves_the_others() -> None:
    off = SignalRule(HEALTHY, condition="XIDErrors")
    assert found(node("n", conditions=[condition("XIDErrors")]), off).health == Health()
    assert found(node("n", conditions=[condition("XIDErrors"), condition("GPUMissing")]), off).health.verdict is LOST


def test_of_two_rules_for_one_signal_the_first_decides() -> None:
    rules = SignalRule(HEALTHY, taint="mine/a"), SignalRule(LOST, taint="mine/*")
    taints = [{"key": "mine/a", "effect": "NoSchedule"}]
    assert found(node("n", taints=taints), *rules).health == Health()
    assert found(node("n", taints=taints), *reversed(rules)).health.verdict is LOST
    assert found(node("n", taints=[{"key": "mine/b", "effect": "NoSchedule"}]), *rules).health.verdict is LOST


def test_a_rule_may_ask_for_a_reason_a_message_a_value_or_an_effect() -> None:
    by_reason = SignalRule(LOST, condition="Mine", reason="Disk*")
    assert found(node("n", conditions=[condition("Mine", reason="DiskGone")]), by_reason).health.verdict is LOST
    assert found(node("n", conditions=[condition("Mine", reason="Other")]), by_reason).health == Health()
    by_message = SignalRule(LOST, condition="Mine", message="*failed*")
    assert (
        found(node("n", conditions=[condition("Mine", message="it failed twice")]), by_message).health.verdict is LOST
    )
    by_value = SignalRule(SUSPECT, label="state", value="sick")
    assert found(labelled(state="sick"), by_value).health == Health(SUSPECT, "label state")
    assert found(labelled(state="well"), by_value).health == Health()
    by_effect = SignalRule(LOST, taint="mine", effect="NoExecute")
    assert found(node("n", taints=[{"key": "mine", "effect": "NoSchedule"}]), by_effect).health == Health()
    assert found(node("n", taints=[{"key": "mine", "effect": "NoExecute"}]), by_effect).health.verdict is LOST


def test_a_rule_may_name_many_labels_or_annotations_at_once() -> None:
    broken = SignalRule(LOST, annotation="mine/broken-*")
    assert found(node("n", {"annotations": {"mine/broken-gpu": "yes"}}), broken).health.cause == (
        "annotation mine/broken-gpu"
    )
    assert found(node("n", {"annotations": {"mine/well": "yes"}}), broken).health == Health()


@pytest.mark.parametrize("written", [str(int(MADE_AT) + 77), f"{MADE_AT + 77}", "2026-01-01T00:01:17Z"])
def test_an_annotation_gives_the_time_of_a_taint(written: str) -> None:
    rule = SignalRule(LEAVING, taint="mine", seconds=600, time="mine/when")
    document = node("n", {"annotations": {"mine/when": written}}, taints=[{"key": "mine", "effect": "NoSchedule"}])
    assert found(document, rule).health == Health(LEAVING, "taint mine", None, MADE_AT + 77)


@pytest.mark.parametrize("written", ["soon", "nan", "inf", "-5", "1767225600000000", "2026-01-01T00:01:17", ""])
def test_a_time_that_cannot_be_read_is_named_and_does_not_count(written: str) -> None:
    rule = SignalRule(LEAVING, taint="mine", seconds=600, time="mine/when")
    taints = [{"key": "mine", "effect": "NoSchedule", "timeAdded": MADE}]
    finding = found(node("n", {"labels": {"mine/when": written}}, taints=taints), rule)
    assert finding.health.deadline == MADE_AT + 600
    assert str(finding.problem).startswith(f"Node n: metadata.labels[mine/when]: {written!r} is not a time")


def test_a_time_in_the_past_means_that_the_node_is_leaving_now() -> None:
    rule = SignalRule(LEAVING, taint="mine", time="mine/when")
    document = node(
        "n", {"labels": {"mine/when": str(MADE_AT - 500)}}, taints=[{"key": "mine", "effect": "NoSchedule"}]
    )
    finding = found(document, rule)
    assert (finding.health.verdict, finding.health.deadline, finding.changes_at) == (LEAVING, MADE_AT - 500, None)


def test_a_rule_may_leave_new_nodes_alone() -> None:
    rule = SignalRule(SUSPECT, condition="Settling", after_creation=300.0)
    document = node("n", {"creationTimestamp": MADE}, conditions=[condition("Settling")])
    assert found(document, rule, after=299) == HealthFinding(Health(), MADE_AT + 300)
    assert found(document, rule, after=300).health.verdict is SUSPECT
    undated = node("n", conditions=[condition("Settling")])
    assert found(undated, rule).health.verdict is SUSPECT


def test_a_cordon_is_a_notice_only_by_policy() -> None:
    added = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule", "timeAdded": MADE}
    cordoned = node("n", unschedulable=True, taints=[added], conditions=[condition("Ready")])
    assert found(cordoned).health == Health()
    leaving = found(cordoned, cordon=CordonPolicy.LEAVE).health
    assert leaving == Health(LEAVING, "it is cordoned", MADE_AT, None)
    assert found(node("n", conditions=[condition("Ready")]), cordon=CordonPolicy.LEAVE).health == Health()


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({}, "expected one of condition, taint, label, annotation: none of them is there"),
        ({"condition": "A", "label": "b"}, "expected one of .*: condition and label stand together"),
        ({"taint": "a", "status": "True"}, "status: only for a condition; leave it out"),
        ({"condition": "A", "value": "b"}, "value: only for a taint or label or annotation; leave it out"),
        ({"label": "a", "effect": "NoSchedule"}, "effect: only for a taint; leave it out"),
        ({"condition": "A", "status": "true"}, "status: 'true' is none of True, False, Unknown"),
        ({"condition": "A", "seconds": -1.0}, "seconds: expected 0 or more"),
        ({"condition": "A", "seconds": float("nan")}, "seconds: expected 0 or more"),
        ({"condition": "A", "after_creation": -1.0}, "afterCreation: expected 0 or more"),
        ({"condition": "A", "verdict": LOST, "seconds": 5.0}, "seconds: only for verdict leaving; leave it out"),
        ({"condition": "A", "verdict": LOST, "time": "t"}, "time: only for verdict leaving; leave it out"),
        ({"condition": "Ready", "verdict": HEALTHY}, "condition: Ready always counts; health.notReadyLost says after"),
        ({"label": "a", "seconds": 5.0}, "seconds: only for a condition or taint; leave it out"),
    ],
)
def test_a_rule_that_means_nothing_is_refused(fields: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        SignalRule(**{"verdict": LEAVING, **fields})
