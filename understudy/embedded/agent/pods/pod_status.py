"""The status of a pod: turns the pod and its observed containers into the document that the API shows."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from understudy.embedded.agent.api.pod_types import Container, Pod, is_sidecar
from understudy.embedded.agent.containers.observed_container import ObservedContainer, Termination
from understudy.embedded.agent.pods.lifecycle import PodDecision, PodState, next_delay, restarts, start_time
from understudy.kinds.annotations import format_time
from understudy.objects.pods import ENDED_PHASES

DISRUPTED = "DisruptionTarget"  # the condition of a pod that is preempted

Document = dict[str, Any]
KnownConditions = Mapping[str, tuple[str, str]]  # by type, the status of each condition and since when


class StatusContext(msgspec.Struct, frozen=True):
    """What the status says about the pod's address, host and runtime."""

    address: str = ""
    host: str = "127.0.0.1"
    runtime: str = "process"


def pod_status(state: PodState, decision: PodDecision, around: StatusContext, known: KnownConditions) -> Document:
    """The part of the status that the agent writes; conditions of others, such as PodScheduled, are not in it."""
    pod = state.pod
    phase = phase_of(state, decision)
    view = _ContainerStatuses(state, decision, around)
    document: Document = {
        "phase": phase,
        "startTime": format_time(int(state.started_at)),
        "hostIP": around.host,
        "hostIPs": [{"ip": around.host}],
        "conditions": [_dated(condition, known, state.now) for condition in _conditions(state, phase, around)],
        "containerStatuses": [view.container(container) for container in pod.spec.containers],
    }
    if pod.spec.init_containers:
        document["initContainerStatuses"] = [view.container(container) for container in pod.spec.init_containers]
    if around.address:
        document |= {"podIP": around.address, "podIPs": [{"ip": around.address}]}
    if decision.failure is not None and decision.over and not pod.is_over:
        document |= {"reason": decision.failure.reason, "message": decision.failure.message}
    return document


def phase_of(state: PodState, decision: PodDecision) -> str:
    """Succeeded or Failed only once no container runs: other pods may use its resources from then on."""
    containers = state.pod.spec.containers
    if state.pod.is_over:
        return state.pod.status.phase
    if decision.over:
        succeeded = all(state.observed(container).has_succeeded for container in containers)
        return "Succeeded" if succeeded and decision.failure is None and not _was_preempted(state) else "Failed"
    begun = all(_has_started(state.observed(container)) for container in containers)
    return "Running" if begun else "Pending"


def _was_preempted(state: PodState) -> bool:
    """The pod was preempted. A program that saves its work and exits with 0 on SIGTERM has not completed it."""
    pod = state.pod
    disrupted = [one for one in pod.status.conditions if one.type == DISRUPTED and one.status == "True"]
    since = [one.last_transition_time for one in disrupted]
    ends = [end.finished_at for container in pod.spec.containers if (end := state.observed(container).end)]
    return pod.is_going and any(at is not None and at.timestamp() <= max(ends, default=0.0) for at in since)


def _has_started(observed: ObservedContainer) -> bool:
    return observed.started_at is not None or observed.end is not None or observed.previous is not None


class _ContainerStatuses(msgspec.Struct, frozen=True):
    state: PodState
    decision: PodDecision
    around: StatusContext

    def container(self, container: Container) -> Document:
        observed = self.state.observed(container)
        state = self._state(container, observed)
        last = observed.previous if observed.end is None or "terminated" in state else observed.end
        return {
            "name": container.name,
            "image": container.image,
            "imageID": "" if self.around.runtime == "process" else container.image,
            "ready": is_ready(self.state, container),
            "started": observed.is_running and observed.started,
            "restartCount": max(observed.attempt, 0),
            "state": state,
            "lastState": {}
            if last is None
            else {"terminated": self._terminated(container, last, observed.attempt - 1)},
            "containerID": self._identity(container, observed.attempt) if observed.attempt >= 0 else "",
        }

    def _state(self, container: Container, observed: ObservedContainer) -> Document:
        if observed.is_running and observed.started_at is not None:
            return {"running": {"startedAt": format_time(int(observed.started_at))}}
        if observed.refusal is not None and not self.decision.ending:
            return _waiting(observed.refusal.reason, observed.refusal.message)
        if observed.end is None:
            pending = any(not _is_initialized(self.state, one) for one in self.state.pod.spec.init_containers)
            return _waiting("PodInitializing" if pending and not observed.asked else "ContainerCreating")
        if self._backs_off(container, observed, observed.end):
            return _waiting("CrashLoopBackOff", back_off_message(self.state.pod, container, observed))
        return {"terminated": self._terminated(container, observed.end, observed.attempt)}

    def _backs_off(self, container: Container, observed: ObservedContainer, end: Termination) -> bool:
        policy = "Always" if is_sidecar(container) else self.state.pod.spec.restart_policy
        if container in self.state.pod.spec.init_containers and end.is_success and not is_sidecar(container):
            return False
        return not self.decision.ending and restarts(policy, end) and self.state.now < start_time(observed)

    def _terminated(self, container: Container, end: Termination, attempt: int) -> Document:
        document: Document = {
            "exitCode": end.exit_code,
            "reason": end.reason,
            "startedAt": format_time(int(end.finished_at if end.started_at is None else end.started_at)),
            "finishedAt": format_time(int(end.finished_at)),
            "containerID": self._identity(container, attempt),
        }
        if end.message:
            document["message"] = end.message
        if end.signal:
            document["signal"] = end.signal
        return document

    def _identity(self, container: Container, attempt: int) -> str:
        return f"{self.around.runtime}://{self.state.pod.metadata.uid}/{container.name}/{max(attempt, 0)}"


