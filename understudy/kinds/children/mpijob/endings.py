"""When an MPIJob is over, and why: as its launcher ends, so does the job."""

import msgspec

from understudy.kinds.children.mpijob.objects import SECOND, MPIJob
from understudy.kinds.children.mpijob.standing import (
    Standing,
    broken,
    is_retried,
    job_failure,
    not_its_fault,
    tries,
)
from understudy.kinds.children.seen import SeenJob, SeenPod
from understudy.objects.meta import holds, seconds

LONGEST_NAME = 63  # of a host, and in a label


class Ending(msgspec.Struct, frozen=True):
    type: str  # Succeeded or Failed
    reason: str
    message: str

    @property
    def note_type(self) -> str:
        return "Normal" if self.type == "Succeeded" else "Warning"


def ending_of(job: MPIJob, standing: Standing, now: float) -> Ending | None:
    """None: it goes on. Whoever is told to stand back ends only when its launcher already has."""
    if problem := _problem(job):
        return _failed(f"MPIJob failed validation: {problem}", "MPIJobFailedValidation")
    due = deadline(job)
    if due is not None and now >= due and not job.policy.suspend:
        return _failed(f"MPIJob {job.title} has failed because it was active longer than specified deadline")
    ending = _as_launcher(job, standing)
    return ending if ending is not None or job.policy.suspend else _as_workers(job, standing)


def _problem(job: MPIJob) -> str:
    """What no schema sees; '' where there is nothing."""
    longest = max(job.launcher_name, job.worker_name(max(job.workers - 1, 0)), key=len)
    room = LONGEST_NAME - (len(longest) - len(job.name))
    if len(longest) > LONGEST_NAME:
        return f"metadata.name is too long: its pods are named like {longest}; use {room} characters at most"
    return ""


def deadline(job: MPIJob) -> float | None:
    """Of the second version; the others leave it to the Job of the launcher."""
    allowed, started = job.policy.active_deadline_seconds, seconds(job.status.start_time)
    if job.version != SECOND or allowed is None or started is None or holds(job.status.conditions, "Suspended"):
        return None
    return started + allowed


def _as_launcher(job: MPIJob, standing: Standing) -> Ending | None:
    if standing.job is not None:
        return _as_job(job, standing.job)
    return _as_pod(job, standing.pod) if standing.pod is not None else None


def _as_job(job: MPIJob, made: SeenJob) -> Ending | None:
    if holds(made.status.conditions, "Complete"):
        return _succeeded(job)
    if (why := job_failure(made)) is None:
        return None
    return _failed(f"MPIJob {job.title} has failed: {why.message or why.reason}", why.reason)


def _as_pod(job: MPIJob, pod: SeenPod) -> Ending | None:
    if pod.status.phase == "Succeeded":
        return _succeeded(job)
    if pod.status.phase != "Failed" or pod.metadata.leaving or not_its_fault(pod):
        return None
    limit = job.policy.backoff_limit
    if is_retried(job.launcher_restarts, pod):
        if limit is None or tries(job, pod) <= limit:
            return None
        return _failed(f"MPIJob {job.title} has failed because it has reached the specified backoff limit")
    return _failed(f"MPIJob {job.title} has failed because 1 Launcher replica(s) failed.", _reason(pod))


def _as_workers(job: MPIJob, standing: Standing) -> Ending | None:
    worker = broken(job, standing)
    if worker is None:
        return None
    return _failed(f"MPIJob {job.title} has failed because worker {worker.metadata.name} failed.", _reason(worker))


def _reason(pod: SeenPod) -> str:
    return "MPIJobEvicted" if pod.status.reason == "Evicted" else "MPIJobFailed"


def _succeeded(job: MPIJob) -> Ending:
    return Ending("Succeeded", "MPIJobSucceeded", f"MPIJob {job.title} successfully completed.")


def _failed(message: str, reason: str = "") -> Ending:
    return Ending("Failed", reason or "MPIJobFailed", message)
