"""Node verdicts: every signal, the gravest of several, and when time alone would change them."""

import pytest

from tests.objects.documents import MADE, MADE_AT, Document, lease, node
from understudy.control.view.node_health import HealthFinding, HealthLimits, examine_node, heartbeat
from understudy.kinds.decoding import decode
from understudy.model.nodes import Health, Verdict
from understudy.objects.errors import BadObject
from understudy.objects.nodes import Lease, Node

HEALTHY, SUSPECT, LOST, LEAVING = Verdict.HEALTHY, Verdict.SUSPECT, Verdict.LOST, Verdict.LEAVING
LIMITS = HealthLimits()


def found(document: Document, after: float = 0.0, renewed: Document | None = None) -> HealthFinding:
    """What is found `after` seconds past MADE."""
    obj, held = decode(document), decode(renewed) if renewed else None
    assert isinstance(obj, Node)
    assert held is None or isinstance(held, Lease)
    return examine_node(obj, heartbeat(held), MADE_AT + after, LIMITS)


def condition(name: str, status: str, **fields: str) -> Document:
    return {"type": name, "status": status, "lastTransitionTime": MADE, **fields}


def taint(key: str, effect: str = "NoSchedule", **fields: str) -> Document:
    return {"key": key, "effect": effect, **fields}


def test_a_node_without_bad_signals_is_healthy() -> None:
    assert found(node("n")) == HealthFinding(Health(), None)
    assert (
        found(node("n", conditions=[condition("Ready", "True"), condition("MemoryPressure", "False")])).health
        == Health()
    )


def test_a_cordon_is_no_illness() -> None:
    cordoned = node("n", unschedulable=True, taints=[taint("node.kubernetes.io/unschedulable")])
    assert found(cordoned).health == Health()


def test_not_ready() -> None:
    unknown = node("n", conditions=[condition("Ready", "Unknown", reason="NodeStatusUnknown")])
    assert found(unknown).health == Health(LOST, "not ready: NodeStatusUnknown", MADE_AT)
    unwell = node("n", conditions=[condition("Ready", "False", reason="KubeletNotReady")])
    assert found(unwell, 29) == HealthFinding(Health(SUSPECT, "not ready: KubeletNotReady", MADE_AT), MADE_AT + 30)
    assert found(unwell, 30) == HealthFinding(Health(LOST, "not ready: KubeletNotReady", MADE_AT), None)
    assert found(node("n", conditions=[{"type": "Ready", "status": "False"}])).health.verdict is LOST


@pytest.mark.parametrize(
    ("age", "expected", "changes_at"),
    [
        (0, HEALTHY, 15),
        (14.9, HEALTHY, 15),
        (15, SUSPECT, 23),
        (22.9, SUSPECT, 23),
        (23, LOST, None),
        (-5, HEALTHY, 15),
    ],
)
def test_leases_of_forty_seconds(age: float, expected: Verdict, changes_at: float | None) -> None:
    finding = found(node("n"), age, lease("n", MADE))
    assert finding.health.verdict is expected
    assert finding.changes_at == (None if changes_at is None else MADE_AT + changes_at)


@pytest.mark.parametrize("status", ["False", "Unknown"])
def test_a_node_that_has_yet_to_become_ready_is_new_and_not_unwell(status: str) -> None:
    unready = [condition("Ready", status)]
    made = node("n", taints=[taint("node.kubernetes.io/not-ready", "NoSchedule")], conditions=unready)
    assert found(made, 1000) == HealthFinding(Health(), None)
    again = node("n", taints=[taint("node.kubernetes.io/not-ready", "NoSchedule", timeAdded=MADE)], conditions=unready)
    assert found(again, 1000).health.verdict is LOST


def test_a_lease_that_was_never_renewed_is_ignored() -> None:
    document = lease("n", MADE)
    del document["spec"]["renewTime"]
    assert found(node("n"), 1000, document) == HealthFinding(Health(), None)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("node.kubernetes.io/out-of-service", LOST),
        ("node.kubernetes.io/unreachable", LOST),
        ("node.kubernetes.io/shutdown", LOST),
        ("node.cloudprovider.kubernetes.io/shutdown", LOST),
        ("node.kubernetes.io/not-ready", LOST),
        ("node.kubernetes.io/memory-pressure", HEALTHY),
        ("nvidia.com/gpu", HEALTHY),
    ],
)
def test_taints(key: str, expected: Verdict) -> None:
    assert found(node("n", taints=[taint(key, "NoExecute")])).health.verdict is expected


def test_a_fresh_not_ready_taint_is_only_suspicious() -> None:
    fresh = node("n", taints=[taint("node.kubernetes.io/not-ready", "NoExecute", timeAdded=MADE)])
    assert found(fresh, 10) == HealthFinding(
        Health(SUSPECT, "taint node.kubernetes.io/not-ready", MADE_AT), MADE_AT + 30
    )


