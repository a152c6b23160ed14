"""What the ends of its Jobs mean for a JobSet: another attempt, the end of it all, or nothing yet."""

import msgspec

from understudy.kinds.children.jobset.objects import FailureRule, JobSetObject
from understudy.kinds.children.jobset.standing import Standing, failure, succeeded
from understudy.kinds.children.seen import SeenJob
from understudy.kinds.ownership import REPLICATED_JOB


class Completed(msgspec.Struct, frozen=True):
    reason: str = "AllJobsCompleted"
    message: str = "jobset completed successfully"


class Failed(msgspec.Struct, frozen=True):
    reason: str
    message: str


class Restart(msgspec.Struct, frozen=True):
    """All of it, or with `job` that Job alone."""

    counts: bool  # towards the most restarts there may be
    job: str = ""


Verdict = Completed | Failed | Restart


def verdict_of(jobset: JobSetObject, standing: Standing) -> Verdict | None:
    """None: it goes on. A failure is looked at before success."""
    job = standing.failed_first()
    if job is not None:
        return _after_failure(jobset, job)
    return Completed() if _is_success(jobset, standing) else None


def _after_failure(jobset: JobSetObject, job: SeenJob) -> Verdict:
    policy = jobset.spec.failure_policy
    name = job.metadata.name
    because = f"jobset failed due to one or more job failures (first failed job: {name})"
    if policy is None:
        return Failed("FailedJobs", because)
    action = next((rule.action for rule in policy.rules if _applies(rule, job)), "RestartJobSet")
    alone = name if action.startswith("RestartJob") and not action.startswith("RestartJobSet") else ""
    match action:
        case "FailJobSet":
            return Failed("FailJobSetFailurePolicyAction", because)
        case "RestartJobSetAndIgnoreMaxRestarts" | "RestartJobAndIgnoreMaxRestarts":
            return Restart(counts=False, job=alone)
    if jobset.status.restarts_count_towards_max >= policy.max_restarts:
        return Failed("ReachedMaxRestarts", "jobset failed due to reaching max number of restarts")
    return Restart(counts=True, job=alone)


def _applies(rule: FailureRule, job: SeenJob) -> bool:
    why = failure(job)
    group = job.metadata.labels.get(REPLICATED_JOB, "")
    if rule.target_replicated_jobs and group not in rule.target_replicated_jobs:
        return False
    return not rule.on_job_failure_reasons or (why is not None and why.reason in rule.on_job_failure_reasons)


def _is_success(jobset: JobSetObject, standing: Standing) -> bool:
    policy = jobset.spec.success_policy
    targets = [
        group
        for group in jobset.spec.replicated_jobs
        if not policy.target_replicated_jobs or group.name in policy.target_replicated_jobs
    ]
    done = sum(succeeded(job) for group in targets for job in standing.of(jobset, group))
    if policy.operator == "Any":
        return done > 0
    return bool(targets) and done >= sum(group.replicas for group in targets)
