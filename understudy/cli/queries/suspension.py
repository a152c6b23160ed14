"""Whether a job runs, is suspended or has ended, and the patches that suspend and resume it."""

import enum
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from understudy.cli.errors import BadInput
from understudy.cli.queries.job_objects import JobObject
from understudy.cli.queries.pod_watch import Pods
from understudy.kinds import kueue
from understudy.kinds.annotations import HOLDS, REQUEUED_AT
from understudy.kinds.context import Context
from understudy.kinds.job_control import JobControl, MergePatch, suspend_patch
from understudy.kinds.job_kind import conditions_in
from understudy.kinds.registry import KINDS, control_of
from understudy.objects.jobs import TrainJob
from understudy.objects.meta import seconds


class SuspendState(enum.Enum):
    ACTIVE = "active"
    SUSPENDED = "suspended"  # by a person
    REQUEUED = "requeued"  # by Understudy: it comes back by itself
    ENDED = "ended"


def suspend_state(job: JobObject) -> SuspendState:
    if KINDS[job.resource.kind].is_ending(job.document):
        return SuspendState.ENDED
    if not _is_paused(job.document, _control_of(job)):
        return SuspendState.ACTIVE
    notes = job.document["metadata"].get("annotations") or {}
    return SuspendState.REQUEUED if notes.get(REQUEUED_AT) else SuspendState.SUSPENDED


def suspension_patch(job: JobObject) -> MergePatch:
    """A merge patch: the owner suspends the job, and the seats that were held for it are released."""
    notes: dict[str, None] = {REQUEUED_AT: None, HOLDS: None}
    return {**suspend_patch(_control_of(job), True), "metadata": {"uid": job.uid, "annotations": notes}}


def resumption_patch(job: JobObject) -> MergePatch:
    return {**suspend_patch(_control_of(job), False), "metadata": {"uid": job.uid}}


def _control_of(job: JobObject) -> JobControl:
    typed = job.typed()
    if kueue.manages_suspend(typed.metadata):
        raise BadInput(
            f"{job.title} is queued by Kueue, which suspends and resumes it itself, and would undo this; "
            f"set spec.active of its Workload instead (`kubectl get workloads -n {job.namespace}` shows it)"
        )
    control = control_of(typed)
    if not control.pause:
        raise BadInput(
            f"{job.title} cannot be suspended: the {job.resource.kind} of {job.resource.group}/v1alpha1 has no field"
            f" for that; delete it, or submit it as {job.resource.group}/v2beta1"
        )
    return control


def _is_paused(document: Mapping[str, Any], control: JobControl) -> bool:
    value: Any = document
    for field in control.pause:
        value = value.get(field) if isinstance(value, Mapping) else None
    return value is True


def all_pods_run(job: JobObject, pods: Pods) -> bool:
    """Whether the minimum of pods runs and none waits. Terminating pods do not count."""
    staying = [pod for pod in pods.values() if pod.metadata.deletion_timestamp is None]
    running = sum(pod.status.phase in ("Running", "Succeeded") for pod in staying)
    return running == len(staying) and running >= _least(job)


def _least(job: JobObject) -> int:
    """The minimum number of pods. That of a TrainJob depends on its runtime, so 1 is assumed."""
    typed = job.typed()
    if isinstance(typed, TrainJob):
        return 1
    outline = KINDS[typed.kind].outline(typed, Context(), ())
    every = sum(len(role.names) for role in outline.roles)
    return every if outline.minimum is None else min(outline.minimum, every)


def ended_at(kind: str, document: dict[str, Any]) -> float | None:
    """The time at which the job ended, in seconds since 1970; None if it has not. A status without any time counts as
    old as the object."""
    if not KINDS[kind].has_ended(document):
        return None
    status = document.get("status") or {}
    end = KINDS[kind].ends.condition(conditions_in(status))
    since = seconds(end.last_transition_time) if end is not None else None
    return _first_time([status.get("completionTime")]) or since or _first_time([_created(document)])


def _created(document: dict[str, Any]) -> str | None:
    created: str | None = document["metadata"].get("creationTimestamp")
    return created


def _first_time(times: Iterable[str | None]) -> float | None:
    for text in times:
        if text:
            return datetime.fromisoformat(text).timestamp()
    return None
