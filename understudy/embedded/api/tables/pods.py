"""Pods as kubectl prints them: how many containers are ready, and the one word that says how the pod is doing."""

from typing import NamedTuple

from msgspec import field

from understudy.embedded.api.tables.human_duration import age
from understudy.embedded.api.tables.printer import (
    AGE,
    NAME,
    NONE,
    ConditionFields,
    MetaFields,
    PrintedFields,
    Printer,
    Row,
    has_condition,
    wide,
)
from understudy.embedded.schema.served_resource import Column


class TerminatedFields(PrintedFields, frozen=True):
    exit_code: int = 0
    signal: int = 0
    reason: str = ""
    finished_at: str = ""


class WaitingFields(PrintedFields, frozen=True):
    reason: str = ""


class RunningFields(PrintedFields, frozen=True):
    pass


class StateFields(PrintedFields, frozen=True):
    waiting: WaitingFields | None = None
    running: RunningFields | None = None
    terminated: TerminatedFields | None = None


class ContainerStatusFields(PrintedFields, frozen=True):
    name: str = ""
    ready: bool = False
    started: bool = False
    restart_count: int = 0
    state: StateFields = StateFields()
    last_state: StateFields = StateFields()


class ContainerFields(PrintedFields, frozen=True):
    name: str = ""
    restart_policy: str = ""


class ReadinessGateFields(PrintedFields, frozen=True):
    condition_type: str = ""


class PodIPFields(PrintedFields, frozen=True):
    ip: str = ""


class PodSpecFields(PrintedFields, frozen=True):
    containers: tuple[ContainerFields, ...] = ()
    init_containers: tuple[ContainerFields, ...] = ()
    node_name: str = ""
    readiness_gates: tuple[ReadinessGateFields, ...] = ()


class PodStatusFields(PrintedFields, frozen=True):
    phase: str = ""
    reason: str = ""
    conditions: tuple[ConditionFields, ...] = ()
    init_container_statuses: tuple[ContainerStatusFields, ...] = ()
    container_statuses: tuple[ContainerStatusFields, ...] = ()
    pod_ip: str = field(name="podIP", default="")
    pod_ips: tuple[PodIPFields, ...] = field(name="podIPs", default=())
    nominated_node_name: str = ""


class PodFields(PrintedFields, frozen=True):
    metadata: MetaFields = MetaFields()
    spec: PodSpecFields = PodSpecFields()
    status: PodStatusFields = PodStatusFields()


class _ContainerCounts(NamedTuple):
    """What a group of containers adds to the row. Without a reason, that of the pod is shown."""

    reason: str = ""
    ready: int = 0
    restarts: int = 0
    last_restart: str = ""


_COLUMNS = (
    NAME,
    Column("Ready", description="Containers that are ready, of all."),
    Column("Status", description="How the pod is doing, in a word."),
    Column("Restarts", description="How often its containers were restarted, and when last."),
    AGE,
    wide("IP", "Address of the pod."),
    wide("Node", "Node the pod was given."),
    wide("Nominated Node", "Node on which room is being made for the pod."),
    wide("Readiness Gates", "Further conditions of its readiness that hold, of all."),
)

_ENDED = {
    "Succeeded": {
        "type": "Completed",
        "status": "True",
        "reason": "Succeeded",
        "message": "The pod has completed successfully.",
    },
    "Failed": {"type": "Completed", "status": "True", "reason": "Failed", "message": "The pod failed."},
}


def _row(pod: PodFields, now: float) -> Row:
    sidecars = frozenset(one.name for one in pod.spec.init_containers if one.restart_policy == "Always")
    first = _initialising(pod, sidecars)
    counts = first
    if not first.reason or has_condition(pod.status.conditions, "Initialized"):
        counts = _running(pod, first, _of_sidecars(pod, sidecars))
    cells = [
        pod.metadata.name,
        f"{counts.ready}/{len(pod.spec.containers) + len(sidecars)}",
        _status(pod, counts.reason or _own_reason(pod.status)),
        f"{counts.restarts} ({age(counts.last_restart, now)} ago)"
        if counts.restarts and counts.last_restart
        else str(counts.restarts),
        age(pod.metadata.creation_timestamp, now),
        next((one.ip for one in pod.status.pod_ips), pod.status.pod_ip) or NONE,
        pod.spec.node_name or NONE,
        pod.status.nominated_node_name or NONE,
        _gates(pod),
    ]
    ended = _ENDED.get(pod.status.phase)
    return Row(cells, (ended,) if ended else ())


