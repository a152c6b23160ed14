"""The result of a JobSet from the ends of its Jobs: another attempt, success, failure, or nothing yet."""

import msgspec

from understudy.kinds.children.jobset.spec import JobFailureRule, JobSetObject
from understudy.kinds.children.jobset.state import JobSetState, failed_condition, succeeded
from understudy.kinds.children.partial_objects import PartialJob
from understudy.kinds.pod_labels import REPLICATED_JOB


class JobSetCompleted(msgspec.Struct, frozen=True):
    reason: str = "AllJobsCompleted"
    message: str = "jobset completed successfully"


class JobSetFailed(msgspec.Struct, frozen=True):
    reason: str
    message: str


class JobSetRestart(msgspec.Struct, frozen=True):
    """All of it, or with `job` that Job alone."""

    counts: bool  # towards the most restarts there may be
    job: PartialJob | None = None


JobSetVerdict = JobSetCompleted | JobSetFailed | JobSetRestart


def verdict_of(jobset: JobSetObject, state: JobSetState) -> JobSetVerdict | None:
    """None: it goes on. A failure is looked at before success."""
    job = state.failed_first()
    if job is not None:
        return _after_failure(jobset, job)
    return JobSetCompleted() if _is_success(jobset, state) else None


def _after_failure(jobset: JobSetObject, job: PartialJob) -> JobSetVerdict:
    policy = jobset.spec.failure_policy
    name = job.metadata.name
    because = f"jobset failed due to one or more job failures (first failed job: {name})"
    if policy is None:
        return JobSetFailed("FailedJobs", because)
    action = next((rule.action for rule in policy.rules if _applies(rule, job)), "RestartJobSet")
    alone = job if action.startswith("RestartJob") and not action.startswith("RestartJobSet") else None
    match action:
        case "FailJobSet":
            return JobSetFailed("FailJobSetFailurePolicyAction", because)
        case "RestartJobSetAndIgnoreMaxRestarts" | "RestartJobAndIgnoreMaxRestarts":
            return JobSetRestart(counts=False, job=alone)
    if jobset.status.counted_restarts >= policy.max_restarts:
        return JobSetFailed("ReachedMaxRestarts", "jobset failed due to reaching max number of restarts")
    return JobSetRestart(counts=True, job=alone)


def _applies(rule: JobFailureRule, job: PartialJob) -> bool:
    why = failed_condition(job)
    group = job.metadata.labels.get(REPLICATED_JOB, "")
    if rule.target_replicated_jobs and group not in rule.target_replicated_jobs:
        return False
    return not rule.on_job_failure_reasons or (why is not None and why.reason in rule.on_job_failure_reasons)


def _is_success(jobset: JobSetObject, state: JobSetState) -> bool:
    policy = jobset.spec.success_policy
    targets = [
        group
        for group in jobset.spec.replicated_jobs
        if not policy.target_replicated_jobs or group.name in policy.target_replicated_jobs
    ]
    done = sum(succeeded(job) for group in targets for job in state.of(jobset, group))
    if policy.operator == "Any":
        return done > 0
    return bool(targets) and done >= sum(group.replicas for group in targets)
