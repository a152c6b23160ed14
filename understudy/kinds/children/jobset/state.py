"""The state of a JobSet: its Jobs of the current attempt by group, and those of earlier attempts."""

from collections.abc import Sequence

import msgspec

from understudy.kinds.children.actions import Document
from understudy.kinds.children.jobset.jobs import ChildJobSlot, child_job_slots
from understudy.kinds.children.jobset.spec import ATTEMPT, JOB_ATTEMPT, GroupRestarts, JobSetObject, ReplicatedJob
from understudy.kinds.children.partial_objects import PartialJob, find_condition
from understudy.kinds.end_conditions import JOB_ENDS
from understudy.objects.meta import Condition, seconds


def succeeded(job: PartialJob) -> bool:
    return JOB_ENDS.has_succeeded(job.status.conditions)


def failed_condition(job: PartialJob) -> Condition | None:
    """Why the Job has failed; None: it has not."""
    found = find_condition(job.status.conditions, "Failed")
    return found if found is not None and found.status == "True" else None


def finished(job: PartialJob) -> bool:
    return JOB_ENDS.has_ended(job.status.conditions)


def ready(job: PartialJob, group: ReplicatedJob) -> bool:
    """Whether as many of its pods are ready, or done, as it runs at a time."""
    spec = group.template.spec
    parallelism = 1 if spec.parallelism is None else spec.parallelism
    expected = parallelism if spec.completions is None else min(parallelism, spec.completions)
    return job.status.ready + job.status.succeeded >= expected


class JobSetState(msgspec.Struct, frozen=True):
    current: dict[str, PartialJob]  # by name
    stale: tuple[PartialJob, ...]  # of earlier attempts, or of places that are no more
    missing: tuple[ChildJobSlot, ...]  # whose names are free

    def failed_first(self) -> PartialJob | None:
        found = [(why, job) for job in self.current.values() if (why := failed_condition(job)) is not None]
        found.sort(key=lambda each: (seconds(each[0].last_transition_time) or 0.0, each[1].metadata.name))
        return found[0][1] if found else None

    def of(self, jobset: JobSetObject, group: ReplicatedJob) -> list[PartialJob]:
        names = (jobset.job_name(group, index) for index in range(group.replicas))
        return [self.current[name] for name in names if name in self.current]


def jobset_state(jobset: JobSetObject, jobs: Sequence[PartialJob]) -> JobSetState:
    wanted = {place.name: place for place in child_job_slots(jobset)}
    current: dict[str, PartialJob] = {}
    stale: list[PartialJob] = []
    for job in jobs:
        name = job.metadata.name
        if name in wanted and _is_current(jobset, wanted[name], job) and not job.metadata.leaving:
            current[name] = job
        else:
            stale.append(job)
    taken = {job.metadata.name for job in jobs}
    return JobSetState(current, tuple(stale), tuple(place for name, place in wanted.items() if name not in taken))


def _is_current(jobset: JobSetObject, place: ChildJobSlot, job: PartialJob) -> bool:
    labels = job.metadata.labels
    wanted = (jobset.status.restarts, jobset.job_attempt(place.group.name, place.index))
    return (labels.get(ATTEMPT, "0"), labels.get(JOB_ATTEMPT, "0")) == tuple(map(str, wanted))


def replicated_job_counts(jobset: JobSetObject, state: JobSetState) -> list[Document]:
    """status.replicatedJobsStatus."""
    found = []
    for group in jobset.spec.replicated_jobs:
        jobs = state.of(jobset, group)
        running = [job for job in jobs if not finished(job)]
        counts: Document = {
            "name": group.name,
            "ready": sum(ready(job, group) for job in running),
            "succeeded": sum(succeeded(job) for job in jobs),
            "failed": sum(failed_condition(job) is not None for job in jobs),
            "active": sum(job.status.active > 0 for job in running),
            "suspended": sum(job.spec.suspend for job in running),
        }
        found.append(counts | _restarts(jobset.status.of_group(group.name)))
    return found


def _restarts(known: GroupRestarts) -> Document:
    counts = {"jobRestarts": known.job_restarts, "jobRestartsCountTowardsMax": known.job_restarts_count_towards_max}
    return {name: list(counted) for name, counted in counts.items() if counted}
