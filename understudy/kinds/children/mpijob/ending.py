"""When an MPIJob has ended, and why: its result is that of its launcher."""

import msgspec

from understudy.kinds.children.mpijob.spec import SECOND, MPIJobModel
from understudy.kinds.children.mpijob.state import (
    MPIJobState,
    failed_condition,
    fatal_worker,
    is_excused,
    is_retried,
    launcher_failures,
)
from understudy.kinds.children.partial_objects import PartialJob, PartialPod
from understudy.objects.meta import has_condition, seconds

LONGEST_NAME = 63  # of a host, and in a label


class MPIJobEnd(msgspec.Struct, frozen=True):
    type: str  # Succeeded or Failed
    reason: str
    message: str

    @property
    def note_type(self) -> str:
        return "Normal" if self.type == "Succeeded" else "Warning"


def find_end(job: MPIJobModel, state: MPIJobState, now: float) -> MPIJobEnd | None:
    """None: it goes on. A suspended job ends only if its launcher has ended."""
    if problem := _problem(job):
        return _failed(f"MPIJob failed validation: {problem}", "MPIJobFailedValidation")
    due = deadline(job)
    if due is not None and now >= due and not job.policy.suspend:
        return _failed(f"MPIJob {job.title} has failed because it was active longer than specified deadline")
    ending = _as_launcher(job, state)
    return ending if ending is not None or job.policy.suspend else _as_workers(job, state)


def _problem(job: MPIJobModel) -> str:
    """What no schema sees; '' where there is nothing."""
    longest = max(job.launcher_name, job.worker_name(max(job.workers - 1, 0)), key=len)
    room = LONGEST_NAME - (len(longest) - len(job.name))
    if len(longest) > LONGEST_NAME:
        return f"metadata.name is too long: its pods are named like {longest}; use {room} characters at most"
    return job.policy.too_many_available(job.workers + (job.launcher is not None))


def deadline(job: MPIJobModel) -> float | None:
    """Of the second version; the others leave it to the Job of the launcher."""
    allowed, started = job.policy.active_deadline_seconds, seconds(job.status.start_time)
    if job.version != SECOND or allowed is None or started is None or has_condition(job.status.conditions, "Suspended"):
        return None
    return started + allowed


def _as_launcher(job: MPIJobModel, state: MPIJobState) -> MPIJobEnd | None:
    if state.job is not None:
        return _as_job(job, state.job)
    return _as_pod(job, state.pod) if state.pod is not None else None


def _as_job(job: MPIJobModel, made: PartialJob) -> MPIJobEnd | None:
    if has_condition(made.status.conditions, "Complete"):
        return _succeeded(job)
    if (why := failed_condition(made)) is None:
        return None
    return _failed(f"MPIJob {job.title} has failed: {why.message or why.reason}", why.reason)


def _as_pod(job: MPIJobModel, pod: PartialPod) -> MPIJobEnd | None:
    if pod.status.phase == "Succeeded":
        return _succeeded(job)
    if pod.status.phase != "Failed" or pod.metadata.leaving or is_excused(pod):
        return None
    limit = job.policy.backoff_limit
    if is_retried(job.launcher_restarts, pod):
        if limit is None or launcher_failures(job, pod) <= limit:
            return None
        return _failed(f"MPIJob {job.title} has failed because it has reached the specified backoff limit")
    return _failed(f"MPIJob {job.title} has failed because 1 Launcher replica(s) failed.", _reason(pod))


def _as_workers(job: MPIJobModel, state: MPIJobState) -> MPIJobEnd | None:
    worker = fatal_worker(job, state)
    if worker is None:
        return None
    return _failed(f"MPIJob {job.title} has failed because worker {worker.metadata.name} failed.", _reason(worker))


def _reason(pod: PartialPod) -> str:
    return "MPIJobEvicted" if pod.status.reason == "Evicted" else "MPIJobFailed"


def _succeeded(job: MPIJobModel) -> MPIJobEnd:
    return MPIJobEnd("Succeeded", "MPIJobSucceeded", f"MPIJob {job.title} successfully completed.")


def _failed(message: str, reason: str = "") -> MPIJobEnd:
    return MPIJobEnd("Failed", reason or "MPIJobFailed", message)
