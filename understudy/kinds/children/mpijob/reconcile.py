"""An MPIJob, its launcher and its workers, into what is to be done next."""

from typing import NamedTuple

from understudy.kinds.children.actions import (
    NO_ACTIONS,
    ChildActions,
    CreateChild,
    DeleteChild,
    Document,
    EventNote,
    ObservedChildren,
    PatchChild,
    earliest,
)
from understudy.kinds.children.mpijob import status
from understudy.kinds.children.mpijob.config import config_map, correction, service
from understudy.kinds.children.mpijob.ending import MPIJobEnd, deadline, find_end
from understudy.kinds.children.mpijob.pods import launcher_job, launcher_pod, worker
from understudy.kinds.children.mpijob.spec import OWN_CONTROLLERS, THIRD, MPIJobModel, read
from understudy.kinds.children.mpijob.state import (
    MPIJobState,
    is_excused,
    is_job_ended,
    launcher_failures,
    mpijob_state,
    next_try,
    replaceable_workers,
)
from understudy.kinds.children.mpijob.status import MPIJobStatusWriter, mpi_condition
from understudy.kinds.children.partial_objects import PartialJob, PartialPod
from understudy.objects.meta import has_condition, seconds
from understudy.objects.resources import JOBS, PODS

POD_DELETED = EventNote("SuccessfulDeletePod", "Deleted pod: {name}")
SETTLING = 2.0  # seconds after which a launcher that rests is taken to do so for a while
LAST_WORDS = 30.0  # seconds a launcher has to end by itself once its job was made to fail


def reconcile(document: Document, observed: ObservedChildren, now: float) -> ChildActions:
    job = read(document)
    if job.policy.managed_by not in OWN_CONTROLLERS or job.metadata.leaving:
        return NO_ACTIONS
    case = _Case(job, mpijob_state(job, observed), now)
    report = MPIJobStatusWriter(job, document.get("status") or {}, case.state, now)
    if job.finished:
        return _after_the_end(case, report)
    status.report_created(job, report)
    ending = find_end(job, case.state, now)
    if ending is not None:
        return _ended(report, ending)
    return _while_suspended(case, report) if job.policy.suspend else _while_running(case, report)


class _Case(NamedTuple):
    job: MPIJobModel
    state: MPIJobState
    now: float


# The end


def _ended(report: MPIJobStatusWriter, ending: MPIJobEnd) -> ChildActions:
    """Only the record changes: by it the workers are sent home at the next look."""
    report.launcher_is(ending.type)
    report.launcher_rests(None)
    report.say(mpi_condition(ending.type, ending.message, reason=ending.reason))
    report.complete()
    notes = tuple(report.notes) or (EventNote(ending.reason, ending.message, ending.note_type),)
    return ChildActions(status=report.status, notes=notes)


def _after_the_end(case: _Case, report: MPIJobStatusWriter) -> ChildActions:
    """A client may have ended the job. Its launcher gets the time to end as launchers do whose workers are gone, so
    that its exit code is kept; then nothing makes another."""
    job = case.job
    report.stop_running()
    report.complete()
    ended = seconds(job.status.completion_time) or case.now
    due = ended + LAST_WORDS
    ttl = None if job.version == THIRD else job.policy.ttl_seconds_after_finished
    expires = None if ttl is None else ended + ttl
    return ChildActions(
        status=report.status,
        patches=_stopped_job(case, due),
        deletes=_pod_deletions([*_late_launcher(case, due), *_cleaned(case)]),
        expired=expires is not None and case.now >= expires,
        again_at=earliest(expires, due if case.now < due else None),
    )


def _stopped_job(case: _Case, due: float) -> tuple[PatchChild, ...]:
    made = case.state.job
    if made is None or not _is_to_switch(made, True):
        return ()
    return (_switched(made, True),) if made.status.active == 0 or case.now >= due else ()


def _late_launcher(case: _Case, due: float) -> list[PartialPod]:
    pod = case.state.pod
    return [pod] if pod is not None and pod.active and case.now >= due else []


def _cleaned(case: _Case) -> list[PartialPod]:
    """Workers alone: the launcher has the log of the job."""
    match case.job.policy.clean_pod_policy:
        case "All":
            return [*case.state.present, *case.state.surplus]
        case "Running":
            return [pod for pod in (*case.state.present, *case.state.surplus) if not pod.finished]
    return []


# Before the end


def _while_suspended(case: _Case, report: MPIJobStatusWriter) -> ChildActions:
    """A suspended job keeps no pods. Its launcher pauses first, so that it is not blamed for what happens to it."""
    status.report_suspended(case.job, report)
    made, state = case.state.job, case.state
    pods = [*state.present, *state.surplus, *([state.pod] if state.pod else [])]
    return ChildActions(
        status=report.status,
        patches=(_switched(made, True),) if made is not None and _is_to_switch(made, True) else (),
        deletes=_pod_deletions([pod for pod in pods if not pod.finished or pod is state.pod]),
        notes=tuple(report.notes),
    )


