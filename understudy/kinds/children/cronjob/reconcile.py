"""A batch/v1 CronJob and its Jobs, into what is to be done next: a Job to start, old ones to remove."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from understudy.kinds.children.actions import (
    NO_ACTIONS,
    ChildActions,
    CreateChild,
    DeleteChild,
    Document,
    EventNote,
    ObservedChildren,
    owner_reference,
)
from understudy.kinds.children.cronjob.schedule import parse_schedule, zone_of
from understudy.kinds.children.partial_objects import FullMeta, PartialJob, whole_seconds
from understudy.kinds.end_conditions import JOB_ENDS
from understudy.objects.meta import Part, Time, seconds
from understudy.objects.resources import CRON_JOBS, JOBS

SCHEDULED_AT = "batch.kubernetes.io/cronjob-scheduled-timestamp"
CREATED = EventNote("SuccessfulCreate", "Created job {name}")
DELETED = EventNote("SuccessfulDelete", "Deleted job {name}")
ALREADY_ACTIVE = EventNote(
    "JobAlreadyActive", "Not starting job because prior execution is running and concurrency policy is Forbid"
)


class ActiveJob(Part, frozen=True, gc=False):
    name: str = ""
    uid: str = ""


class CronJobSpec(Part, frozen=True, gc=False):
    schedule: str
    time_zone: str = ""
    concurrency_policy: str = "Allow"
    suspend: bool = False
    starting_deadline_seconds: int | None = None
    successful_jobs_history_limit: int = 3
    failed_jobs_history_limit: int = 1
    job_template: Document = msgspec.field(default_factory=dict)


class CronJobStatus(Part, frozen=True, gc=False):
    active: tuple[ActiveJob, ...] = ()
    last_schedule_time: Time | None = None
    last_successful_time: Time | None = None


class CronJobObject(Part, frozen=True, gc=False):
    metadata: FullMeta
    spec: CronJobSpec
    status: CronJobStatus = CronJobStatus()


class _Case(NamedTuple):
    cron: CronJobObject
    document: Document
    jobs: Sequence[PartialJob]  # the oldest first
    now: float

    @property
    def active(self) -> list[PartialJob]:
        return [job for job in self.jobs if not JOB_ENDS.has_ended(job.status.conditions) and not job.metadata.leaving]

    @property
    def last_scheduled(self) -> float:
        last = self.cron.status.last_schedule_time or self.cron.metadata.creation_timestamp
        return seconds(last) or self.now


def reconcile(document: Document, observed: ObservedChildren, now: float) -> ChildActions:
    cron = msgspec.convert(document, CronJobObject)
    if cron.metadata.leaving:
        return NO_ACTIONS
    case = _Case(cron, document, sorted(observed.jobs, key=_created), now)
    if cron.spec.suspend:
        return _tidy(case)
    try:
        schedule, zone = parse_schedule(cron.spec.schedule), zone_of(cron.spec.time_zone)
    except ValueError as error:  # stored before, on a machine with other time zones
        return msgspec.structs.replace(_tidy(case), notes=(EventNote("UnparseableSchedule", str(error), "Warning"),))
    due = schedule.latest(case.last_scheduled, now, zone)
    allowed = cron.spec.starting_deadline_seconds
    in_time = due is not None and (allowed is None or now - due <= allowed)
    actions = _start(case, due) if due is not None and in_time else _tidy(case)
    return msgspec.structs.replace(actions, again_at=schedule.after(now, zone))


def _start(case: _Case, due: float) -> ChildActions:
    """The start is on record once its Job is seen. The name of a Job tells which start it is for, so that none is made
    twice."""
    name = f"{case.cron.metadata.name}-{int(due) // 60}"
    if any(job.metadata.name == name for job in case.jobs):
        return _tidy(case, due)
    tidy, active = _tidy(case), case.active
    policy = case.cron.spec.concurrency_policy
    if active and policy == "Forbid":
        return msgspec.structs.replace(tidy, notes=(*tidy.notes, ALREADY_ACTIVE))
    replaced = _deleted(active) if policy == "Replace" else ()
    creates = (CreateChild(JOBS, _job(case, name, due), CREATED),)
    return msgspec.structs.replace(tidy, deletes=(*tidy.deletes, *replaced), creates=creates)


def _job(case: _Case, name: str, due: float) -> Document:
    template = case.cron.spec.job_template
    meta = template.get("metadata") or {}
    owner = owner_reference(CRON_JOBS.api_version, CRON_JOBS.kind, case.cron.metadata)
    metadata = {
        "name": name,
        "namespace": case.cron.metadata.namespace,
        "labels": dict(meta.get("labels") or {}),
        "annotations": {**(meta.get("annotations") or {}), SCHEDULED_AT: whole_seconds(due)},
        "ownerReferences": [owner],
    }
    return {"apiVersion": JOBS.api_version, "kind": JOBS.kind, "metadata": metadata, "spec": template.get("spec") or {}}


def _tidy(case: _Case, scheduled: float | None = None) -> ChildActions:
    """The status, events about ended Jobs, and Jobs beyond the history limits."""
    status = dict(case.document.get("status") or {})
    status["active"] = [_reference(job) for job in case.active]
    if scheduled is not None:
        status["lastScheduleTime"] = whole_seconds(scheduled)
    succeeded = [moment for job in case.jobs if (moment := seconds(job.status.completion_time)) is not None]
    known = seconds(case.cron.status.last_successful_time)
    if succeeded and (known is None or max(succeeded) > known):
        status["lastSuccessfulTime"] = whole_seconds(max(succeeded))
    return ChildActions(status=status, deletes=_beyond_history(case), notes=tuple(_notes_of_ended(case)))


def _reference(job: PartialJob) -> Document:
    meta = job.metadata
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "name": meta.name,
        "namespace": meta.namespace,
        "uid": meta.uid,
    }


def _notes_of_ended(case: _Case) -> Iterator[EventNote]:
    recorded = {active.uid for active in case.cron.status.active}
    for job in case.jobs:
        if job.metadata.uid in recorded and JOB_ENDS.has_ended(job.status.conditions):
            word = "Complete" if JOB_ENDS.has_succeeded(job.status.conditions) else "Failed"
            yield EventNote("SawCompletedJob", f"Saw completed job: {job.metadata.name}, condition: {word}")


def _beyond_history(case: _Case) -> tuple[DeleteChild, ...]:
    ended = [job for job in case.jobs if JOB_ENDS.has_ended(job.status.conditions) and not job.metadata.leaving]
    succeeded = [job for job in ended if JOB_ENDS.has_succeeded(job.status.conditions)]
    failed = [job for job in ended if job not in succeeded]
    spec = case.cron.spec
    surplus = [
        *succeeded[: max(0, len(succeeded) - spec.successful_jobs_history_limit)],
        *failed[: max(0, len(failed) - spec.failed_jobs_history_limit)],
    ]
    return _deleted(surplus)


def _deleted(jobs: Sequence[PartialJob]) -> tuple[DeleteChild, ...]:
    return tuple(DeleteChild(JOBS, job.metadata.name, job.metadata.uid, DELETED) for job in jobs)


def _created(job: PartialJob) -> tuple[float, str]:
    return seconds(job.metadata.creation_timestamp) or 0.0, job.metadata.name
