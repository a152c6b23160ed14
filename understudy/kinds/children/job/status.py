"""A Job's status as it should be, and what there is to tell about the change."""

from typing import NamedTuple

from understudy.kinds.children.job.counting import Tally
from understudy.kinds.children.job.endings import Ending
from understudy.kinds.children.job.objects import JobObject
from understudy.kinds.children.seen import condition_of, with_condition, written
from understudy.kinds.children.wanted import Document, Note
from understudy.kinds.indexes import write_indexes


class Report(NamedTuple):
    status: Document
    notes: tuple[Note, ...] = ()


def running_status(job: JobObject, old: Document, tally: Tally, now: float) -> Report:
    """Of a Job that goes on, or stands back."""
    status = _with_figures(job, old, tally)
    suspended = condition_of(job.status.conditions, "Suspended")
    was_suspended = suspended is not None and suspended.status == "True"
    notes: tuple[Note, ...] = ()
    if job.spec.suspend and not was_suspended:
        _set_condition(status, "Suspended", Note("JobSuspended", "Job suspended"), now)
        notes = (Note("Suspended", "Job suspended"),)
    elif was_suspended and not job.spec.suspend:
        _set_condition(status, "Suspended", Note("JobResumed", "Job resumed"), now, value="False")
        notes = (Note("Resumed", "Job resumed"),)
    if not job.spec.suspend and (was_suspended or job.status.start_time is None):
        status["startTime"] = written(now)  # anew after every pause: deadlines do not run while it stands back
    return Report(status, notes)


def ending_status(job: JobObject, old: Document, tally: Tally, ending: Ending, now: float) -> Report:
    """Of a Job whose end is in sight. It is sealed once every pod is gone or finished, and every figure is final."""
    status = _with_figures(job, old, tally)
    status.setdefault("startTime", written(now))
    if condition_of(job.status.conditions, ending.announced_as) is None:
        _set_condition(status, ending.announced_as, Note(ending.reason, ending.message), now)
    if not tally.settled:
        return Report(status)
    _set_condition(status, ending.sealed_as, Note(ending.reason, ending.message), now)
    if ending.success:
        status["completionTime"] = written(now)
        return Report(status, (Note("Completed", "Job completed"),))
    return Report(status, (Note(ending.reason, ending.message, "Warning"),))


def _with_figures(job: JobObject, old: Document, tally: Tally) -> Document:
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
            status["completedIndexes"] = write_indexes(tally.done)
    if job.spec.backoff_limit_per_index is not None:
        status["failedIndexes"] = write_indexes(tally.failed_indexes)
    return status


def _set_condition(status: Document, kind: str, why: Note, now: float, value: str = "True") -> None:
    moment = written(now)
    condition = {
        "type": kind,
        "status": value,
        "lastProbeTime": moment,
        "lastTransitionTime": moment,
        "reason": why.reason,
        "message": why.message,
    }
    status["conditions"] = with_condition(status.get("conditions") or [], condition)
