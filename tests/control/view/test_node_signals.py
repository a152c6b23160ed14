"""The table of signals: each as its cloud or tool writes it, contradicting ones, and the table of the reference."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest

from tests.objects.documents import MADE, MADE_AT, Document, node
from understudy.control.view.node_health import HealthLimits, examine_node
from understudy.control.view.node_signals import DEFAULT_SIGNALS, SOURCES
from understudy.control.view.signal_rules import SignalRule
from understudy.kinds.decoding import decode
from understudy.model.nodes import Health, Verdict
from understudy.objects.nodes import Node

HEALTHY, SUSPECT, LOST, LEAVING = Verdict.HEALTHY, Verdict.SUSPECT, Verdict.LOST, Verdict.LEAVING
REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "settings.md"


def health(document: Document, after: float = 0.0) -> Health:
    obj = decode(document)
    assert isinstance(obj, Node)
    return examine_node(obj, None, MADE_AT + after, HealthLimits()).health


def condition(name: str, status: str = "True", **fields: str) -> Document:
    return {"type": name, "status": status, "lastTransitionTime": MADE, **fields}


@pytest.mark.parametrize(
    ("name", "status", "reason", "expected", "notice"),
    [
        ("GracefulNodeShutdownInProgress", "True", "", LEAVING, None),
        ("DrainInProgress", "True", "", LEAVING, None),
        ("Drained", "True", "", LEAVING, None),
        ("MaintenanceInProgress", "True", "", LEAVING, None),
        ("MaintenanceInProgress", "False", "", HEALTHY, None),
        ("MaintenanceInProgress", "Unknown", "", HEALTHY, None),
        ("MaintenancePlanned", "True", "MaintenanceWindow", SUSPECT, None),
        ("FrequentKubeletRestart", "True", "", SUSPECT, None),
        ("KubeProxyUnhealthy", "True", "", SUSPECT, None),
        ("XfsShutdown", "True", "", LOST, None),
        ("NTPProblem", "True", "", HEALTHY, None),
        ("AcceleratedHardwareReady", "False", "NvidiaXID79Error", LOST, None),
        ("AcceleratedHardwareReady", "False", "NvidiaDoubleBitError", LOST, None),
        ("AcceleratedHardwareReady", "False", "NvidiaNVLinkError", LOST, None),
        ("AcceleratedHardwareReady", "False", "NvidiaXID13Error", LEAVING, 600),
        ("AcceleratedHardwareReady", "True", "NvidiaXID13Error", HEALTHY, None),
        ("GpuMemWatch", "True", "GpuMemWatchIsNotHealthy", LOST, None),
        ("GpuMemWatch", "False", "GpuMemWatchIsHealthy", HEALTHY, None),
        ("GpuNvlinkWatch", "True", "", LOST, None),
        ("GpuInforomWatch", "True", "", LOST, None),
        ("GpuThermalWatch", "True", "", SUSPECT, None),
        ("SysLogsXIDError", "True", "", LOST, None),
        ("SysLogsSXIDError", "True", "", LOST, None),
        ("SysLogsGPUFallenOff", "True", "", LOST, None),
        ("NVSwitchFatalError", "True", "", LOST, None),
        ("CSPMaintenance", "True", "", LEAVING, None),
    ],
)
def test_conditions(name: str, status: str, reason: str, expected: Verdict, notice: float | None) -> None:
    found = health(node("n", conditions=[condition(name, status, reason=reason)]))
    assert found.verdict is expected
    assert found.deadline == (None if notice is None else MADE_AT + notice)


def test_a_virtual_machine_that_only_pauses_keeps_its_pods() -> None:
    frozen = condition("VMEventScheduled", reason="VMEventScheduled", message="Freeze scheduled for 12:00")
    assert health(node("n", conditions=[frozen])).verdict is SUSPECT
    preempted = condition("VMEventScheduled", reason="VMEventScheduled", message="Preempt scheduled for 12:00")
    assert health(node("n", conditions=[preempted])).verdict is LEAVING


@pytest.mark.parametrize(
    ("key", "value", "effect", "expected"),
    [
        ("readiness.k8s.io/NetworkReady", "pending", "NoSchedule", SUSPECT),
        ("readiness.k8s.io/NetworkReady", "pending", "NoExecute", LEAVING),
        ("karpenter.sh/disruption", "disrupting", "NoSchedule", LEAVING),
        ("remediator.aks.microsoft.com/unschedulable", "", "NoSchedule", LEAVING),
        ("AggregatedNodeHealth", "False", "NoSchedule", LEAVING),
        ("AggregatedNodeHealth", "True", "NoSchedule", HEALTHY),
        ("nvidia.com/gpu-error", "fatal", "NoSchedule", LEAVING),
        ("kubernetes.azure.com/scalesetpriority", "spot", "NoSchedule", HEALTHY),
        ("cloud.google.com/gke-spot", "true", "NoSchedule", HEALTHY),
        ("someone/else", "", "NoExecute", HEALTHY),
    ],
)
def test_taints(key: str, value: str, effect: str, expected: Verdict) -> None:
    assert health(node("n", taints=[{"key": key, "value": value, "effect": effect}])).verdict is expected


def test_a_new_node_is_set_up_in_peace() -> None:
    taints = [{"key": "readiness.k8s.io/NetworkReady", "value": "pending", "effect": "NoSchedule"}]
    new = node("n", {"creationTimestamp": MADE}, taints=taints)
    assert health(new, 899) == Health()
    assert health(new, 900).verdict is SUSPECT


@pytest.mark.parametrize(
    ("state", "expected"),
    [("quarantined", LEAVING), ("draining", LEAVING), ("remediating", LEAVING), ("remediation-succeeded", HEALTHY)],
)
def test_the_state_of_nvsentinel(state: str, expected: Verdict) -> None:
    assert health(node("n", {"labels": {"dgxc.nvidia.com/nvsentinel-state": state}})).verdict is expected


SPOT = {"key": "aws-node-termination-handler/spot-itn", "effect": "NoSchedule", "timeAdded": MADE}
IMPENDING = {"key": "cloud.google.com/impending-node-termination", "effect": "NoSchedule", "timeAdded": MADE}


def test_of_two_deadlines_the_earlier_counts_whatever_their_order() -> None:
    for taints in ([SPOT, IMPENDING], [IMPENDING, SPOT]):
        assert health(node("n", taints=taints)).deadline == MADE_AT + 30
    noticed = {"annotations": {"understudy.dev/notice": "deadline=2026-01-01T00:00:10Z,source=aws"}}
    assert health(node("n", noticed, taints=[SPOT])).deadline == MADE_AT + 10
    later = {"annotations": {"understudy.dev/notice": "deadline=2026-01-01T01:00:00Z,source=aws"}}
    assert health(node("n", later, taints=[SPOT])).deadline == MADE_AT + 120


def test_a_deadline_counts_before_none() -> None:
    untimed = condition("DrainInProgress")
    assert health(node("n", taints=[SPOT], conditions=[untimed])).deadline == MADE_AT + 120


def test_a_lost_node_is_lost_whatever_was_announced() -> None:
    assert health(node("n", taints=[SPOT], conditions=[condition("SysLogsGPUFallenOff")])).verdict is LOST


def test_a_withdrawn_signal_does_not_take_back_another_one() -> None:
    withdrawn = condition("MaintenanceInProgress", "False")
    assert health(node("n", taints=[SPOT], conditions=[withdrawn])).cause == f"taint {SPOT['key']}"
    assert health(node("n", conditions=[withdrawn])) == Health()


def test_no_default_rule_hides_behind_an_earlier_one() -> None:
    seen: set[tuple[object, ...]] = set()
    for rule in DEFAULT_SIGNALS:
        what = (rule.kind, rule.name, rule.status, rule.reason, rule.message, rule.value, rule.effect)
        assert what not in seen
        seen.add(what)


# The reference


def in_words(rule: SignalRule) -> str:
    """What else the rule asks for, and what it means."""
    asked = {"status": rule.status, "reason": rule.reason, "message": rule.message, "value": rule.value}
    parts = [f"{key} `{value}`" for key, value in {**asked, "effect": rule.effect}.items() if value]
    parts += [f"not in the first {rule.after_creation:g} s of a node"] if rule.after_creation else []
    return ", ".join([rule.kind, *parts])


def meaning(rule: SignalRule) -> str:
    if rule.verdict is HEALTHY:
        return "does not count"
    told = f"at the time in `{rule.time}`" if rule.time else ""
    if rule.announces:
        told = "at the time that it gives, from `maintenanceNotice` before it on"
    after = f"{rule.seconds:g} s later" if rule.seconds is not None else ""
    return " ".join(part for part in (f"{rule.verdict.value}", ", else ".join(filter(None, (told, after)))) if part)


def rows() -> Iterator[str]:
    for source in SOURCES:
        for (words, means), rules in groupby(source.rules, lambda rule: (in_words(rule), meaning(rule))):
            names = ", ".join(f"`{rule.name}`" for rule in rules)
            yield f"| {source.name} | {names} | {words} | {means} |"


def test_the_reference_has_the_whole_table() -> None:
    written = REFERENCE.read_text().splitlines()
    head = written.index("| reporter | signal | what is looked at | meaning |")
    stated = [line for line in written[head + 2 : written.index("", head)] if line.startswith("|")]
    assert stated == list(rows())
