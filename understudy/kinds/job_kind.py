"""What the rest of the product needs of a job kind: one `JobKind` value, made in the file of the kind, contains all of
it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from understudy.kinds.annotations import EXCLUSIVE_TOPOLOGY
from understudy.kinds.children.actions import NO_ACTIONS, ChildActions, Document, ObservedChildren
from understudy.kinds.context import Context
from understudy.kinds.end_conditions import EndConditions
from understudy.kinds.job_control import JobControl
from understudy.kinds.observed_pod import ObservedPod
from understudy.kinds.outline import GangOutline
from understudy.kinds.pod_labels import TRAINING_JOB
from understudy.kinds.roles import LEADING_ROLES, JobRole, leads_by_role, replica_roles
from understudy.objects.jobs import Workload
from understudy.objects.meta import Condition
from understudy.objects.resources import Resource
from understudy.objects.validation import ProblemsOf, no_problems

Spec = Mapping[str, Any]  # of a job, as it is written
Reconcile = Callable[[Document, ObservedChildren, float], ChildActions]  # the job, its children, the time


def _no_actions(_: ObservedChildren) -> ChildActions:
    return NO_ACTIONS


class JobController(msgspec.Struct, frozen=True):
    """The controller of a kind, for clusters without its operator."""

    resource: Resource
    owns: tuple[Resource, ...]  # the resources of its children
    reconcile: Reconcile
    release: Callable[[ObservedChildren], ChildActions] = _no_actions  # for children whose job is gone
    reads: tuple[Resource, ...] = ()  # other resources it reads; a change of one triggers a reconciliation


class SoleChild(msgspec.Struct, frozen=True):
    """The child of the same name to which a job leaves everything: its pods belong to the child, and its status is that
    of the child. To make the job fail, the child has to fail."""

    resource: Resource
    gang_source: Callable[[Any, Any], Workload]  # the job and its child -> the object of which the gang is formed


def _numbered_names(name: str, roles: Sequence[str]) -> str:
    return rf"{name}-({'|'.join(roles) or '[a-z]+'})-\d+"


class JobKind(msgspec.Struct, frozen=True):
    """To add a kind, make this value in a file of its own and list it in `registered.KINDS`."""

    resource: Resource  # in the preferred version
    struct: type[Workload]
    outline: Callable[[Any, Context, Sequence[ObservedPod]], GangOutline]
    names: tuple[str, ...]  # its types on the command line, the full name first
    control: Callable[[Any], JobControl]
    suspend_path: tuple[str, ...] = ("spec", "suspend")  # the field with which users suspend a job
    ends: EndConditions = EndConditions()
    controller: JobController | None = None  # None: only an operator creates its pods
    problems: ProblemsOf = no_problems  # problems that its types cannot express; see objects.validation
    older: tuple[Resource, ...] = ()  # other versions that are read
    operator: str = ""  # the project that serves it; "": Kubernetes itself
    replicas_field: str = ""  # the field of the spec that maps roles to replicas
    roles: Callable[[Spec], Iterable[JobRole]] | None = None  # None: those of `replicas_field`
    has_templates: bool = True  # False: its pods take more from elsewhere, as those of a TrainJob from its runtime
    leads: Callable[[Mapping[str, str], str, str], bool] = leads_by_role  # the labels, role and place of a pod
    pod_labels: tuple[str, ...] = (TRAINING_JOB,)  # with which its pods name it: each pod has one of them
    operator_labels: tuple[str, ...] = ()  # what the label OPERATOR of its pods may say
    single_roles: tuple[str, ...] = ()  # roles of one pod, whose place has no number
    # A pattern for the names of its pods and child jobs, from its name and roles (escaped), narrow enough for a job `a`
    # not to claim those of a job `a-b`.
    child_names: Callable[[str, Sequence[str]], str] = _numbered_names
    random_pod_names: bool = False  # they end in random letters, so that no two pods of a place have the same
    child: SoleChild | None = None
    has_child_jobs: bool = False  # its pods are those of Jobs, which count the pods that have succeeded
    counts_deletions: bool = False  # its controller counts a deleted pod as a failure, unless it is untracked
    domain_label: str = ""  # by which its own rules keep an island with exclusive placement in one domain
    exclusive_annotation: str = EXCLUSIVE_TOPOLOGY  # with which users ask for exclusive placement
    says_running: bool = False  # without a true condition Running, a job does not run yet
    running_word: str = ""  # that `ends.field` has instead of the condition

    @property
    def name(self) -> str:
        return self.resource.kind

    def roles_in(self, spec: Spec) -> list[JobRole]:
        """Those that lead first, the others as they are written."""
        found = replica_roles(spec, self.replicas_field) if self.roles is None else self.roles(spec)
        return sorted(found, key=lambda role: role.name not in LEADING_ROLES)

    @property
    def versions(self) -> tuple[Resource, ...]:
        return (self.resource, *self.older)

    def has_ended(self, document: Mapping[str, Any]) -> bool:
        """Whether the end of a job is recorded in its status. See EndConditions."""
        status = document.get("status") or {}
        return self.ends.has_ended(conditions_in(status), self.ends.word(status))

    def is_ending(self, document: Mapping[str, Any]) -> bool:
        """Whether a job has ended or is about to, by its status. See EndConditions."""
        status = document.get("status") or {}
        return self.ends.is_ending(conditions_in(status), self.ends.word(status))


def conditions_in(status: Mapping[str, Any]) -> tuple[Condition, ...]:
    """The conditions of a raw status."""
    return msgspec.convert(status.get("conditions") or (), tuple[Condition, ...])
