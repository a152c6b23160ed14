"""What a job kind is to the rest of the product: one `JobKind` value, made in the file of the kind, says all of it."""

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
    """The controller of a kind, for clusters where no operator runs."""

    resource: Resource
    owns: tuple[Resource, ...]  # the resources of its children
    reconcile: Reconcile
    release: Callable[[ObservedChildren], ChildActions] = _no_actions  # for children whose job is gone
    reads: tuple[Resource, ...] = ()  # other objects it decides by; a change of one is a reason to reconcile


class JobKind(msgspec.Struct, frozen=True):
    """To add a kind, make this value in a file of its own and list it in `registry.KINDS`."""

    resource: Resource  # in the preferred version
    struct: type[Workload]
    outline: Callable[[Any, Context, Sequence[ObservedPod]], GangOutline]
    names: tuple[str, ...]  # its types on the command line, the full name first
    control: Callable[[Any], JobControl]
    suspend_path: tuple[str, ...] = ("spec", "suspend")  # the field by which people suspend a job
    ends: EndConditions = EndConditions()
    controller: JobController | None = None  # None: only an operator makes its pods
    problems: ProblemsOf = no_problems  # what its types cannot say; see objects.validation
    older: tuple[Resource, ...] = ()  # other versions that are read
    operator: str = ""  # the project that serves it; "": Kubernetes itself
    replicas_field: str = ""  # the field of the spec that maps roles to replicas
    says_running: bool = False  # a job without a true condition Running does not run yet

    @property
    def name(self) -> str:
        return self.resource.kind

    @property
    def versions(self) -> tuple[Resource, ...]:
        return (self.resource, *self.older)

    def has_ended(self, document: Mapping[str, Any]) -> bool:
        """Whether the end of a job, as it is written, is on record. See EndConditions."""
        status = document.get("status") or {}
        return self.ends.has_ended(conditions_in(status), self.ends.word(status))

    def is_ending(self, document: Mapping[str, Any]) -> bool:
        """Whether a job, as it is written, has ended or is about to. See EndConditions."""
        status = document.get("status") or {}
        return self.ends.is_ending(conditions_in(status), self.ends.word(status))


def conditions_in(status: Mapping[str, Any]) -> tuple[Condition, ...]:
    """The conditions of a status as it is written."""
    return msgspec.convert(status.get("conditions") or (), tuple[Condition, ...])