def back_off_message(pod: Pod, container: Container, observed: ObservedContainer) -> str:
    return f"back-off {next_delay(observed):.0f}s restarting failed container={container.name} pod={pod.title}"


def _waiting(reason: str, message: str = "") -> Document:
    return {"waiting": {"reason": reason, "message": message} if message else {"reason": reason}}


def is_ready(state: PodState, container: Container) -> bool:
    """An init container is ready when it has succeeded."""
    observed = state.observed(container)
    if container in state.pod.spec.init_containers and not is_sidecar(container):
        return observed.has_succeeded
    return observed.is_running and observed.ready


def _is_initialized(state: PodState, container: Container) -> bool:
    observed = state.observed(container)
    return (observed.is_running and observed.started) if is_sidecar(container) else observed.has_succeeded


def _conditions(state: PodState, phase: str, around: StatusContext) -> Iterator[Document]:
    spec = state.pod.spec
    over = phase in ENDED_PHASES
    yield _condition("PodReadyToStartContainers", bool(around.address) and not over)
    uninitialized = [one.name for one in spec.init_containers if not _is_initialized(state, one)]
    begun = any(_has_started(state.observed(container)) for container in spec.containers)
    if begun or not uninitialized:
        yield _condition("Initialized", True)
    else:
        names = " ".join(uninitialized)
        yield _condition(
            "Initialized", False, "ContainersNotInitialized", f"containers with incomplete status: [{names}]"
        )
    sidecars = [container for container in spec.init_containers if is_sidecar(container)]
    unready = [one.name for one in (*spec.containers, *sidecars) if not is_ready(state, one)]
    yield _readiness("ContainersReady", phase, unready)
    shut = [gate.condition_type for gate in spec.readiness_gates if not _is_open(state.pod, gate.condition_type)]
    if unready or over or not shut:
        yield _readiness("Ready", phase, unready)
    else:
        yield _condition("Ready", False, "ReadinessGatesNotReady", f"readiness gates not met: [{' '.join(shut)}]")
    if phase == "Failed" and not _is_open(state.pod, DISRUPTED):
        yield from _disruption(state)


def _disruption(state: PodState) -> Iterator[Document]:
    """The condition that Kubernetes gives to pods that ended with their node: not a failure of the pod itself."""
    ends = [end for container in state.pod.spec.containers if (end := state.observed(container).end)]
    for end in [end for end in ends if end.is_disruption][:1]:
        yield _condition(DISRUPTED, True, "TerminationByKubelet", end.message)


def _readiness(kind: str, phase: str, unready: list[str]) -> Document:
    match phase:
        case "Succeeded":
            return _condition(kind, False, "PodCompleted")
        case "Failed":
            return _condition(kind, False, "PodFailed")
        case _ if unready:
            names = " ".join(unready)
            return _condition(kind, False, "ContainersNotReady", f"containers with unready status: [{names}]")
        case _:
            return _condition(kind, True)


def _is_open(pod: Pod, gate: str) -> bool:
    return any(condition.type == gate and condition.status == "True" for condition in pod.status.conditions)


def _condition(kind: str, holds: bool, reason: str = "", message: str = "") -> Document:
    """Reason and message are null where there are none: a patch without them would keep the old ones."""
    return {"type": kind, "status": "True" if holds else "False", "reason": reason or None, "message": message or None}


def _dated(condition: Document, known: KnownConditions, now: float) -> Document:
    before, since = known.get(condition["type"], ("", ""))
    unchanged = before == condition["status"] and since
    return {**condition, "lastTransitionTime": since if unchanged else format_time(int(now))}


def known_conditions(document: Document) -> dict[str, tuple[str, str]]:
    return {one["type"]: (one["status"], one["lastTransitionTime"]) for one in document.get("conditions", ())}
