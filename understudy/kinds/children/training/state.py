"""How a training job stands: the pods in its places, sorted into what runs, what has ended, and whose fault it was."""

from collections.abc import Iterable, Iterator

import msgspec

from understudy.kinds.children.actions import ObservedChildren, earliest
from understudy.kinds.children.partial_objects import PartialPod
from understudy.kinds.children.training.disruptions import Disruptions, disrupted_at, find_disruptions, last_exit
from understudy.kinds.children.training.spec import Replica, ReplicaRole, TrainingJob
from understudy.objects.meta import has_condition

RETRYABLE = 128  # exit codes from here on come from outside, such as a signal
RETRIED = ("OnFailure", "Always", "ExitCode")


def is_disrupted(pod: PartialPod) -> bool:
    """Taken away by the cluster."""
    return disrupted_at(pod) is not None


class RoleState(msgspec.Struct, frozen=True):
    role: ReplicaRole
    pods: tuple[PartialPod, ...]  # those in its places
    broken: tuple[PartialPod, ...] = ()  # failed by themselves, and nothing speaks for them
    retried: tuple[PartialPod, ...] = ()  # those of them that are made again
    restarts: int = 0  # in place, where that spends the budget
    restarting: bool = False  # the job is on record as restarting

    @property
    def active(self) -> int:
        return sum(pod.status.phase == "Running" and not pod.metadata.leaving for pod in self.pods)

    @property
    def succeeded(self) -> int:
        return sum(pod.status.phase == "Succeeded" for pod in self.pods)

    @property
    def failed(self) -> int:
        """With those that run and were asked to go: who does that without a word takes a replica from the job."""
        going = [pod for pod in self.pods if pod.status.phase == "Running" and pod.metadata.leaving]
        return len(self.broken) + sum(not is_disrupted(pod) for pod in going)

    @property
    def done(self) -> bool:
        return self.succeeded >= self.role.count

    @property
    def lacking(self) -> bool:
        """Whether some of its replicas neither run nor have succeeded."""
        return self.role.count > self.succeeded + self.active

    @property
    def fatal(self) -> bool:
        """Whether a pod ended with a code that says it makes no sense to try again."""
        return self.role.restart_policy == "ExitCode" and len(self.retried) < len(self.broken)


class TrainingState(msgspec.Struct, frozen=True):
    roles: tuple[RoleState, ...]
    missing: tuple[Replica, ...]  # places without a pod
    surplus: tuple[PartialPod, ...]  # pods without a place
    wrecks: tuple[PartialPod, ...]  # pods that fell through no fault of their own, and are in the way of the next
    excuses: Disruptions
    doubtful_until: float | None  # until when it is open whose fault something was

    def of(self, name: str) -> RoleState | None:
        return next((found for found in self.roles if found.role.name == name), None)

    @property
    def restarts(self) -> int:
        return sum(found.restarts for found in self.roles)

    @property
    def broken(self) -> tuple[PartialPod, ...]:
        return tuple(pod for found in self.roles for pod in found.broken)

    @property
    def retried(self) -> tuple[PartialPod, ...]:
        return tuple(pod for found in self.roles for pod in found.retried)


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
    """Lives for one look."""

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
        """Not where the pod is made again whoever is to blame, and nobody counts."""
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
    """None: nobody knows."""
    ends = [c.state.terminated for c in pod.containers if c.name == container and c.state.terminated is not None]
    return ends[0].exit_code if ends else None


def all_workers_done(_: TrainingJob, standing: TrainingState) -> bool:
    workers = standing.of("Worker")
    return workers is not None and workers.done
