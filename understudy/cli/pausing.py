"""How a job stands between running and paused, and the one patch that takes it where its owner wants it.

Understudy pauses jobs as well, when it preempts them, and marks those as queued again: it resumes them when they fit. A
person's suspend takes that mark away, so that nobody but a person lets the job go on.
"""

import enum
from collections.abc import Mapping
from typing import Any

from understudy.cli.awaiting import Pods
from understudy.cli.complaint import BadInput
from understudy.cli.ending import ended_at
from understudy.cli.finding import Found
from understudy.kinds import kueue
from understudy.kinds.annotations import HOLDS, REQUEUED_AT
from understudy.kinds.context import Context
from understudy.kinds.job_control import JobControl, MergePatch, suspend_patch
from understudy.kinds.registry import KINDS, control_of
from understudy.objects.jobs import TrainJob


class Stand(enum.Enum):
    ACTIVE = "active"
    SUSPENDED = "suspended"  # by a person
    REQUEUED = "requeued"  # by Understudy: it comes back by itself
    ENDED = "ended"


def stand_of(job: Found) -> Stand:
    if ended_at(job.document) is not None:
        return Stand.ENDED
    if not _is_paused(job.document, _lever(job)):
        return Stand.ACTIVE
    notes = job.document["metadata"].get("annotations") or {}
    return Stand.REQUEUED if notes.get(REQUEUED_AT) else Stand.SUSPENDED


def suspension(job: Found) -> MergePatch:
    """A merge patch: paused, by its owner; seats that were held for it are nobody's business any more."""
    notes: dict[str, None] = {REQUEUED_AT: None, HOLDS: None}
    return {**suspend_patch(_lever(job), True), "metadata": {"uid": job.uid, "annotations": notes}}


def resumption(job: Found) -> MergePatch:
    return {**suspend_patch(_lever(job), False), "metadata": {"uid": job.uid}}


def _lever(job: Found) -> JobControl:
    typed = job.typed()
    if kueue.manages_suspend(typed.metadata):
        raise BadInput(
            f"{job.title} is queued by Kueue, which suspends and resumes it itself, and would undo this; "
            f"set spec.active of its Workload instead (`kubectl get workloads -n {job.namespace}` shows it)"
        )
    lever = control_of(typed)
    if not lever.pause:
        raise BadInput(
            f"{job.title} cannot be suspended: the {job.resource.kind} of {job.resource.group}/v1alpha1 has no field"
            f" for that; delete it, or submit it as {job.resource.group}/v2beta1"
        )
    return lever


def _is_paused(document: Mapping[str, Any], lever: JobControl) -> bool:
    value: Any = document
    for field in lever.pause:
        value = value.get(field) if isinstance(value, Mapping) else None
    return value is True


def all_run(job: Found, pods: Pods) -> bool:
    """Whether as many pods run as the job cannot do without, and none waits. Those on their way out do not count."""
    staying = [pod for pod in pods.values() if pod.metadata.deletion_timestamp is None]
    running = sum(pod.status.phase in ("Running", "Succeeded") for pod in staying)
    return running == len(staying) and running >= _least(job)


def _least(job: Found) -> int:
    """How many pods a TrainJob has only its runtime knows; one it has in any case."""
    typed = job.typed()
    if isinstance(typed, TrainJob):
        return 1
    outline = KINDS[typed.kind](typed, Context(), ())
    every = sum(len(role.names) for role in outline.roles)
    return every if outline.minimum is None else min(outline.minimum, every)
