"""A training job as its controller reads it: its roles under the names their kind knows, and what is on record."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from understudy.kinds.children.actions import Document
from understudy.kinds.children.partial_objects import FullMeta
from understudy.kinds.ownership import OPERATOR, REPLICA_INDEX, REPLICA_TYPE, TRAINING_JOB
from understudy.objects.meta import Condition, Part, Time, has_condition
from understudy.objects.resources import Resource

if TYPE_CHECKING:
    from understudy.kinds.children.training.state import RoleState, TrainingState
    from understudy.kinds.children.training.verdict import TrainingOutcome

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
        "Callable[[TrainingJob, TrainingState], bool]"  # whether the workers have succeeded, where nobody leads them
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
        return has_condition(self.status.conditions, "Succeeded", "Failed")

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
