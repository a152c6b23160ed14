"""A training job as its controller reads it: its roles under the names of its kind, and the recorded state."""

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from understudy.kinds.children.actions import Document
from understudy.kinds.children.partial_objects import FullMeta, PartialPod
from understudy.kinds.children.training.disruptions import Disruptions, is_disrupted
from understudy.kinds.end_conditions import TRAINING_OPERATOR_ENDS
from understudy.kinds.pod_labels import OPERATOR, REPLICA_INDEX, REPLICA_TYPE, TRAINING_JOB
from understudy.objects.meta import Condition, Part, Time, has_condition
from understudy.objects.resources import Resource

OWN_CONTROLLER = "kubeflow.org/training-operator"
Variables = Mapping[str, str | Document]  # a value, or its source


class TrainingKind(msgspec.Struct, frozen=True):
    """The differences between the kinds of the training operator."""

    resource: Resource
    field: str  # the field with the map of roles
    roles: tuple[str, ...]  # in their usual spelling, in the order in which they are judged
    container: str  # the name of the container that trains, in every pod
    port: tuple[str, int]  # the port it listens on: its name, and its default number
    restart_policy: str
    variables: "Callable[[TrainingJob, Replica], Variables]"
    enough: (
        "Callable[[TrainingJob, TrainingState], bool]"  # whether the workers have succeeded, in a job without a leader
    )
    failed: "Callable[[TrainingJob, RoleState], TrainingOutcome]"  # what failed replicas of a role mean for the job
    failed_words: str = "{kind} {name} is failed because {count} {role} replica(s) failed."
    leaders: tuple[str, ...] = ()  # roles that decide for the whole job; at most one replica each
    needs_leader: bool = False
    told_everywhere: bool = True  # whether every container gets the variables, or only the one that trains

    @property
    def name(self) -> str:
        return self.resource.kind

    @property
    def operator(self) -> str:
        return f"{self.name.lower()}-controller"

    def role_named(self, written: str) -> str:
        """The role in its usual spelling, from any spelling; '' if the kind has no such role."""
        return next((role for role in self.roles if role.lower() == written.lower()), "")


class OperatorSchedulingPolicy(Part, frozen=True, gc=False):
    min_available: int | None = None


class OperatorRunPolicy(Part, frozen=True, gc=False):
    clean_pod_policy: str = ""
    ttl_seconds_after_finished: int | None = None
    active_deadline_seconds: int | None = None
    backoff_limit: int | None = None
    suspend: bool = False
    managed_by: str = ""
    scheduling_policy: OperatorSchedulingPolicy = OperatorSchedulingPolicy()

    def too_many_available(self, replicas: int) -> str:
        """What is wrong with schedulingPolicy.minAvailable; '' where nothing is."""
        least = self.scheduling_policy.min_available
        if least is None or least <= replicas:
            return ""
        field = "spec.runPolicy.schedulingPolicy.minAvailable"
        return f"{field} is {least}, but the job has {replicas} replicas: use {replicas} or less"


class ReplicaStatus(Part, frozen=True, gc=False):
    active: int = 0
    succeeded: int = 0
    failed: int = 0


class TrainingProgress(Part, frozen=True, gc=False):
    conditions: tuple[Condition, ...] = ()
    replica_statuses: Mapping[str, ReplicaStatus] = {}
    start_time: Time | None = None
    completion_time: Time | None = None
    restarts: int = 0  # failed pods that were created again
    counted_pods: tuple[str, ...] = ()  # those of them, by uid, that may still exist
    disrupted_at: Time | None = None  # when the cluster last evicted a pod
    forgiven_restarts: Mapping[str, int] = {}  # restarts in place that a disruption caused, by the uid of the pod


class _ReplicaSpec(Part, frozen=True, gc=False):
    replicas: int = 1
    restart_policy: str = ""


class _Spec(Part, frozen=True, gc=False):
    run_policy: OperatorRunPolicy = OperatorRunPolicy()


class _Written(Part, frozen=True, gc=False):
    metadata: FullMeta
    spec: _Spec
    status: TrainingProgress = TrainingProgress()


class ReplicaRole(msgspec.Struct, frozen=True):
    name: str  # Worker
    written: str  # the same in the spelling of the job
    count: int
    restart_policy: str
    template: Document

    @property
    def lower(self) -> str:
        return self.name.lower()

    @property
    def containers(self) -> Sequence[Document]:
        spec: Document = self.template.get("spec") or {}
        return spec.get("containers") or ()


class Replica(msgspec.Struct, frozen=True):
    """One replica of a role, which needs a pod."""

    role: ReplicaRole
    index: int
    name: str  # of the pod, and of the service in front of it


