"""Sicknesses that are written on a node, and what takes them back."""

import pytest

from understudy.cli.verbs.node.faults import REASON, fault_condition, is_recovered, recovery_conditions

READY = {"type": "Ready", "status": "True", "reason": "KubeletReady"}


@pytest.mark.parametrize(
    ("how", "sick", "cured"),
    [("notready", ("Ready", "False"), ("Ready", "True")), ("gpu", ("GPUUnhealthy", "True"), ("GPUUnhealthy", "False"))],
)
def test_every_sickness_has_its_cure(how: str, sick: tuple[str, str], cured: tuple[str, str]) -> None:
    condition = fault_condition(how)
    assert condition is not None
    assert (condition["type"], condition["status"], condition["reason"]) == (*sick, REASON)
    others = [] if condition["type"] == "Ready" else [READY]
    node = {"status": {"conditions": [*others, condition]}}
    assert not is_recovered(node)
    [cure] = recovery_conditions(node)
    assert (cure["type"], cure["status"]) == cured
    assert is_recovered({"status": {"conditions": [*others, cure]}})


@pytest.mark.parametrize("how", ["kill", "freeze", "unplug", "vanish"])
def test_who_dies_says_nothing(how: str) -> None:
    assert fault_condition(how) is None


def test_what_others_found_wrong_is_not_ours_to_cure() -> None:
    real = {"type": "GPUUnhealthy", "status": "True", "reason": "XidError"}
    assert recovery_conditions({"status": {"conditions": [READY, real]}}) == []


def test_a_node_that_is_marked_as_unreachable_is_not_well() -> None:
    taint = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
    assert not is_recovered({"spec": {"taints": [taint]}, "status": {"conditions": [READY]}})