@pytest.mark.parametrize(
    ("key", "notice"),
    [
        ("cloud.google.com/impending-node-termination", 30),
        ("aws-node-termination-handler/spot-itn", 120),
        ("aws-node-termination-handler/rebalance-recommendation", 120),
        ("aws-node-termination-handler/scheduled-maintenance", 120),
        ("aws-node-termination-handler/asg-lifecycle-termination", 120),
        ("karpenter.sh/disrupted", 120),
        ("remediator.kubernetes.azure.com/unschedulable", 30),
        ("ToBeDeletedByClusterAutoscaler", 600),
    ],
)
def test_notices_of_the_end(key: str, notice: float) -> None:
    timed = node("n", taints=[taint(key, timeAdded=MADE)])
    assert found(timed).health == Health(LEAVING, f"taint {key}", MADE_AT, MADE_AT + notice)
    assert found(node("n", taints=[taint(key)])).health == Health(LEAVING, f"taint {key}", None, None)


def test_a_label_may_tell_when_it_ends() -> None:
    meta = {"labels": {"aws-node-termination-handler/action-time": str(int(MADE_AT) + 77)}}
    document = node("n", meta, taints=[taint("aws-node-termination-handler/spot-itn")])
    assert found(document).health.deadline == MADE_AT + 77


def test_announced_maintenance() -> None:
    at = MADE_AT + 7200
    document = node("n", {"labels": {"cloud.google.com/scheduled-maintenance-time": str(int(at))}})
    assert found(document) == HealthFinding(Health(), at - 3600)
    soon = found(document, 3600)
    assert (soon.health.verdict, soon.health.deadline, soon.changes_at) == (LEAVING, at, None)
    ongoing = node("n", {"labels": {"cloud.google.com/active-node-maintenance": "ONGOING"}})
    assert found(ongoing).health.verdict is LEAVING
    assert found(node("n", {"labels": {"cloud.google.com/scheduled-maintenance-time": "soon"}})).health == Health()


def test_drains() -> None:
    document = node("n", {"annotations": {"understudy.dev/drain-deadline": MADE}})
    assert found(document).health == Health(LEAVING, "it is being drained", None, MADE_AT)
    with pytest.raises(
        BadObject, match=r"Node n: metadata.annotations\[understudy.dev/drain-deadline\]: 'soon' is not"
    ):
        found(node("n", {"annotations": {"understudy.dev/drain-deadline": "soon"}}))


@pytest.mark.parametrize(
    ("name", "status", "expected"),
    [
        ("GPUMissing", "True", LOST),
        ("NVLinkStatusInactive", "True", LOST),
        ("XIDErrors", "True", LOST),
        ("XIDErrors", "False", HEALTHY),
        ("KernelDeadlock", "True", LOST),
        ("ReadonlyFilesystem", "True", LOST),
        ("IBLinkFlapping", "True", SUSPECT),
        ("GPUClockThrottling", "True", SUSPECT),
        ("UnhealthyNvidiaDevicePlugin", "True", SUSPECT),
        ("KubeletProblem", "True", SUSPECT),
        ("AcceleratedHardwareReady", "False", LOST),
        ("AcceleratedHardwareReady", "True", HEALTHY),
        ("DiskPressure", "True", LEAVING),
        ("DiskPressure", "False", HEALTHY),
        ("NetworkingReady", "False", SUSPECT),
        ("NetworkingReady", "True", HEALTHY),
        ("SomethingElse", "True", HEALTHY),
    ],
)
def test_health_conditions(name: str, status: str, expected: Verdict) -> None:
    health = found(node("n", conditions=[condition(name, status, reason="Because")])).health
    assert health.verdict is expected
    if expected is not HEALTHY:
        assert health == Health(expected, f"condition {name}={status} (Because)", MADE_AT)


def test_an_event_of_the_virtual_machine() -> None:
    health = found(node("n", conditions=[condition("VMEventScheduled", "True")])).health
    assert (health.verdict, health.deadline) == (LEAVING, MADE_AT + 30)


def test_the_gravest_finding_wins() -> None:
    leaving = taint("cloud.google.com/impending-node-termination", timeAdded=MADE)
    later = taint("aws-node-termination-handler/spot-itn", timeAdded=MADE)
    flapping = condition("IBLinkFlapping", "True")
    assert found(node("n", taints=[later, leaving], conditions=[flapping])).health.deadline == MADE_AT + 30
    gone = node("n", taints=[leaving], conditions=[flapping, condition("Ready", "Unknown")])
    assert found(gone).health.verdict is LOST


def test_every_clock_is_watched() -> None:
    unwell = node("n", conditions=[condition("Ready", "False")])
    assert found(unwell, 0, lease("n", MADE)).changes_at == MADE_AT + 15
    assert found(unwell, 16, lease("n", MADE)).changes_at == MADE_AT + 23


def test_a_notice_makes_a_node_leaving_until_its_deadline() -> None:
    document = node("n", {"annotations": {"understudy.dev/notice": f"deadline={MADE},source=azure,cause=Preempt"}})
    health = found(document).health
    assert (health.verdict, health.cause) == (Verdict.LEAVING, "notice (azure Preempt)")
    assert (health.since, health.deadline) == (None, MADE_AT)
    dated = node("n", {"annotations": {"understudy.dev/notice": f"deadline={MADE},source=azure,at={MADE}"}})
    assert found(dated).health.since == MADE_AT


def test_a_notice_without_a_deadline_names_the_annotation_and_its_form() -> None:
    with pytest.raises(BadObject, match=r"annotations\[understudy.dev/notice\]: is not of the form deadline=TIME"):
        found(node("n", {"annotations": {"understudy.dev/notice": "source=azure"}}))