class TrainingJob(msgspec.Struct, frozen=True):
    kind: TrainingKind
    metadata: FullMeta
    policy: OperatorRunPolicy
    status: TrainingProgress
    spec: Document
    roles: tuple[ReplicaRole, ...]  # in the order of the kind; unknown roles come last

    @property
    def finished(self) -> bool:
        return TRAINING_OPERATOR_ENDS.has_ended(self.status.conditions)

    @property
    def was_suspended(self) -> bool:
        return has_condition(self.status.conditions, "Suspended")

    @property
    def total(self) -> int:
        return sum(role.count for role in self.roles)

    @property
    def leader(self) -> ReplicaRole | None:
        """The role that decides for the whole job."""
        return next((role for role in self.roles if role.name in self.kind.leaders), None)

    def role(self, name: str) -> ReplicaRole | None:
        return next((role for role in self.roles if role.name == name), None)

    def count(self, name: str) -> int:
        return sum(role.count for role in self.roles if role.name == name)

    def replicas(self) -> Iterator[Replica]:
        for role in self.roles:
            for index in range(role.count):
                yield Replica(role, index, self.replica_name(role.lower, index))

    def replica_name(self, role: str, index: int) -> str:
        return f"{self.metadata.name}-{role.lower()}-{index}"

    def port(self, name: str) -> int:
        """The port on which the pods of a role listen."""
        wanted, default = self.kind.port
        role = self.role(name)
        for container in role.containers if role else ():
            for port in container.get("ports") or () if container.get("name") == self.kind.container else ():
                if port.get("name") == wanted:
                    return int(port["containerPort"])
        return default

    def labels(self, role: ReplicaRole, index: int | None = None) -> dict[str, str]:
        """The labels of the pods of a role, or of one of them."""
        found = {OPERATOR: self.kind.operator, TRAINING_JOB: self.metadata.name, REPLICA_TYPE: role.lower}
        return found if index is None else {**found, REPLICA_INDEX: str(index)}


def read(kind: TrainingKind, document: Document) -> TrainingJob:
    written = msgspec.convert(document, _Written)
    spec: Document = document["spec"]
    roles = [_role(kind, name, given or {}) for name, given in (spec.get(kind.field) or {}).items()]
    known = {name: position for position, name in enumerate(kind.roles)}
    roles.sort(key=lambda role: (known.get(role.name, len(known)), role.written))
    return TrainingJob(kind, written.metadata, written.spec.run_policy, written.status, spec, tuple(roles))


def _role(kind: TrainingKind, written: str, given: Document) -> ReplicaRole:
    figures = msgspec.convert(given, _ReplicaSpec)
    return ReplicaRole(
        name=kind.role_named(written),
        written=written,
        count=figures.replicas,
        restart_policy=figures.restart_policy or kind.restart_policy,
        template=given.get("template") or {},
    )


class RoleState(msgspec.Struct, frozen=True):
    role: ReplicaRole
    pods: tuple[PartialPod, ...]  # the pods of its replicas
    broken: tuple[PartialPod, ...] = ()  # pods that failed by themselves, without an excuse
    retried: tuple[PartialPod, ...] = ()  # those of them that are created again
    restarts: int = 0  # restarts in place that count against the back-off limit
    restarting: bool = False  # the recorded state of the job is Restarting

    @property
    def active(self) -> int:
        return sum(pod.status.phase == "Running" and not pod.metadata.leaving for pod in self.pods)

    @property
    def succeeded(self) -> int:
        return sum(pod.status.phase == "Succeeded" for pod in self.pods)

    @property
    def failed(self) -> int:
        """Including pods that run and were deleted by another client: such a deletion takes a replica from the job."""
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
        """Whether a pod ended with an exit code after which a retry is pointless."""
        return self.role.restart_policy == "ExitCode" and len(self.retried) < len(self.broken)


class TrainingState(msgspec.Struct, frozen=True):
    roles: tuple[RoleState, ...]
    missing: tuple[Replica, ...]  # replicas without a pod
    surplus: tuple[PartialPod, ...]  # pods without a replica
    # pods that failed in a disruption, and have to be deleted before their replacements are created
    wrecks: tuple[PartialPod, ...]
    excuses: Disruptions
    doubtful_until: float | None  # until when the cause of a failure may still become known

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


class TrainingOutcome(enum.Enum):
    """The values are the types of the conditions."""

    RUNNING = "Running"
    RESTARTING = "Restarting"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    NONE = ""


def all_workers_done(_: TrainingJob, state: TrainingState) -> bool:
    workers = state.of("Worker")
    return workers is not None and workers.done


def fails_when_lacking(_: TrainingJob, found: RoleState) -> TrainingOutcome:
    """Failed replicas matter if fewer are left than required."""
    if not found.lacking:
        return TrainingOutcome.NONE
    return TrainingOutcome.FAILED if found.role.restart_policy == "Never" else TrainingOutcome.RESTARTING
