"""batch/v1 Job: `parallelism` pods at a time until `completions` have succeeded."""

from collections.abc import Sequence

from understudy.kinds.annotations import notes_of
from understudy.kinds.outlines import Outline, Role
from understudy.kinds.ownership import COMPLETION_INDEX, JOB_NAME, OLD_JOB_NAME
from understudy.kinds.sightings import Sighting, State
from understudy.objects.jobs import Job, JobSpec
from understudy.objects.meta import holds


def outline(job: Job, seen: Sequence[Sighting]) -> Outline:
    if finished(job):
        return Outline()
    name = job.metadata.name
    indexed = job.spec.completion_mode == "Indexed"
    succeeded = max(job.status.succeeded, sum(s.state is State.DONE for s in seen))
    indexes = pod_indexes(job.spec, indexed, succeeded, job.status.completed_indexes)
    role = Role(
        island=name,
        names=tuple(f"{name}-{i}" for i in indexes),
        template=job.spec.template,
        field="spec.template",
        labels={JOB_NAME: name, OLD_JOB_NAME: name},
        index_label=COMPLETION_INDEX if indexed else "",
        indexes=indexes,
        topology=notes_of(job.metadata.annotations, job).topology,
    )
    return Outline((role,), job.spec.suspend)


def is_plain_single(job: Job) -> bool:
    """Whether it wants one pod now, and says nothing more about it."""
    spec = job.spec
    return (
        spec.parallelism in (None, 1)
        and spec.completions in (None, 1)
        and not spec.suspend
        and not job.metadata.annotations
        and not (job.status.conditions and finished(job))
    )


def finished(job: Job) -> bool:
    return holds(job.status.conditions, "Complete", "Failed")


def pod_indexes(spec: JobSpec, indexed: bool, succeeded: int = 0, completed: str = "") -> tuple[int, ...]:
    """The indexes of the pods a Job would run now. Without a completion mode they are only numbers."""
    parallelism = 1 if spec.parallelism is None else spec.parallelism
    if spec.completions is None:
        if spec.parallelism is not None and succeeded:
            return ()  # a work queue: the first success means there is nothing left to start
        return tuple(range(parallelism))
    if not indexed:
        return tuple(range(min(parallelism, max(0, spec.completions - succeeded))))
    done = _completed(completed)
    return tuple([i for i in range(spec.completions) if i not in done][:parallelism])


def _completed(text: str) -> set[int]:
    """`1,3-5,7` as Kubernetes writes the indexes that have succeeded."""
    done: set[int] = set()
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if first.isdigit():
            done.update(range(int(first), int(last or first) + 1))
    return done