def _own_reason(status: PodStatusFields) -> str:
    """The reason of the pod itself, which those of its containers replace."""
    if any(one.type == "PodScheduled" and one.reason == "SchedulingGated" for one in status.conditions):
        return "SchedulingGated"
    return status.reason or status.phase


def _initialising(pod: PodFields, sidecars: frozenset[str]) -> _ContainerCounts:
    """Counts init containers up to the first that has not completed, which gives the reason."""
    counts = _ContainerCounts()
    for place, one in enumerate(pod.status.init_container_statuses):
        counts = _with_restarts(counts, one)
        ended = one.state.terminated
        if ended and ended.exit_code == 0:
            continue
        if one.name in sidecars and one.started:
            counts = counts._replace(ready=counts.ready + one.ready)
            continue
        return counts._replace(reason=f"Init:{_holding_up(one.state, f'{place}/{len(pod.spec.init_containers)}')}")
    return counts


def _holding_up(state: StateFields, progress: str) -> str:
    if state.terminated:
        return _end_of(state.terminated)
    if state.waiting and state.waiting.reason not in ("", "PodInitializing"):
        return state.waiting.reason
    return progress


def _of_sidecars(pod: PodFields, sidecars: frozenset[str]) -> _ContainerCounts:
    """Restarts of sidecars count as long as the pod runs; those of other init containers do not."""
    counts = _ContainerCounts()
    for one in pod.status.init_container_statuses:
        if one.name in sidecars:
            counts = _with_restarts(counts, one)
    return counts


def _running(pod: PodFields, first: _ContainerCounts, sidecars: _ContainerCounts) -> _ContainerCounts:
    """Of several reasons, that of the first container is shown."""
    counts = sidecars._replace(reason=first.reason, ready=first.ready)
    some_run = False
    for one in reversed(pod.status.container_statuses):
        counts = _with_restarts(counts, one)
        if one.state.waiting and one.state.waiting.reason:
            counts = counts._replace(reason=one.state.waiting.reason)
        elif one.state.terminated:
            counts = counts._replace(reason=_end_of(one.state.terminated))
        elif one.ready and one.state.running:
            some_run = True
            counts = counts._replace(ready=counts.ready + 1)
    if (counts.reason or _own_reason(pod.status)) == "Completed" and some_run:
        counts = counts._replace(reason="Running" if has_condition(pod.status.conditions, "Ready") else "NotReady")
    return counts


def _with_restarts(counts: _ContainerCounts, one: ContainerStatusFields) -> _ContainerCounts:
    ended = one.last_state.terminated
    last = max(counts.last_restart, ended.finished_at) if ended else counts.last_restart
    return counts._replace(restarts=counts.restarts + one.restart_count, last_restart=last)


def _end_of(ended: TerminatedFields) -> str:
    return ended.reason or (f"Signal:{ended.signal}" if ended.signal else f"ExitCode:{ended.exit_code}")


def _status(pod: PodFields, reason: str) -> str:
    if not pod.metadata.deletion_timestamp:
        return reason
    if pod.status.reason == "NodeLost":
        return "Unknown"
    return reason if pod.status.phase in _ENDED else "Terminating"


def _gates(pod: PodFields) -> str:
    gates = [gate.condition_type for gate in pod.spec.readiness_gates]
    return f"{sum(has_condition(pod.status.conditions, gate) for gate in gates)}/{len(gates)}" if gates else NONE


PODS = Printer(_COLUMNS, PodFields, _row)
