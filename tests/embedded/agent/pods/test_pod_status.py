"""What the API shows of a pod."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from tests.embedded.agent.pods.test_lifecycle import GOING, NOW, ended, pod, running
from understudy.embedded.agent.api.pod_types import Pod, PodCondition, PodStatus, decode_pod
from understudy.embedded.agent.containers.observed_container import ObservedContainer, StartRefusal, Termination
from understudy.embedded.agent.pods.lifecycle import PodState, decide
from understudy.embedded.agent.pods.pod_status import KnownConditions, StatusContext, known_conditions, pod_status

WHEN = "1970-01-12T13:46:40Z"
REQUIRED = {"name", "image", "imageID", "ready", "restartCount", "state", "lastState", "containerID", "started"}


def told(pod: Pod, **observations: ObservedContainer) -> dict[str, Any]:
    return told_again(pod, {}, observations)


def told_again(pod: Pod, known: KnownConditions, observations: Mapping[str, ObservedContainer]) -> dict[str, Any]:
    state = PodState(pod=pod, observations=observations, now=NOW, started_at=NOW)
    return pod_status(state, decide(state), StatusContext("127.64.1.2"), known)


def condition(document: dict[str, Any], kind: str) -> tuple[str, str | None]:
    found = next(one for one in document["conditions"] if one["type"] == kind)
    return found["status"], found["reason"]


@pytest.mark.parametrize(
    ("observations", "policy", "phase"),
    [
        pytest.param({}, "Always", "Pending", id="nothing has started"),
        pytest.param({"a": running()}, "Always", "Pending", id="one of two has not started"),
        pytest.param({"a": running(), "b": running()}, "Always", "Running", id="both run"),
        pytest.param({"a": ended(1), "b": ended(1)}, "Always", "Running", id="both are about to come back"),
        pytest.param({"a": ended(), "b": running()}, "Never", "Running", id="one is done"),
        pytest.param({"a": ended(), "b": ended()}, "Never", "Succeeded", id="both are done"),
        pytest.param({"a": ended(), "b": ended(2)}, "Never", "Failed", id="one has failed"),
        pytest.param({"a": ended(), "b": ended(2)}, "OnFailure", "Running", id="one is tried again"),
    ],
)
def test_phase(observations: dict[str, ObservedContainer], policy: str, phase: str) -> None:
    assert told(pod("a", "b", restartPolicy=policy), **observations)["phase"] == phase


def test_the_phase_is_final_only_when_no_container_runs() -> None:
    late = pod(activeDeadlineSeconds=0, restartPolicy="Never")
    assert told(late, main=running())["phase"] == "Running"
    over = told(late, main=ended(137))
    assert (over["phase"], over["reason"]) == ("Failed", "DeadlineExceeded")


def test_a_failed_init_container_fails_the_pod() -> None:
    document = told(pod(init=("setup",), restartPolicy="Never"), setup=ended(1))
    assert document["phase"] == "Failed"
    assert condition(document, "Initialized") == ("False", "ContainersNotInitialized")


@pytest.mark.parametrize(
    ("meta", "ago", "phase"),
    [
        pytest.param(GOING, 0.0, "Failed", id="it saved its work and left when it was told to"),
        pytest.param(GOING, 5.0, "Succeeded", id="it was done before it was told to go"),
        pytest.param({}, 0.0, "Succeeded", id="it was told, and stayed until it was done"),
    ],
)
def test_a_preempted_pod_that_exits_with_0_has_failed(meta: dict[str, Any], ago: float, phase: str) -> None:
    told_to_go = PodCondition("DisruptionTarget", "True", last_transition_time=datetime.fromtimestamp(NOW, UTC))
    alone = pod(meta=meta, restartPolicy="Never")
    victim = msgspec.structs.replace(alone, status=PodStatus(phase="Running", conditions=(told_to_go,)))
    assert told(victim, main=ended(ago=ago))["phase"] == phase


def test_a_final_phase_of_others_is_kept() -> None:
    text = {"metadata": {}, "spec": {"containers": [{"name": "main"}]}, "status": {"phase": "Failed"}}
    assert told(decode_pod(msgspec.json.encode(text)), main=ended())["phase"] == "Failed"


def test_a_container_status_has_all_required_fields_from_the_start() -> None:
    for observed in (ObservedContainer(), ObservedContainer(attempt=0, asked=True), running(), ended(1)):
        (container,) = told(pod(), main=observed)["containerStatuses"]
        assert container.keys() >= REQUIRED


@pytest.mark.parametrize(
    ("observed", "state"),
    [
        pytest.param(ObservedContainer(), {"waiting": {"reason": "ContainerCreating"}}, id="new"),
        pytest.param(running(), {"running": {"startedAt": "1970-01-12T13:46:35Z"}}, id="running"),
        pytest.param(
            ObservedContainer(refusal=StartRefusal("CreateContainerConfigError", "no key", NOW + 1)),
            {"waiting": {"reason": "CreateContainerConfigError", "message": "no key"}},
            id="refused",
        ),
        pytest.param(
            ended(1, attempt=1),
            {
                "waiting": {
                    "reason": "CrashLoopBackOff",
                    "message": "back-off 10s restarting failed container=main pod=_default()",
                }
            },
            id="backing off",
        ),
    ],
)
def test_state(observed: ObservedContainer, state: dict[str, Any]) -> None:
    (container,) = told(pod(), main=observed)["containerStatuses"]
    assert container["state"] == state


def test_how_a_container_ended() -> None:
    killed = ObservedContainer(attempt=0, end=Termination(137, "OOMKilled", NOW, NOW - 5, "too much", 9))
    (container,) = told(pod(restartPolicy="Never"), main=killed)["containerStatuses"]
    assert container["state"]["terminated"] == {
        "exitCode": 137,
        "reason": "OOMKilled",
        "message": "too much",
        "signal": 9,
        "startedAt": "1970-01-12T13:46:35Z",
        "finishedAt": WHEN,
        "containerID": "process:///main/0",
    }


def test_the_last_termination_is_shown_while_the_next_start_is_pending() -> None:
    end = Termination(1, "Error", NOW, NOW - 1)
    (backing_off,) = told(pod(), main=ended(1, attempt=3, delay=20.0))["containerStatuses"]
    (again,) = told(pod(), main=running(attempt=4, previous=end))["containerStatuses"]
    assert backing_off["lastState"]["terminated"]["exitCode"] == again["lastState"]["terminated"]["exitCode"] == 1
    assert (backing_off["restartCount"], again["restartCount"]) == (3, 4)


def test_containers_wait_for_init_containers() -> None:
    document = told(pod(init=("setup",)), setup=running())
    assert document["containerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}
    assert document["initContainerStatuses"][0]["state"].keys() == {"running"}
    assert condition(document, "Initialized") == ("False", "ContainersNotInitialized")
    assert condition(told(pod(init=("setup",)), setup=ended()), "Initialized") == ("True", None)


@pytest.mark.parametrize(
    ("observed", "expected"),
    [
        (running(), ("True", None)),
        (running(ready=False), ("False", "ContainersNotReady")),
        (ended(), ("False", "PodCompleted")),
        (ended(1), ("False", "PodFailed")),
    ],
)
def test_readiness(observed: ObservedContainer, expected: tuple[str, str | None]) -> None:
    document = told(pod(restartPolicy="Never"), main=observed)
    assert condition(document, "Ready") == condition(document, "ContainersReady") == expected


def test_a_pod_is_not_ready_until_its_readiness_gate_is_met() -> None:
    gated = {"containers": [{"name": "main"}], "readinessGates": [{"conditionType": "example.com/open"}]}
    shut = decode_pod(msgspec.json.encode({"metadata": {}, "spec": gated}))
    opened = {"conditions": [{"type": "example.com/open", "status": "True"}]}
    open_pod = decode_pod(msgspec.json.encode({"metadata": {}, "spec": gated, "status": opened}))
    assert condition(told(shut, main=running()), "Ready") == ("False", "ReadinessGatesNotReady")
    assert condition(told(shut, main=running()), "ContainersReady") == ("True", None)
    assert condition(told(open_pod, main=running()), "Ready") == ("True", None)


def test_a_condition_keeps_its_time_until_it_changes() -> None:
    earlier = {"Ready": ("True", "1970-01-01T00:00:00Z"), "ContainersReady": ("False", "1970-01-01T00:00:00Z")}
    since = known_conditions(told_again(pod(), earlier, {"main": running()}))
    assert since["Ready"] == ("True", "1970-01-01T00:00:00Z")
    assert since["ContainersReady"] == ("True", WHEN)


def test_pod_ip_and_pod_ips() -> None:
    document = told(pod())
    assert (document["podIP"], document["podIPs"]) == ("127.64.1.2", [{"ip": "127.64.1.2"}])
