"""The state of a training job: its pods by replica, sorted into running, ended, failed, and failed by a disruption."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from understudy.kinds.children.actions import ObservedChildren, earliest
from understudy.kinds.children.partial_objects import PartialPod
from understudy.kinds.children.training.disruptions import (
    Disruptions,
    disrupted_at,
    forgiven_restarts,
    is_disrupted,
    last_exit,
)
from understudy.kinds.children.training.spec import ReplicaRole, RoleState, TrainingJob, TrainingState
from understudy.kinds.pod_labels import REPLICA_TYPE
from understudy.objects.meta import has_condition, seconds

RETRYABLE = 128  # exit codes from here on have an outside cause, such as a signal
RETRIED = ("OnFailure", "Always", "ExitCode")


def training_state(job: TrainingJob, observed: ObservedChildren, now: float) -> TrainingState:
    pods = observed.pods
    departed = [pod for pod in observed.departed if isinstance(pod, PartialPod)]
    sorter = _Sorter(job, find_disruptions(job, pods, departed, now))
    by_name = {pod.metadata.name: pod for pod in pods}
    places = list(job.replicas())
    roles = tuple(
        sorter.role(role, [by_name[at.name] for at in places if at.role is role and at.name in by_name])
        for role in job.roles
    )
    wanted = {place.name for place in places}
    return TrainingState(
        roles=roles,
        missing=tuple(place for place in places if place.name not in by_name),
        surplus=tuple(pod for name, pod in sorted(by_name.items()) if name not in wanted),
        wrecks=tuple(sorter.wrecks),
        excuses=sorter.excuses,
        doubtful_until=earliest(*sorter.doubts),
    )


class _Sorter:
    """Used for one look."""

    def __init__(self, job: TrainingJob, excuses: Disruptions) -> None:
        self.job = job
        self.excuses = excuses
        self.wrecks: list[PartialPod] = []
        self.doubts: list[float] = []
        self.limited = job.policy.backoff_limit is not None

    def role(self, role: ReplicaRole, pods: list[PartialPod]) -> RoleState:
        broken = list(self._broken(role, pods))
        restarting = has_condition(self.job.status.conditions, "Restarting")
        retried = tuple(pod for pod in broken if self._is_retried(role, pod))
        return RoleState(role, tuple(pods), tuple(broken), retried, self._restarts(role, pods), restarting)

    def _broken(self, role: ReplicaRole, pods: Iterable[PartialPod]) -> Iterator[PartialPod]:
        for pod in pods:
            if pod.status.phase != "Failed":
                continue
            if is_disrupted(pod) or self.excuses.covers(pod, pod.finished_at):
                self.wrecks.append(pod)
            elif not self._is_doubtful(pod, pod.finished_at, matters=self.limited or not self._is_retried(role, pod)):
                yield pod

    def _restarts(self, role: ReplicaRole, pods: Iterable[PartialPod]) -> int:
        if role.restart_policy not in RETRIED or not self.limited:
            return 0
        running = [pod for pod in pods if pod.status.phase == "Running" and self.excuses.restarts(pod)]
        return sum(
            self.excuses.restarts(pod) for pod in running if not self._is_doubtful(pod, last_exit(pod) or 0.0, True)
        )

    def _is_doubtful(self, pod: PartialPod, fell_at: float, matters: bool) -> bool:
        """A pod that is retried in any case, without a limit, needs no decision."""
        until = self.excuses.open_until(pod, fell_at) if matters and not self._is_on_record(pod) else None
        if until is not None:
            self.doubts.append(until)
        return until is not None

    def _is_on_record(self, pod: PartialPod) -> bool:
        return pod.metadata.uid in self.job.status.counted_pods

    def _is_retried(self, role: ReplicaRole, pod: PartialPod) -> bool:
        if role.restart_policy == "ExitCode":
            code = exit_code(pod, self.job.kind.container)
            return code is None or code >= RETRYABLE
        return role.restart_policy in RETRIED


def exit_code(pod: PartialPod, container: str) -> int | None:
    """None: the status of the pod does not contain it."""
    ends = [c.state.terminated for c in pod.containers if c.name == container and c.state.terminated is not None]
    return ends[0].exit_code if ends else None


def find_disruptions(
    job: TrainingJob, pods: Sequence[PartialPod], departed: Iterable[PartialPod], now: float
) -> Disruptions:
    disrupted = [disrupted_at(pod) for pod in (*pods, *departed)]
    known = [seconds(job.status.disrupted_at), *disrupted, now if _has_lost_some(job, pods) else None]
    running = [pod for pod in pods if pod.status.phase == "Running"]
    nodes = frozenset(pod.spec.node_name for pod in running if pod.spec.node_name)
    last = max((moment for moment in known if moment is not None), default=None)
    found = Disruptions(now, last, job.status.forgiven_restarts, nodes)
    return msgspec.structs.replace(found, forgiven=forgiven_restarts(found, running))


def _has_lost_some(job: TrainingJob, pods: Sequence[PartialPod]) -> bool:
    """Whether pods that ran at the last look are gone without a status, like those of a lost node."""
    there = Counter(pod.metadata.labels.get(REPLICA_TYPE, "") for pod in pods)
    before = job.status.replica_statuses
    return any(role.name in before and there[role.lower] < before[role.name].active for role in job.roles)
