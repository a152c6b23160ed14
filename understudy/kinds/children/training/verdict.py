"""The result of a training job: first the limits that all kinds have, then the rules of the kind for its roles."""

import msgspec

from understudy.kinds.children.training.spec import RoleState, TrainingJob, TrainingOutcome, TrainingState
from understudy.objects.meta import seconds


class TrainingVerdict(msgspec.Struct, frozen=True):
    outcome: TrainingOutcome
    message: str

    @property
    def final(self) -> bool:
        return self.outcome in (TrainingOutcome.SUCCEEDED, TrainingOutcome.FAILED)


def _fail(message: str) -> TrainingVerdict:
    return TrainingVerdict(TrainingOutcome.FAILED, message)


def verdict_of(job: TrainingJob, state: TrainingState, now: float) -> TrainingVerdict | None:
    """None: nothing has changed."""
    return (
        _over_the_limits(job, state, now)
        or _given_up(job, state)
        or _success(job, state)
        or _failure(job, state)
        or _restart(job, state)
        or _run(job, state)
    )


def _over_the_limits(job: TrainingJob, state: TrainingState, now: float) -> TrainingVerdict | None:
    name = job.metadata.name
    if _budget_is_spent(job, state):
        return TrainingVerdict(
            TrainingOutcome.FAILED, f"Job {name} has failed because it has reached the specified backoff limit"
        )
    due = deadline(job)
    if due is not None and now >= due:
        return TrainingVerdict(
            TrainingOutcome.FAILED, f"Job {name} has failed because it was active longer than specified deadline"
        )
    return None


def _budget_is_spent(job: TrainingJob, state: TrainingState) -> bool:
    """Failed pods that are created again count, and so do containers that were restarted in place."""
    limit = job.policy.backoff_limit
    if limit is None:
        return False
    in_place = state.restarts > 0 if limit == 0 else state.restarts >= limit
    broken = newly_broken(job, state)
    return in_place or (bool(broken) and job.status.restarts + broken > limit)


def newly_broken(job: TrainingJob, state: TrainingState) -> int:
    """Failed pods that are not recorded yet."""
    uids = {pod.metadata.uid for pod in state.broken}
    return len(uids - set(job.status.counted_pods))


def deadline(job: TrainingJob) -> float | None:
    allowed, started = job.policy.active_deadline_seconds, seconds(job.status.start_time)
    return None if allowed is None or started is None or job.was_suspended else started + allowed


def _given_up(job: TrainingJob, state: TrainingState) -> TrainingVerdict | None:
    for found in state.roles:
        if found.fatal:
            words = f"job {job.metadata.name} is failing because {found.role.name} replica(s) failed."
            return TrainingVerdict(TrainingOutcome.FAILED, words)
    return None


def _success(job: TrainingJob, state: TrainingState) -> TrainingVerdict | None:
    leader = job.leader
    if leader is None:
        reached = job.kind.enough(job, state)
    else:
        found = state.of(leader.name)
        reached = found is not None and found.done
    return (
        TrainingVerdict(TrainingOutcome.SUCCEEDED, f"{job.kind.name} {_title(job)} successfully completed.")
        if reached
        else None
    )


def _failure(job: TrainingJob, state: TrainingState) -> TrainingVerdict | None:
    for found in state.roles:
        if found.failed and job.kind.failed(job, found) is TrainingOutcome.FAILED:
            return TrainingVerdict(TrainingOutcome.FAILED, _failed_words(job, found))
    return None


def _restart(job: TrainingJob, state: TrainingState) -> TrainingVerdict | None:
    for found in state.roles:
        if found.retried or (found.failed and job.kind.failed(job, found) is TrainingOutcome.RESTARTING):
            return TrainingVerdict(TrainingOutcome.RESTARTING, restart_words(job, found))
    return None


def _run(job: TrainingJob, state: TrainingState) -> TrainingVerdict | None:
    """The job runs when its leader runs; a job without a leader runs when any worker runs."""
    leader = job.leader
    found = state.of(leader.name if leader else "Worker")
    if found is None or not found.active:
        return None
    return TrainingVerdict(TrainingOutcome.RUNNING, f"{job.kind.name} {_title(job)} is running.")


def _title(job: TrainingJob) -> str:
    return f"{job.metadata.namespace}/{job.metadata.name}"


def _failed_words(job: TrainingJob, found: RoleState) -> str:
    return job.kind.failed_words.format(
        kind=job.kind.name,
        name=job.metadata.name,
        namespace=job.metadata.namespace,
        count=found.failed,
        role=found.role.name,
    )


def restart_words(job: TrainingJob, found: RoleState) -> str:
    return f"job {job.metadata.name} is restarting because {found.role.name} replica(s) failed."
