"""A JobSet, its Jobs and its Service, into what is to be done next."""

from collections.abc import Mapping, Sequence

import msgspec

from understudy.kinds.children.actions import (
    NO_ACTIONS,
    ChildActions,
    CreateChild,
    DeleteChild,
    Document,
    EventNote,
    ObservedChildren,
    PatchChild,
)
from understudy.kinds.children.jobset.jobs import ChildJobSlot, JobMaker, service
from understudy.kinds.children.jobset.policies import JobSetCompleted, JobSetFailed, JobSetRestart, verdict_of
from understudy.kinds.children.jobset.spec import OWN_CONTROLLER, JobSetObject, ReplicatedJob
from understudy.kinds.children.jobset.state import (
    JobSetState,
    finished,
    jobset_state,
    ready,
    replicated_job_counts,
    succeeded,
)
from understudy.kinds.children.jobset.volume_claims import claims, problem_of
from understudy.kinds.children.partial_objects import PartialJob, find_condition, whole_seconds, with_condition
from understudy.kinds.end_conditions import JOBSET_ENDS
from understudy.kinds.pod_labels import JOB_INDEX, REPLICATED_JOB
from understudy.objects.meta import has_condition, seconds
from understudy.objects.resources import JOBS

IN_PROGRESS, COMPLETED = "StartupPolicyInProgress", "StartupPolicyCompleted"

# The fields of a pod template that say where its pods may run; they may change while a Job is suspended.
_MAPS = (("metadata", "labels"), ("metadata", "annotations"), ("spec", "nodeSelector"))
_LISTS = ("tolerations", "schedulingGates")


def reconcile(document: Document, observed: ObservedChildren, now: float) -> ChildActions:
    jobset = msgspec.convert(document, JobSetObject)
    if jobset.spec.managed_by not in ("", OWN_CONTROLLER) or jobset.metadata.leaving:
        return NO_ACTIONS
    state = jobset_state(jobset, observed.jobs)
    status: Document = {
        **(document.get("status") or {}),
        "replicatedJobsStatus": replicated_job_counts(jobset, state),
    }
    status.setdefault("restarts", 0)
    if jobset.finished:
        return _after_the_end(jobset, state, status, now)
    wrong = problem_of(document)
    verdict = JobSetFailed("InvalidSpec", wrong) if wrong else verdict_of(jobset, state)
    if isinstance(verdict, JobSetCompleted | JobSetFailed):
        return _ended(state, status, verdict, now)
    if isinstance(verdict, JobSetRestart):
        return _restarted(jobset, status, verdict)
    status = _with_startup(jobset, state, status, now)
    return _while_running(jobset, document, observed, state, _with_suspension(jobset, status, now))


def _after_the_end(jobset: JobSetObject, state: JobSetState, status: Document, now: float) -> ChildActions:
    """Jobs that still run are deleted. Another client may have ended the JobSet and set only the condition."""
    ends = JOBSET_ENDS.recorded(jobset.status.conditions)
    status.setdefault("terminalState", ends[0].type)
    ended = max((seconds(c.last_transition_time) or now for c in ends), default=now)
    ttl = jobset.spec.ttl_seconds_after_finished
    expires = None if ttl is None else ended + ttl
    return ChildActions(
        status=status,
        deletes=_deleted([job for job in state.current.values() if not finished(job)]) + _deleted(state.stale),
        expired=expires is not None and now >= expires,
        again_at=expires,
    )


def _ended(state: JobSetState, status: Document, verdict: JobSetCompleted | JobSetFailed, now: float) -> ChildActions:
    kind = "Completed" if isinstance(verdict, JobSetCompleted) else "Failed"
    note = EventNote(verdict.reason, verdict.message, "Normal" if kind == "Completed" else "Warning")
    status["conditions"] = with_condition(status.get("conditions") or [], _condition(kind, note, now))
    status["terminalState"] = kind
    return ChildActions(status=status, deletes=_deleted(state.stale), notes=(note,))


