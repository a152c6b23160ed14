"""`kubectl get pods`: the status column for all states of containers."""

from typing import Any

import msgspec
import pytest

from tests.embedded.api.tables.printed_lines import CREATED, NOW, line, served
from understudy.embedded.api.tables.table import table
from understudy.objects.resources import PODS

Status = dict[str, Any]


def waiting(reason: str) -> Status:
    return {"state": {"waiting": {"reason": reason}}}


def running(ready: bool = True, **more: Any) -> Status:
    return {"state": {"running": {"startedAt": CREATED}}, "ready": ready, **more}


def ended(code: int = 0, reason: str = "", signal: int = 0) -> Status:
    return {"state": {"terminated": {"exitCode": code, "reason": reason, "signal": signal}}}


def restarted(times: int, finished: str, **more: Any) -> Status:
    last = {"terminated": {"exitCode": 1, "finishedAt": finished}}
    return {"restartCount": times, "lastState": last, **more}


def pod(*containers: Status, init: tuple[Status, ...] = (), phase: str = "Running", **status: Any) -> dict[str, Any]:
    """Containers by their statuses; one that is a sidecar says so."""
    specs = [{"name": f"i{n}", "restartPolicy": "Always" if one.get("sidecar") else ""} for n, one in enumerate(init)]
    return {
        "spec": {"containers": [{"name": f"c{n}"} for n in range(len(containers))], "initContainers": specs},
        "status": {
            "phase": phase,
            "containerStatuses": [{"name": f"c{n}", **one} for n, one in enumerate(containers)],
            "initContainerStatuses": [{"name": f"i{n}", **one} for n, one in enumerate(init)],
            **status,
        },
    }


DELETED = {"metadata": {"deletionTimestamp": CREATED}}
READY = {"type": "Ready", "status": "True"}
INITIALIZED = {"type": "Initialized", "status": "True"}
BEFORE = ended(0, "Completed")


