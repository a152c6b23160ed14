"""What to do next with a pod: turns the pod, its observed containers and the time into instructions.

Nothing is carried out here. The pod worker carries the instructions out, updates the observations and asks again.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from understudy.embedded.agent.api.pod_types import Container, Pod, is_sidecar
from understudy.embedded.agent.containers.observed_container import (
    NOT_OBSERVED,
    HookState,
    ObservedContainer,
    Termination,
)

FIRST_DELAY, LONGEST_DELAY = 10.0, 300.0
BACK_OFF_RESET_SECONDS = 600.0  # a container that ran this long restarts without back-off
MINIMUM_TERMINATION_SECONDS = 2.0  # seconds after SIGTERM, even where the preStop hook has used up the grace period


class StartContainer(msgspec.Struct, frozen=True):
    container: str
    attempt: int
    delay: float


class BeginContainerStop(msgspec.Struct, frozen=True):
    container: str
    grace: float


class RunPostStart(msgspec.Struct, frozen=True):
    container: str


class RunPreStop(msgspec.Struct, frozen=True):
    container: str


class TerminateContainer(msgspec.Struct, frozen=True):
    container: str


class KillContainer(msgspec.Struct, frozen=True):
    container: str


PodInstruction = StartContainer | BeginContainerStop | RunPostStart | RunPreStop | TerminateContainer | KillContainer


class WakeAt(msgspec.Struct, frozen=True):
    """Decide again at this time at the latest."""

    at: float


class PodFailure(msgspec.Struct, frozen=True, gc=False):
    """Why a pod failed as a whole, independent of the exit codes of its containers."""

    reason: str
    message: str


DEADLINE_EXCEEDED = PodFailure("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")


class PodState(msgspec.Struct, frozen=True, kw_only=True):
    pod: Pod
    observations: Mapping[str, ObservedContainer]
    now: float
    started_at: float  # of the pod, as in its status
    ending_since: float | None = None  # when the pod was first found to have to end
    gone: bool = False  # the pod was deleted from the API: no grace period applies

    def observed(self, container: Container) -> ObservedContainer:
        return self.observations.get(container.name, NOT_OBSERVED)

    @property
    def grace(self) -> float:
        return 0.0 if self.gone else float(self.pod.grace)


class PodDecision(msgspec.Struct, frozen=True, kw_only=True):
    instructions: tuple[PodInstruction, ...] = ()
    wake_at: float | None = None
    failure: PodFailure | None = None
    over: bool = False  # no container runs or will be started
    ending: bool = False  # containers that still run have to end


def decide(state: PodState) -> PodDecision:
    failure = failure_of(state)
    if state.gone or state.pod.is_going or state.pod.is_over or failure or work_is_done(state):
        steps = list(_shutdown_steps(state))
        over = not any(state.observed(container).is_busy for container in state.pod.all_containers())
        return msgspec.structs.replace(_decision(steps), failure=failure, over=over, ending=True)
    return _decision([*_deadline(state), *_start_steps(state)])


def _decision(steps: Sequence[PodInstruction | WakeAt]) -> PodDecision:
    wakes = [step.at for step in steps if isinstance(step, WakeAt)]
    return PodDecision(
        instructions=tuple(step for step in steps if not isinstance(step, WakeAt)), wake_at=min(wakes, default=None)
    )


def failure_of(state: PodState) -> PodFailure | None:
    limit = state.pod.spec.active_deadline_seconds
    if limit is None or state.now < (deadline := state.started_at + limit):
        return None
    ends = [observed.end for observed in state.observations.values() if observed.end is not None]
    in_time = work_is_done(state) and all(end.finished_at < deadline for end in ends)
    return None if in_time else DEADLINE_EXCEEDED


def _deadline(state: PodState) -> Iterator[WakeAt]:
    if state.pod.spec.active_deadline_seconds is not None:
        yield WakeAt(state.started_at + state.pod.spec.active_deadline_seconds)


def work_is_done(state: PodState) -> bool:
    """All containers have ended for good, or an init container has failed for good."""
    policy = state.pod.spec.restart_policy
    for container in state.pod.spec.init_containers:
        end = state.observed(container).end
        if end is not None and not end.is_success and not is_sidecar(container) and policy == "Never":
            return True
    ends = [state.observed(container).end for container in state.pod.spec.containers]
    return all(end is not None and not restarts(policy, end) for end in ends)


def restarts(policy: str, end: Termination) -> bool:
    return policy == "Always" or (policy == "OnFailure" and not end.is_success)


def _start_steps(state: PodState) -> Iterator[PodInstruction | WakeAt]:
    """Starts init containers one after the other, then all others. A sidecar only has to have started."""
    begun = any(state.observed(container).attempt >= 0 for container in state.pod.spec.containers)
    for container in state.pod.spec.init_containers:
        observed = state.observed(container)
        if is_sidecar(container):
            yield from _keep_running(state, container, "Always")
            if not (observed.is_running and observed.started) and not begun:
                return
        elif not observed.has_succeeded and not begun:
            yield from _keep_running(state, container, _until_success(state.pod))
            return
    for container in state.pod.spec.containers:
        yield from _keep_running(state, container, state.pod.spec.restart_policy)


def _until_success(pod: Pod) -> str:
    return "Never" if pod.spec.restart_policy == "Never" else "OnFailure"


def _keep_running(state: PodState, container: Container, policy: str) -> Iterator[PodInstruction | WakeAt]:
    observed = state.observed(container)
    if observed.is_running:
        if observed.stop is not None:
            yield from _stop_steps(state, container, observed.stop.begun + observed.stop.grace)
        elif container.lifecycle.post_start is not None and observed.post_start is HookState.NONE:
            yield RunPostStart(container.name)
        return
    if observed.asked or (observed.end is not None and not restarts(policy, observed.end)):
        return
    start_at = start_time(observed)
    if state.now < start_at:
        yield WakeAt(start_at)
    else:
        yield StartContainer(container.name, observed.attempt + 1, next_delay(observed))


def start_time(observed: ObservedContainer) -> float:
    """When a container that does not run may be started."""
    if observed.refusal is not None:
        return observed.refusal.until
    return observed.end.finished_at + next_delay(observed) if observed.end else 0.0


def next_delay(observed: ObservedContainer) -> float:
    """The first restart has no delay; then 10 s, doubling to 5 min; a run of 10 min resets it."""
    if observed.end is None or observed.attempt == 0 or _ran_well(observed.end):
        return 0.0
    return min(observed.delay * 2, LONGEST_DELAY) or FIRST_DELAY


def _ran_well(end: Termination) -> bool:
    return end.started_at is not None and end.finished_at - end.started_at >= BACK_OFF_RESET_SECONDS


def _shutdown_steps(state: PodState) -> Iterator[PodInstruction | WakeAt]:
    """Stops sidecars after all other containers, in the reverse order of their start."""
    sidecars = [container for container in state.pod.spec.init_containers if is_sidecar(container)]
    others = [container for container in state.pod.all_containers() if container not in sidecars]
    deadline = (state.now if state.ending_since is None else state.ending_since) + state.grace
    busy = [container for container in others if state.observed(container).is_busy]
    for container in busy:
        yield from _stop_steps(state, container, deadline)
    if busy:
        return
    for container in reversed(sidecars):
        observed = state.observed(container)
        if observed.is_busy:
            yield from _stop_steps(
                state,
                container,
                max(deadline, (observed.stop.begun if observed.stop else 0.0) + MINIMUM_TERMINATION_SECONDS),
            )
            return


def _stop_steps(state: PodState, container: Container, deadline: float) -> Iterator[PodInstruction | WakeAt]:
    """The next step to stop a container: preStop hook, SIGTERM, SIGKILL."""
    observed, now = state.observed(container), state.now
    if not observed.is_running or observed.killed:
        return
    hook = container.lifecycle.pre_stop is not None
    if observed.stop is None:
        yield BeginContainerStop(container.name, max(deadline - now, 0.0))
    elif state.grace == 0:
        yield KillContainer(container.name)
    elif hook and observed.pre_stop is HookState.NONE and now < deadline:
        yield RunPreStop(container.name)
    elif observed.pre_stop is HookState.RUNNING and now < deadline:
        yield WakeAt(deadline)
    elif observed.terminated_at is None:
        yield TerminateContainer(container.name)
    else:
        kill_at = max(deadline, observed.terminated_at + MINIMUM_TERMINATION_SECONDS) if hook else deadline
        yield WakeAt(kill_at) if now < kill_at else KillContainer(container.name)