def _restarted(jobset: JobSetObject, status: Document, verdict: JobSetRestart) -> ChildActions:
    """Only the record changes: by it the Jobs that are there belong to an earlier attempt from now on."""
    if verdict.job is not None:
        _count_restart_alone(jobset, status, verdict.job, verdict.counts)
        words = f"restarting job {verdict.job.metadata.name}"
    else:
        status["restarts"] = jobset.status.restarts + 1
        words = f"restarting jobset, attempt {status['restarts']}"
        if verdict.counts:
            status["restartsCountTowardsMax"] = jobset.status.restarts_count_towards_max + 1
    return ChildActions(status=status, notes=(EventNote("Restarting", words, "Warning"),))


def _count_restart_alone(jobset: JobSetObject, status: Document, job: PartialJob, counts: bool) -> None:
    labels = job.metadata.labels
    group = next(each for each in jobset.spec.replicated_jobs if each.name == labels[REPLICATED_JOB])
    counts_of_group = next(each for each in status["replicatedJobsStatus"] if each["name"] == group.name)
    for name in ("jobRestarts", *(["jobRestartsCountTowardsMax"] if counts else ())):
        figures = [*counts_of_group.get(name, ()), *[0] * group.replicas][: group.replicas]
        figures[int(labels[JOB_INDEX])] += 1
        counts_of_group[name] = figures


class _Suspension(msgspec.Struct, frozen=True):
    status: Document
    notes: tuple[EventNote, ...] = ()


def _with_suspension(jobset: JobSetObject, status: Document, now: float) -> _Suspension:
    old = find_condition(jobset.status.conditions, "Suspended")
    was = old is not None and old.status == "True"
    if jobset.spec.suspend == was:
        return _Suspension(status)
    if jobset.spec.suspend:
        note, value = EventNote("SuspendedJobs", "jobset is suspended"), "True"
    else:
        note, value = EventNote("ResumeJobs", "jobset is resumed"), "False"
    conditions = with_condition(status.get("conditions") or [], _condition("Suspended", note, now, value))
    return _Suspension({**status, "conditions": conditions}, (note,))


def _with_startup(jobset: JobSetObject, state: JobSetState, status: Document, now: float) -> Document:
    """Where groups start in order, how far that has come. Once it is completed it stays so."""
    if jobset.spec.startup_policy.startup_policy_order != "InOrder" or jobset.spec.suspend:
        return status
    if has_condition(jobset.status.conditions, COMPLETED):
        return status
    conditions = status.get("conditions") or []
    if not all(_has_come(jobset, state, group, completely=False) for group in jobset.spec.replicated_jobs):
        if not has_condition(jobset.status.conditions, IN_PROGRESS):
            note = EventNote(IN_PROGRESS, "startup policy is in progress")
            conditions = with_condition(conditions, _condition(IN_PROGRESS, note, now))
        return {**status, "conditions": conditions}
    note = EventNote(COMPLETED, "all replicated jobs have started")
    conditions = with_condition(conditions, _condition(IN_PROGRESS, note, now, "False"))
    return {**status, "conditions": with_condition(conditions, _condition(COMPLETED, note, now))}


def _while_running(
    jobset: JobSetObject, document: Document, observed: ObservedChildren, state: JobSetState, suspension: _Suspension
) -> ChildActions:
    services = {each.metadata.name for each in observed.services}
    creates: list[CreateChild] = []
    if jobset.subdomain and jobset.subdomain not in services:
        creates.append(service(jobset))
    maker = JobMaker(jobset, document)
    jobs = [maker.job(place) for place in state.missing if _may_start(jobset, state, place)]
    creates += [*(claims(jobset, document) if jobs else ()), *jobs]
    return ChildActions(
        status=suspension.status,
        patches=_switched(jobset, document, state),
        deletes=_deleted(state.stale),
        creates=tuple(creates),
        notes=suspension.notes,
    )