def _while_running(case: _Case, report: MPIJobStatusWriter) -> ChildActions:
    job, state = case.job, case.state
    status.report_running(job, state, report)
    _count_failure(case, report)
    creates = [*_surroundings(case), *_workers(case)]
    launcher, again_at = _launcher(case)
    fixed = correction(job, state.config) if state.config is not None else None
    since = _rests_since(case)
    report.launcher_rests(since)
    paused = _has_to_wait(case, since)
    switched = [_switched(state.job, paused)] if state.job and _is_to_switch(state.job, paused) else []
    return ChildActions(
        status=report.status,
        patches=(*([fixed] if fixed else ()), *switched),
        deletes=_pod_deletions([*replaceable_workers(job, state), *state.surplus, *_failed_launcher(case)]),
        creates=(*creates, *launcher),
        notes=tuple(report.notes),
        again_at=earliest(again_at, deadline(job), _settled_at(case, since)),
    )


def _surroundings(case: _Case) -> list[CreateChild]:
    found = [config_map(case.job)] if case.state.config is None else []
    if case.job.version == THIRD and case.state.service is None:
        found.append(service(case.job))
    return found


def _workers(case: _Case) -> list[CreateChild]:
    return [worker(case.job, index) for index, there in enumerate(case.state.workers) if there is None]


def _launcher(case: _Case) -> tuple[list[CreateChild], float | None]:
    """What is to be made now; and when to look again, where a failed one has to wait."""
    job, state = case.job, case.state
    if job.launcher is None:
        return [], None
    if job.has_launcher_job:
        due = state.job is None and (state.complete or not job.waits)
        return [launcher_job(job)] if due else [], None
    if state.pod is None:
        return [] if _has_lost_workers(case) else [launcher_pod(job)], None
    late = state.pod.status.phase == "Failed" and not is_excused(state.pod)
    return [], next_try(job, state.pod) if late else None


def _count_failure(case: _Case, report: MPIJobStatusWriter) -> None:
    """On record before it goes, so that it is counted once."""
    pod = case.state.pod
    if pod is not None and pod.status.phase == "Failed" and not is_excused(pod):
        report.status |= {"restarts": launcher_failures(case.job, pod), "countedPods": [pod.metadata.uid]}


def _failed_launcher(case: _Case) -> list[PartialPod]:
    """A pod that failed, and is to be made again under its name."""
    pod = case.state.pod
    if pod is None or pod.status.phase != "Failed" or pod.metadata.leaving:
        return []
    return [pod] if is_excused(pod) or case.now >= next_try(case.job, pod) else []


def _rests_since(case: _Case) -> float | None:
    """Of a launcher in a Job that has run before."""
    known = case.job.status
    ran = (
        known.launcher_status or known.launcher_rests_since or has_condition(known.conditions, "Running", "Restarting")
    )
    if case.state.job is None or not case.state.launcher_rests or not ran:
        return None
    return seconds(known.launcher_rests_since) or case.now


def _settled_at(case: _Case, since: float | None) -> float | None:
    return None if since is None or case.now >= since + SETTLING else since + SETTLING


def _has_to_wait(case: _Case, since: float | None) -> bool:
    """A launcher that rests is not started while it lacks workers, if it waits for them anyway or has lost them. Its
    Job is given the time to start another by itself, as it does at once for one that was taken from it."""
    made = case.state.job
    lacks = _has_lost_workers(case) or (case.job.waits and not case.state.complete)
    if made is None or not case.state.launcher_rests or not lacks:
        return False
    return made.spec.suspend or (since is not None and case.now >= since + SETTLING)


def _has_lost_workers(case: _Case) -> bool:
    """Whether not all are there any more."""
    return not case.state.complete and has_condition(case.job.status.conditions, "Running", "Restarting")


def _is_to_switch(made: PartialJob, paused: bool) -> bool:
    return not made.metadata.leaving and not is_job_ended(made) and made.spec.suspend != paused


def _switched(made: PartialJob, paused: bool) -> PatchChild:
    return PatchChild(JOBS, made.metadata.name, {"metadata": {"uid": made.metadata.uid}, "spec": {"suspend": paused}})


def _pod_deletions(pods: list[PartialPod]) -> tuple[DeleteChild, ...]:
    return tuple(
        DeleteChild(PODS, pod.metadata.name, pod.metadata.uid, POD_DELETED) for pod in pods if not pod.metadata.leaving
    )
