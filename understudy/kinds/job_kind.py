"""What the rest of the product needs of a job kind: one `JobKind` value, made in the file of the kind, contains all of
it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from understudy.kinds.children.actions import NO_ACTIONS, ChildActions, Document, ObservedChildren
from understudy.kinds.context import Context
from understudy.kinds.end_conditions import EndConditions
from understudy.kinds.job_control import JobControl
from understudy.kinds.observed_pod import ObservedPod
from understudy.kinds.outline import GangOutline
from understudy.objects.jobs import Workload
from understudy.objects.meta import Condition
from understudy.objects.resources import Resource
from understudy.objects.validation import ProblemsOf, no_problems

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
    says_running: bool = False  # without a true condition Running, a job does not run yet

    @property
    def name(self) -> str:
        return self.resource.kind

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