def _switched(jobset: JobSetObject, document: Document, state: JobSetState) -> tuple[PatchChild, ...]:
    """Patches that pause the JobSet's Jobs when the JobSet is suspended. Once it is resumed, each Job is resumed as
    soon as it is its turn."""
    patches: list[PatchChild] = []
    for group, written in zip(jobset.spec.replicated_jobs, document["spec"].get("replicatedJobs", ()), strict=True):
        if not jobset.spec.suspend and not _in_turn(jobset, state, group):
            continue
        template = written["template"]["spec"].get("template") or {}
        patches += [
            _paused(job) if jobset.spec.suspend else _resumed(job, template)
            for job in state.of(jobset, group)
            if not finished(job) and job.spec.suspend != jobset.spec.suspend
        ]
    return tuple(patches)


def _resumed(job: PartialJob, template: Document) -> PatchChild:
    """The next step by which a suspended Job goes on. The template of a Job that has run before may change only once
    its startTime is removed, as JobSet's own controller does it.

    Clients such as Kueue change the templates of a suspended JobSet together with the patch that resumes it."""
    about: Document = {"uid": job.metadata.uid}
    change = _template_change(job, template)
    if change and job.status.start_time is not None:
        return PatchChild(JOBS, job.metadata.name, {"metadata": about, "status": {"startTime": None}}, sub="status")
    spec: Document = {"suspend": False, **({"template": change} if change else {})}
    return PatchChild(JOBS, job.metadata.name, {"metadata": about, "spec": spec})


def _template_change(job: PartialJob, template: Document) -> Document:
    """A merge patch. What others have added to the Job stays."""
    current = job.spec.template
    change: Document = {}
    for part, name in _MAPS:
        wanted: Mapping[str, str] = (template.get(part) or {}).get(name) or {}
        before: Mapping[str, str] = (current.get(part) or {}).get(name) or {}
        if new := {key: value for key, value in wanted.items() if before.get(key) != value}:
            change.setdefault(part, {})[name] = new
    for name in _LISTS:
        listed: Sequence[Document] = (template.get("spec") or {}).get(name) or ()
        there: Sequence[Document] = (current.get("spec") or {}).get(name) or ()
        if added := [item for item in listed if item not in there]:
            change.setdefault("spec", {})[name] = [*there, *added]
    return change


def _paused(job: PartialJob) -> PatchChild:
    return PatchChild(JOBS, job.metadata.name, {"metadata": {"uid": job.metadata.uid}, "spec": {"suspend": True}})


def _may_start(jobset: JobSetObject, state: JobSetState, place: ChildJobSlot) -> bool:
    policy = jobset.spec.failure_policy
    if policy is not None and policy.restart_strategy == "BlockingRecreate" and state.stale:
        return False
    return jobset.spec.suspend or _in_turn(jobset, state, place.group)


def _in_turn(jobset: JobSetObject, state: JobSetState, group: ReplicatedJob) -> bool:
    """Whether all that has to come before this group has come."""
    by_name = {each.name: each for each in jobset.spec.replicated_jobs}
    for needed in group.depends_on:
        if not _has_come(jobset, state, by_name[needed.name], completely=needed.status == "Complete"):
            return False
    if jobset.spec.startup_policy.startup_policy_order != "InOrder":
        return True
    position = jobset.spec.replicated_jobs.index(group)
    before = jobset.spec.replicated_jobs[:position]
    return all(_has_come(jobset, state, each, completely=False) for each in before)


def _has_come(jobset: JobSetObject, state: JobSetState, group: ReplicatedJob, completely: bool) -> bool:
    jobs = state.of(jobset, group)
    come = sum(succeeded(job) or (not completely and ready(job, group)) for job in jobs)
    return come >= group.replicas


def _deleted(jobs: tuple[PartialJob, ...] | list[PartialJob]) -> tuple[DeleteChild, ...]:
    """In the foreground: a name is free again only when the pods are gone as well."""
    return tuple(
        DeleteChild(JOBS, job.metadata.name, job.metadata.uid, propagation="Foreground")
        for job in jobs
        if not job.metadata.leaving
    )


def _condition(kind: str, why: EventNote, now: float, value: str = "True") -> Document:
    return {
        "type": kind,
        "status": value,
        "lastTransitionTime": whole_seconds(now),
        "reason": why.reason,
        "message": why.message,
    }
