"""The desired status of a Job, and the events about its change."""

from typing import NamedTuple

from understudy.kinds.children.actions import Document, EventNote
from understudy.kinds.children.job.ending import JobEnd
from understudy.kinds.children.job.pod_counts import PodCounts
from understudy.kinds.children.job.spec import JobObject
from understudy.kinds.children.partial_objects import find_condition, whole_seconds, with_condition
from understudy.kinds.completion_indexes import format_indexes


class JobStatusUpdate(NamedTuple):
    status: Document
    notes: tuple[EventNote, ...] = ()


def running_status(job: JobObject, old: Document, tally: PodCounts, now: float) -> JobStatusUpdate:
    """For a Job that runs or is suspended."""
    status = _with_figures(job, old, tally)
    suspended = find_condition(job.status.conditions, "Suspended")
    was_suspended = suspended is not None and suspended.status == "True"
    notes: tuple[EventNote, ...] = ()
    if job.spec.suspend and not was_suspended:
        _set_condition(status, "Suspended", EventNote("JobSuspended", "Job suspended"), now)
        notes = (EventNote("Suspended", "Job suspended"),)
    elif was_suspended and not job.spec.suspend:
        _set_condition(status, "Suspended", EventNote("JobResumed", "Job resumed"), now, value="False")
        notes = (EventNote("Resumed", "Job resumed"),)
    if not job.spec.suspend and (was_suspended or job.status.start_time is None):
        # set again after every pause: deadlines do not run while the Job is suspended
        status["startTime"] = whole_seconds(now)
    return JobStatusUpdate(status, notes)


def ending_status(job: JobObject, old: Document, tally: PodCounts, ending: JobEnd, now: float) -> JobStatusUpdate:
    """For a Job that is about to end. The end is recorded once every pod is gone or finished and all counts are
    final."""
    status = _with_figures(job, old, tally)
    status.setdefault("startTime", whole_seconds(now))
    if find_condition(job.status.conditions, ending.announced_as) is None:
        _set_condition(status, ending.announced_as, EventNote(ending.reason, ending.message), now)
    if not tally.settled:
        return JobStatusUpdate(status)
    _set_condition(status, ending.recorded_as, EventNote(ending.reason, ending.message), now)
    if ending.success:
        status["completionTime"] = whole_seconds(now)
        return JobStatusUpdate(status, (EventNote("Completed", "Job completed"),))
    return JobStatusUpdate(status, (EventNote(ending.reason, ending.message, "Warning"),))


def _with_figures(job: JobObject, old: Document, tally: PodCounts) -> Document:
    status = dict(old)
    for field, count in (
        ("active", len(tally.active)),
        ("succeeded", tally.succeeded),
        ("failed", tally.failed),
    ):
        status.pop(field, None)
        if count:
            status[field] = count
    status["ready"] = sum(pod.ready for pod in tally.active)
    status["terminating"] = tally.terminating
    lists = {"succeeded": tally.uncounted_succeeded, "failed": tally.uncounted_failed}
    status["uncountedTerminatedPods"] = {key: list(uids) for key, uids in lists.items() if uids}
    if job.indexed:
        status.pop("completedIndexes", None)
        if tally.done:
            status["completedIndexes"] = format_indexes(tally.done)
    if job.spec.backoff_limit_per_index is not None:
        status["failedIndexes"] = format_indexes(tally.failed_indexes)
    return status


def _set_condition(status: Document, kind: str, why: EventNote, now: float, value: str = "True") -> None:
    moment = whole_seconds(now)
    condition = {
        "type": kind,
        "status": value,
        "lastProbeTime": moment,
        "lastTransitionTime": moment,
        "reason": why.reason,
        "message": why.message,
    }
    status["conditions"] = with_condition(status.get("conditions") or [], condition)