@pytest.mark.parametrize(
    ("document", "ready", "status"),
    [
        pytest.param({"status": {"phase": "Pending"}, "spec": {"containers": [{}]}}, "0/1", "Pending", id="waiting"),
        pytest.param(pod(running()), "1/1", "Running", id="running"),
        pytest.param(pod(running(), running(ready=False)), "1/2", "Running", id="half ready"),
        pytest.param(pod(waiting("ContainerCreating"), phase="Pending"), "0/1", "ContainerCreating", id="being made"),
        pytest.param(pod(waiting("CrashLoopBackOff")), "0/1", "CrashLoopBackOff", id="crashing"),
        pytest.param(pod(waiting("CrashLoopBackOff"), running()), "1/2", "CrashLoopBackOff", id="one of two crashing"),
        pytest.param(pod(ended(0, "Completed"), phase="Succeeded"), "0/1", "Completed", id="done"),
        pytest.param(pod(ended(1, "Error"), phase="Failed"), "0/1", "Error", id="failed"),
        pytest.param(pod(ended(3), phase="Failed"), "0/1", "ExitCode:3", id="failed without a reason"),
        pytest.param(pod(ended(137, signal=9), phase="Failed"), "0/1", "Signal:9", id="killed"),
        pytest.param(pod(ended(137, "OOMKilled"), phase="Failed"), "0/1", "OOMKilled", id="out of memory"),
        pytest.param(pod(ended(1, "Error"), ended(0, "Completed")), "0/2", "Error", id="the first has the last word"),
        pytest.param(
            pod(ended(0, "Completed"), running(), conditions=[READY]), "1/2", "Running", id="one done, one running"
        ),
        pytest.param(pod(ended(0, "Completed"), running()), "1/2", "NotReady", id="one done, pod not ready"),
        pytest.param(pod(running(), phase="Failed", reason="Evicted"), "1/1", "Evicted", id="evicted"),
        pytest.param({"status": {"phase": "Failed", "reason": "Preempted"}}, "0/0", "Preempted", id="preempted"),
        pytest.param(
            pod(phase="Pending", conditions=[{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]),
            "0/0",
            "SchedulingGated",
            id="gated",
        ),
        pytest.param(pod(running()) | DELETED, "1/1", "Terminating", id="being deleted"),
        pytest.param(
            pod(ended(0, "Completed"), phase="Succeeded") | DELETED, "0/1", "Completed", id="done and deleted"
        ),
        pytest.param(pod(running(), reason="NodeLost") | DELETED, "1/1", "Unknown", id="its node is lost"),
        pytest.param(
            pod(waiting("PodInitializing"), init=(BEFORE, running()), phase="Pending"), "0/1", "Init:1/2", id="init"
        ),
        pytest.param(
            pod(waiting("PodInitializing"), init=(waiting("PodInitializing"),), phase="Pending"),
            "0/1",
            "Init:0/1",
            id="init not begun",
        ),
        pytest.param(
            pod(waiting("PodInitializing"), init=(waiting("CrashLoopBackOff"),), phase="Pending"),
            "0/1",
            "Init:CrashLoopBackOff",
            id="init crashing",
        ),
        pytest.param(
            pod(waiting("PodInitializing"), init=(ended(1, "Error"),), phase="Pending"),
            "0/1",
            "Init:Error",
            id="init failed",
        ),
        pytest.param(pod(init=(ended(2),), phase="Pending"), "0/0", "Init:ExitCode:2", id="init, no reason"),
        pytest.param(pod(init=(ended(1, signal=15),), phase="Pending"), "0/0", "Init:Signal:15", id="init killed"),
        pytest.param(
            pod(waiting("PodInitializing"), init=(BEFORE,), phase="Pending"), "0/1", "PodInitializing", id="init done"
        ),
        pytest.param(
            pod(running(), init=(running(sidecar=True, started=True),)), "2/2", "Running", id="with a sidecar"
        ),
        pytest.param(
            pod(waiting("PodInitializing"), init=(running(False, sidecar=True),), phase="Pending"),
            "0/2",
            "Init:0/1",
            id="a sidecar that is starting",
        ),
        pytest.param(
            pod(running(), init=(running(False, sidecar=True),), conditions=[INITIALIZED]),
            "1/2",
            "Init:0/1",
            id="a sidecar that restarts later on",
        ),
    ],
)
def test_status(document: dict[str, Any], ready: str, status: str) -> None:
    printed = line(PODS, document)
    assert (printed["Ready"], printed["Status"]) == (ready, status)


@pytest.mark.parametrize(
    ("document", "restarts"),
    [
        pytest.param(pod(running()), "0", id="none"),
        pytest.param(pod(running(restartCount=2)), "2", id="when is not known"),
        pytest.param(pod(restarted(1, "2026-01-01T11:59:55Z", **running())), "1 (5s ago)", id="just now"),
        pytest.param(
            pod(restarted(1, "2026-01-01T11:50:00Z"), restarted(2, "2026-01-01T11:00:00Z")),
            "3 (10m ago)",
            id="the last of several",
        ),
        pytest.param(
            pod(running(), init=(restarted(4, "2026-01-01T11:50:00Z", **BEFORE),)), "0", id="init ones are over"
        ),
        pytest.param(
            pod(init=(restarted(4, "2026-01-01T11:50:00Z", **waiting("CrashLoopBackOff")),), phase="Pending"),
            "4 (10m ago)",
            id="init ones while they run",
        ),
        pytest.param(
            pod(
                restarted(1, "2026-01-01T11:50:00Z"),
                init=(restarted(2, "2026-01-01T11:55:00Z", **running(sidecar=True, started=True)),),
            ),
            "3 (5m ago)",
            id="sidecars go on counting",
        ),
    ],
)
def test_restarts(document: dict[str, Any], restarts: str) -> None:
    assert line(PODS, document)["Restarts"] == restarts


def test_a_whole_line() -> None:
    document = pod(running(), podIP="10.0.0.7", nominatedNodeName="n2", conditions=[{"type": "gpu", "status": "True"}])
    document["spec"] |= {"nodeName": "n1", "readinessGates": [{"conditionType": "gpu"}, {"conditionType": "net"}]}
    assert line(PODS, document) == {
        "Name": "a",
        "Ready": "1/1",
        "Status": "Running",
        "Restarts": "0",
        "Age": "5m",
        "IP": "10.0.0.7",
        "Node": "n1",
        "Nominated Node": "n2",
        "Readiness Gates": "1/2",
    }


def test_what_a_pod_does_not_have_is_none() -> None:
    printed = line(PODS, pod(phase="Pending"))
    assert [printed[name] for name in ("IP", "Node", "Nominated Node", "Readiness Gates")] == ["<none>"] * 4


@pytest.mark.parametrize(("phase", "reasons"), [("Succeeded", ["Succeeded"]), ("Failed", ["Failed"]), ("Running", [])])
def test_rows_of_ended_pods_say_that_they_ended(phase: str, reasons: list[str]) -> None:
    [row] = table(served(PODS), [msgspec.json.encode(pod(phase=phase))], NOW)["rows"]
    assert [condition["reason"] for condition in row.get("conditions", ())] == reasons
