"""A training job as its controller reads it: its roles under the names their kind knows, and what is on record."""

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from understudy.kinds.children.actions import Document
from understudy.kinds.children.partial_objects import FullMeta, PartialPod
from understudy.kinds.children.training.disruptions import Disruptions, is_disrupted
from understudy.kinds.end_conditions import TRAINING_OPERATOR_ENDS
from understudy.kinds.ownership import OPERATOR, REPLICA_INDEX, REPLICA_TYPE, TRAINING_JOB
from understudy.objects.meta import Condition, Part, Time, has_condition
from understudy.objects.resources import Resource

OWN_CONTROLLER = "kubeflow.org/training-operator"
Variables = Mapping[str, str | Document]  # what a variable is, or where it is taken from


class TrainingKind(msgspec.Struct, frozen=True):
    """What sets one of these kinds apart."""

    resource: Resource
    field: str  # the map of its roles
    roles: tuple[str, ...]  # as their names are written, in the order they are judged
    container: str  # the one that trains, in every pod
    port: tuple[str, int]  # the one it listens on: its name, and the number where none is given
    restart_policy: str
    variables: "Callable[[TrainingJob, Replica], Variables]"
    enough: (
        "Callable[[TrainingJob, TrainingState], bool]"  # whether the workers have succeeded, in a job without a leader
    )
    failed: "Callable[[TrainingJob, RoleState], TrainingOutcome]"  # what it means that replicas of a role have failed
    failed_words: str = "{kind} {name} is failed because {count} {role} replica(s) failed."
    leaders: tuple[str, ...] = ()  # roles that decide for all; at most one replica each
    needs_leader: bool = False
    told_everywhere: bool = True  # whether every container gets the variables, or only the one that trains

    @property
    def name(self) -> str:
        return self.resource.kind

    @property
    def operator(self) -> str:
        return f"{self.name.lower()}-controller"

    def role_named(self, written: str) -> str:
        """In whatever case it is written; '' where it has no such role."""
        return next((role for role in self.roles if role.lower() == written.lower()), "")


class OperatorRunPolicy(Part, frozen=True, gc=False):
    clean_pod_policy: str = ""
    ttl_seconds_after_finished: int | None = None
    active_deadline_seconds: int | None = None
    backoff_limit: int | None = None
    suspend: bool = False
    managed_by: str = ""


class ReplicaStatus(Part, frozen=True, gc=False):
    active: int = 0
    succeeded: int = 0
    failed: int = 0


class TrainingProgress(Part, frozen=True, gc=False):
    conditions: tuple[Condition, ...] = ()
    replica_statuses: Mapping[str, ReplicaStatus] = {}
    start_time: Time | None = None
    completion_time: Time | None = None
    restarts: int = 0  # failed pods that were made again
    counted_pods: tuple[str, ...] = ()  # those of them, by uid, that may still be there
    disrupted_at: Time | None = None  # when the cluster took a pod away last
    forgiven_restarts: Mapping[str, int] = {}  # restarts in place that came of it, by the uid of the pod


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
    written: str  # the same as the job writes it
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
    """One place to be filled with a pod."""

    role: ReplicaRole
    index: int
    name: str  # of the pod, and of the service that leads to it


class TrainingJob(msgspec.Struct, frozen=True):
    kind: TrainingKind
    metadata: FullMeta
    policy: OperatorRunPolicy
    status: TrainingProgress
    spec: Document
    roles: tuple[ReplicaRole, ...]  # in the order of the kind; roles it does not know come last

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
        """The role that decides for all."""
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
        """On which the pods of a role listen."""
        wanted, default = self.kind.port
        role = self.role(name)
        for container in role.containers if role else ():
            for port in container.get("ports") or () if container.get("name") == self.kind.container else ():
                if port.get("name") == wanted:
                    return int(port["containerPort"])
        return default

    def labels(self, role: ReplicaRole, index: int | None = None) -> dict[str, str]:
        """By which the pods of a role are found, or one of them."""
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


class TrainingOutcome(enum.Enum):
    """The values are the conditions that say so."""

    RUNNING = "Running"
    RESTARTING = "Restarting"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    NONE = ""


def all_workers_done(_: TrainingJob, standing: TrainingState) -> bool:
    workers = standing.of("Worker")
    return workers is not None and workers.done


def fails_when_lacking(_: TrainingJob, found: RoleState) -> TrainingOutcome:
    """Failed replicas matter where fewer are left than there should be."""
    if not found.lacking:
        return TrainingOutcome.NONE
    return TrainingOutcome.FAILED if found.role.restart_policy == "Never" else TrainingOutcome.RESTARTING
