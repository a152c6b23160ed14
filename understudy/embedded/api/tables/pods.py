"""Pods as kubectl prints them: how many containers are ready, and the one word that says how the pod is doing."""

from typing import NamedTuple

from msgspec import field

from understudy.embedded.api.tables.human_duration import age
from understudy.embedded.api.tables.printer import (
    AGE,
    NAME,
    NONE,
    Condition,
    Meta,
    PrintedFields,
    Printer,
    Row,
    has_condition,
    wide,
)
from understudy.embedded.schema.served_resource import Column


class Terminated(PrintedFields, frozen=True):
    exit_code: int = 0
    signal: int = 0
    reason: str = ""
    finished_at: str = ""


class Waiting(PrintedFields, frozen=True):
    reason: str = ""


class Running(PrintedFields, frozen=True):
    pass


class State(PrintedFields, frozen=True):
    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(PrintedFields, frozen=True):
    name: str = ""
    ready: bool = False
    started: bool = False
    restart_count: int = 0
    state: State = State()
    last_state: State = State()


class Container(PrintedFields, frozen=True):
    name: str = ""
    restart_policy: str = ""


class ReadinessGate(PrintedFields, frozen=True):
    condition_type: str = ""


class PodIP(PrintedFields, frozen=True):
    ip: str = ""


class Spec(PrintedFields, frozen=True):
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    node_name: str = ""
    readiness_gates: tuple[ReadinessGate, ...] = ()


class Status(PrintedFields, frozen=True):
    phase: str = ""
    reason: str = ""
    conditions: tuple[Condition, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    pod_ip: str = field(name="podIP", default="")
    pod_ips: tuple[PodIP, ...] = field(name="podIPs", default=())
    nominated_node_name: str = ""


class Pod(PrintedFields, frozen=True):
    metadata: Meta = Meta()
    spec: Spec = Spec()
    status: Status = Status()


class _Tally(NamedTuple):
    """What a group of containers adds to the row. No reason: nothing to say against the pod's own."""

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


def _row(pod: Pod, now: float) -> Row:
    sidecars = frozenset(one.name for one in pod.spec.init_containers if one.restart_policy == "Always")
    first = _initialising(pod, sidecars)
    tally = first
    if not first.reason or has_condition(pod.status.conditions, "Initialized"):
        tally = _running(pod, first, _of_sidecars(pod, sidecars))
    cells = [
        pod.metadata.name,
        f"{tally.ready}/{len(pod.spec.containers) + len(sidecars)}",
        _status(pod, tally.reason or _own_reason(pod.status)),
        f"{tally.restarts} ({age(tally.last_restart, now)} ago)"
        if tally.restarts and tally.last_restart
        else str(tally.restarts),
        age(pod.metadata.creation_timestamp, now),
        next((one.ip for one in pod.status.pod_ips), pod.status.pod_ip) or NONE,
        pod.spec.node_name or NONE,
        pod.status.nominated_node_name or NONE,
        _gates(pod),
    ]
    ended = _ENDED.get(pod.status.phase)
    return Row(cells, (ended,) if ended else ())


def _own_reason(status: Status) -> str:
    """What the pod says of itself, before its containers are asked."""
    if any(one.type == "PodScheduled" and one.reason == "SchedulingGated" for one in status.conditions):
        return "SchedulingGated"
    return status.reason or status.phase


def _initialising(pod: Pod, sidecars: frozenset[str]) -> _Tally:
    """Init containers up to the first that has not done its part; that one gives the reason."""
    tally = _Tally()
    for place, one in enumerate(pod.status.init_container_statuses):
        tally = _with_restarts(tally, one)
        ended = one.state.terminated
        if ended and ended.exit_code == 0:
            continue
        if one.name in sidecars and one.started:
            tally = tally._replace(ready=tally.ready + one.ready)
            continue
        return tally._replace(reason=f"Init:{_holding_up(one.state, f'{place}/{len(pod.spec.init_containers)}')}")
    return tally


def _holding_up(state: State, progress: str) -> str:
    if state.terminated:
        return _end_of(state.terminated)
    if state.waiting and state.waiting.reason not in ("", "PodInitializing"):
        return state.waiting.reason
    return progress


def _of_sidecars(pod: Pod, sidecars: frozenset[str]) -> _Tally:
    """Init containers that go on running count for restarts as long as the pod does; the others no longer do."""
    tally = _Tally()
    for one in pod.status.init_container_statuses:
        if one.name in sidecars:
            tally = _with_restarts(tally, one)
    return tally


def _running(pod: Pod, first: _Tally, sidecars: _Tally) -> _Tally:
    """Of several containers, the first in the pod has the last word."""
    tally = sidecars._replace(reason=first.reason, ready=first.ready)
    some_run = False
    for one in reversed(pod.status.container_statuses):
        tally = _with_restarts(tally, one)
        if one.state.waiting and one.state.waiting.reason:
            tally = tally._replace(reason=one.state.waiting.reason)
        elif one.state.terminated:
            tally = tally._replace(reason=_end_of(one.state.terminated))
        elif one.ready and one.state.running:
            some_run = True
            tally = tally._replace(ready=tally.ready + 1)
    if (tally.reason or _own_reason(pod.status)) == "Completed" and some_run:
        tally = tally._replace(reason="Running" if has_condition(pod.status.conditions, "Ready") else "NotReady")
    return tally


def _with_restarts(tally: _Tally, one: ContainerStatus) -> _Tally:
    ended = one.last_state.terminated
    last = max(tally.last_restart, ended.finished_at) if ended else tally.last_restart
    return tally._replace(restarts=tally.restarts + one.restart_count, last_restart=last)


def _end_of(ended: Terminated) -> str:
    return ended.reason or (f"Signal:{ended.signal}" if ended.signal else f"ExitCode:{ended.exit_code}")


def _status(pod: Pod, reason: str) -> str:
    if not pod.metadata.deletion_timestamp:
        return reason
    if pod.status.reason == "NodeLost":
        return "Unknown"
    return reason if pod.status.phase in _ENDED else "Terminating"


def _gates(pod: Pod) -> str:
    gates = [gate.condition_type for gate in pod.spec.readiness_gates]
    return f"{sum(has_condition(pod.status.conditions, gate) for gate in gates)}/{len(gates)}" if gates else NONE


PODS = Printer(_COLUMNS, Pod, _row)
