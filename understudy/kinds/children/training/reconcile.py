"""A training job, its pods and its services into the next actions."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from understudy.kinds.children.actions import (
    NO_ACTIONS,
    ChildActions,
    CreateChild,
    DeleteChild,
    Document,
    EventNote,
    ObservedChildren,
    earliest,
)
from understudy.kinds.children.partial_objects import PartialObject, PartialPod
from understudy.kinds.children.training import pods as making
from understudy.kinds.children.training.spec import OWN_CONTROLLER, TrainingJob, TrainingKind, TrainingState, read
from understudy.kinds.children.training.state import training_state
from understudy.kinds.children.training.status import TrainingStatusWriter
from understudy.kinds.children.training.validation import problem_of
from understudy.kinds.children.training.verdict import deadline, verdict_of
from understudy.objects.meta import seconds
from understudy.objects.resources import PODS, SERVICES

MOST_AT_ONCE = 500  # pods created at a time; the rest follows in the next reconciliation
POD_DELETED = EventNote("SuccessfulDeletePod", "Deleted pod: {name}")
SERVICE_DELETED = EventNote("SuccessfulDeleteService", "Deleted service: {name}")


class _Case(NamedTuple):
    job: TrainingJob
    observed: ObservedChildren
    reporter: TrainingStatusWriter
    now: float


def reconcile(kind: TrainingKind, document: Document, observed: ObservedChildren, now: float) -> ChildActions:
    job = read(kind, document)
    if job.policy.managed_by not in ("", OWN_CONTROLLER) or job.metadata.leaving:
        return NO_ACTIONS
    case = _Case(job, observed, TrainingStatusWriter(job, document.get("status") or {}, now), now)
    if job.finished:
        return _after_the_end(case)
    if problem := problem_of(job):
        status, notes = case.reporter.invalid(problem)
        return ChildActions(status=status, notes=notes)
    if job.policy.suspend or (job.was_suspended and observed.pods):
        return _while_suspended(case)
    return _while_running(case)


def _while_suspended(case: _Case) -> ChildActions:
    """A suspended job has no pods. It is resumed once the last pod of the old run is gone."""
    status, notes = case.reporter.suspended()
    return ChildActions(
        status=status,
        deletes=_pod_deletions(case.observed.pods) + _service_deletions(case.observed.services),
        notes=notes,
    )


def _while_running(case: _Case) -> ChildActions:
    job = case.job
    state = training_state(job, case.observed, case.now)
    verdict = verdict_of(job, state, case.now)
    status, notes = case.reporter.running(state, verdict)
    if verdict is not None and verdict.final:  # the end is recorded before pods are deleted
        return ChildActions(status=status, notes=notes)
    creates = tuple(_missing(case, state))
    if making.overwrites(job) and any(create.resource == PODS for create in creates):
        notes += (making.OVERWRITTEN,)
    return ChildActions(
        status=status,
        deletes=_pod_deletions((*state.retried, *state.wrecks, *state.surplus))
        + _service_deletions(_idle_services(case)),
        creates=creates,
        notes=notes,
        again_at=earliest(deadline(job), state.doubtful_until),
    )


def _missing(case: _Case, state: TrainingState) -> Iterator[CreateChild]:
    """Services first, so that names resolve from the start."""
    served = {service.metadata.name for service in case.observed.services}
    for replica in case.job.replicas():
        if replica.name not in served:
            yield making.service(case.job, replica)
    for replica in state.missing[:MOST_AT_ONCE]:
        yield making.pod(case.job, replica)


def _idle_services(case: _Case) -> list[PartialObject]:
    """Services of replicas that were removed."""
    wanted = {replica.name for replica in case.job.replicas()}
    return [service for service in case.observed.services if service.metadata.name not in wanted]


def _after_the_end(case: _Case) -> ChildActions:
    job = case.job
    status, notes = case.reporter.ended(training_state(job, case.observed, case.now))
    removed, closed = _cleaned(case)
    ended, allowed = seconds(job.status.completion_time), job.policy.ttl_seconds_after_finished
    expires = None if ended is None or allowed is None else ended + allowed
    return ChildActions(
        status=status,
        deletes=_pod_deletions(removed) + _service_deletions(closed),
        notes=notes,
        expired=expires is not None and case.now >= expires,
        again_at=expires,
    )


def _cleaned(case: _Case) -> tuple[list[PartialPod], list[PartialObject]]:
    """Pods and services that are deleted when the job has ended. A pod that still waits for a seat could start
    otherwise."""
    match case.job.policy.clean_pod_policy:
        case "All":
            removed = case.observed.pods
        case "Running":
            removed = [pod for pod in case.observed.pods if not pod.finished]
        case _:
            return [], []
    kept = {pod.metadata.name for pod in case.observed.pods} - {pod.metadata.name for pod in removed}
    return removed, [service for service in case.observed.services if service.metadata.name not in kept]


def _pod_deletions(pods: Iterable[PartialPod]) -> tuple[DeleteChild, ...]:
    staying = {pod.metadata.uid: pod.metadata.name for pod in pods if not pod.metadata.leaving}
    return tuple(DeleteChild(PODS, name, uid, POD_DELETED) for uid, name in staying.items())


def _service_deletions(services: Iterable[PartialObject]) -> tuple[DeleteChild, ...]:
    staying = [service.metadata for service in services if not service.metadata.leaving]
    return tuple(DeleteChild(SERVICES, meta.name, meta.uid, SERVICE_DELETED) for meta in staying)
