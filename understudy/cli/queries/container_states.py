"""Reads the container states of a pod: whether they run, how they ended, what they wait for."""

from collections.abc import Iterator

from understudy.cli.queries.objects import ContainerInfo, PodInfo, TerminatedState
from understudy.objects.meta import seconds

STARTING = ("", "PodInitializing", "ContainerCreating")  # reasons to wait that are no trouble
CRASH_LOOP = "CrashLoopBackOff"


def word_of(pod: PodInfo) -> str:
    """The phase of the pod; PENDING while a container has to be started again, since such a pod does no work."""
    if pod.status.phase == "Running" and any(map(is_down, pod.status.container_statuses)):
        return "PENDING"
    return pod.status.phase.upper()


def is_down(container: ContainerInfo) -> bool:
    """Whether the container waits for its next start, or its last run failed."""
    state = container.state
    return state.waiting is not None or (state.terminated is not None and state.terminated.exit_code != 0)


def detail_of(pod: PodInfo) -> str:
    """The state of a pod's containers in one word."""
    if pod.metadata.deletion_timestamp is not None:
        return "Terminating"
    if pod.status.reason:
        return pod.status.reason
    for container in containers_of(pod):
        state = container.state
        if state.waiting is not None and state.waiting.reason not in ("", "PodInitializing"):
            return state.waiting.reason
        if state.terminated is not None and state.terminated.exit_code:
            return state.terminated.reason or "Error"
    if pod.status.phase == "Succeeded":
        return "Completed"
    return pod.status.phase


def trouble_of(pod: PodInfo) -> str:
    """Why a pod with a seat does not run, in a few words: `CrashLoopBackOff: main, 3 restarts, exit code 1`."""
    if pod.finished or pod.metadata.deletion_timestamp is not None:
        return ""
    for container in containers_of(pod):
        state, end = container.state, last_end_of(container)
        reason = state.waiting.reason if state.waiting is not None else ""
        if state.terminated is not None and state.terminated.exit_code:
            reason = state.terminated.reason or "Error"
        message = state.waiting.message if state.waiting is not None and reason != CRASH_LOOP else ""
        if reason in STARTING and not message:
            continue
        restarts = f"{container.restart_count} restart{'s' * (container.restart_count != 1)}"
        parts = [container.name, *([restarts] if container.restart_count else ()), *([message] if message else ())]
        return f"{reason}: {', '.join(parts)}{f', exit code {end.exit_code}' if end is not None else ''}"
    return ""


def containers_of(pod: PodInfo) -> tuple[ContainerInfo, ...]:
    return pod.status.init_container_statuses + pod.status.container_statuses


def last_end_of(container: ContainerInfo) -> TerminatedState | None:
    return container.state.terminated or container.last_state.terminated


def last_end(pod: PodInfo) -> TerminatedState | None:
    """The end of the first container that failed, else of the last one that ended. Init containers count where they
    failed."""
    first = [end for end in map(last_end_of, pod.status.init_container_statuses) if end is not None and end.exit_code]
    ends = [end for end in map(last_end_of, pod.status.container_statuses) if end is not None]
    return next((end for end in (*first, *ends) if end.exit_code), ends[-1] if ends else None)


def ends_of(pod: PodInfo) -> Iterator[float]:
    """The times at which the pod's containers ended."""
    for container in containers_of(pod):
        end = container.state.terminated
        if end is not None and (moment := seconds(end.finished_at)) is not None:
            yield moment
