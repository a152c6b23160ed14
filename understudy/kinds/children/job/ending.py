"""Whether a Job has ended, and how: the criteria of success and failure, in the order in which they are checked."""

from collections.abc import Callable, Iterable

import msgspec

from understudy.kinds.children.job.pod_counts import PodCounts
from understudy.kinds.children.job.spec import JobObject, JobSuccessRule
from understudy.kinds.children.partial_objects import PartialPod, find_condition
from understudy.kinds.completion_indexes import parse_indexes
from understudy.objects.meta import seconds

SUCCESS, FAILURE = "SuccessCriteriaMet", "FailureTarget"  # the end is certain, but pods are still being deleted


class JobEnd(msgspec.Struct, frozen=True):
    success: bool
    reason: str
    message: str

    @property
    def announced_as(self) -> str:
        return SUCCESS if self.success else FAILURE

    @property
    def recorded_as(self) -> str:
        return "Complete" if self.success else "Failed"


class JobState(msgspec.Struct, frozen=True):
    job: JobObject
    tally: PodCounts
    now: float


def find_end(job: JobObject, tally: PodCounts, now: float) -> JobEnd | None:
    """None: the Job continues."""
    state = JobState(job, tally, now)
    return next((found for criterion in CRITERIA if (found := criterion(state)) is not None), None)


def announced(state: JobState) -> JobEnd | None:
    """An announced end is never taken back."""
    for kind in (SUCCESS, FAILURE):
        found = find_condition(state.job.status.conditions, kind)
        if found is not None and found.status == "True":
            return JobEnd(kind == SUCCESS, found.reason, found.message)
    return None


def failed_by_policy(state: JobState) -> JobEnd | None:
    fatal = state.tally.fatal
    return JobEnd(False, "PodFailurePolicy", fatal) if fatal else None


def too_many_failures(state: JobState) -> JobEnd | None:
    limit = state.job.backoff_limit
    if limit is None:
        return None
    if state.tally.all_failed > limit or _restarts_exceed(state, limit):
        return JobEnd(False, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    return None


def _restarts_exceed(state: JobState, limit: int) -> bool:
    """Restarts of containers in place count too. A limit of 0 is exceeded by the first restart."""
    if state.job.spec.template.spec.restart_policy != "OnFailure":
        return False
    restarts = sum(_restarts(pod) for pod in state.tally.active)
    return restarts > 0 if limit == 0 else restarts >= limit


def _restarts(pod: PartialPod) -> int:
    return sum(container.restart_count for container in pod.containers)


def past_deadline(state: JobState) -> JobEnd | None:
    due = deadline(state.job)
    if due is None or state.now < due:
        return None
    return JobEnd(False, "DeadlineExceeded", "Job was active longer than specified deadline")


def deadline(job: JobObject) -> float | None:
    allowed, started = job.spec.active_deadline_seconds, seconds(job.status.start_time)
    return None if allowed is None or started is None or job.spec.suspend else started + allowed


def too_many_failed_indexes(state: JobState) -> JobEnd | None:
    limit = state.job.spec.max_failed_indexes
    if limit is None or len(state.tally.failed_indexes) <= limit:
        return None
    message = "Job has exceeded the specified maximal number of failed indexes"
    return JobEnd(False, "MaxFailedIndexesExceeded", message)


def enough_by_policy(state: JobState) -> JobEnd | None:
    policy = state.job.spec.success_policy
    for position, rule in enumerate(policy.rules if policy else ()):
        if _satisfied(rule, state.tally.done):
            return JobEnd(True, "SuccessPolicy", f"Matched rules at index {position}")
    return None


def _satisfied(rule: JobSuccessRule, done: Iterable[int]) -> bool:
    succeeded = set(done)
    if rule.succeeded_indexes is None:
        return rule.succeeded_count is not None and len(succeeded) >= rule.succeeded_count
    wanted = parse_indexes(rule.succeeded_indexes)
    needed = len(wanted) if rule.succeeded_count is None else rule.succeeded_count
    return len(succeeded & wanted) >= needed


def all_done(state: JobState) -> JobEnd | None:
    tally, completions = state.tally, state.job.completions
    if completions is None:
        reached = tally.all_succeeded > 0 and not tally.active
    else:
        reached = tally.all_succeeded >= completions
    return JobEnd(True, "CompletionsReached", "Reached expected number of succeeded pods") if reached else None


def some_indexes_failed(state: JobState) -> JobEnd | None:
    """Every index has either succeeded or failed for good."""
    tally, completions = state.tally, state.job.completions
    if not tally.failed_indexes or completions is None or tally.active:
        return None
    if tally.all_succeeded + len(tally.failed_indexes) < completions:
        return None
    return JobEnd(False, "FailedIndexes", "Job has failed indexes")


Criterion = Callable[[JobState], JobEnd | None]

CRITERIA: tuple[Criterion, ...] = (
    announced,
    failed_by_policy,
    too_many_failures,
    past_deadline,
    too_many_failed_indexes,
    enough_by_policy,
    all_done,
    some_indexes_failed,
)
