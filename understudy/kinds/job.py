"""batch/v1 Job: `parallelism` pods at a time until `completions` have succeeded."""

from collections.abc import Mapping, Sequence
from typing import Any

from understudy.kinds.annotations import read_annotations
from understudy.kinds.children.actions import ChildActions, Document, ObservedChildren
from understudy.kinds.completion_indexes import parse_indexes
from understudy.kinds.end_conditions import JOB_ENDS
from understudy.kinds.job_control import JobControl
from understudy.kinds.job_kind import JobController, JobKind
from understudy.kinds.observed_pod import ObservedPod, PodState
from understudy.kinds.outline import GangOutline, RoleOutline
from understudy.kinds.pod_labels import COMPLETION_INDEX, JOB_NAME, OLD_JOB_NAME, RANDOM_SUFFIX
from understudy.kinds.roles import role_of
from understudy.objects.jobs import Job, JobSpec
from understudy.objects.resources import JOBS, PODS

# FailureTarget makes the Job controller delete the pods and end the Job as Failed, with the same reason.
CONTROL = JobControl(("spec", "suspend"), end="FailureTarget")


def outline(job: Job, seen: Sequence[ObservedPod]) -> GangOutline:
    if JOB_ENDS.is_ending(job.status.conditions):
        return GangOutline()
    name = job.metadata.name
    indexed = job.spec.completion_mode == "Indexed"
    succeeded = max(job.status.succeeded, sum(s.state is PodState.DONE for s in seen))
    indexes = pod_indexes(job.spec, indexed, succeeded, job.status.completed_indexes)
    role = RoleOutline(
        island=name,
        names=tuple(f"{name}-{i}" for i in indexes),
        template=job.spec.template,
        field="spec.template",
        labels={JOB_NAME: name, OLD_JOB_NAME: name},
        index_label=COMPLETION_INDEX if indexed else "",
        indexes=indexes,
        topology=read_annotations(job.metadata.annotations, job).topology,
    )
    return GangOutline((role,), job.spec.suspend)


def is_plain_single(job: Job) -> bool:
    """Whether it wants one pod now, and has no other rules."""
    spec = job.spec
    return (
        spec.parallelism in (None, 1)
        and spec.completions in (None, 1)
        and not spec.suspend
        and not job.metadata.annotations
        and not (job.status.conditions and JOB_ENDS.is_ending(job.status.conditions))
    )


def pod_indexes(spec: JobSpec, indexed: bool, succeeded: int = 0, completed: str = "") -> tuple[int, ...]:
    """The indexes of the pods that a Job would run now. Without a completion mode they are only numbers."""
    parallelism = 1 if spec.parallelism is None else spec.parallelism
    if spec.completions is None:
        if spec.parallelism is not None and succeeded:
            return ()  # a work queue: after the first success no pod has to be started
        return tuple(range(parallelism))
    if not indexed:
        return tuple(range(min(parallelism, max(0, spec.completions - succeeded))))
    done = parse_indexes(completed)
    return tuple([i for i in range(spec.completions) if i not in done][:parallelism])


def _reconcile(document: Document, observed: ObservedChildren, now: float) -> ChildActions:
    from understudy.kinds.children.job import reconcile  # only the controllers of a cluster load it

    return reconcile.reconcile(document, observed, now)


def _release(observed: ObservedChildren) -> ChildActions:
    from understudy.kinds.children.job import reconcile

    return reconcile.release_orphans(observed)


def pods_at_once(spec: Mapping[str, Any]) -> int:
    """How many pods run at the same time, by a spec as it is written."""
    parallelism, completions = spec.get("parallelism"), spec.get("completions")
    at_once = 1 if parallelism is None else int(parallelism)
    return at_once if completions is None else min(at_once, int(completions))


KIND = JobKind(
    resource=JOBS,
    struct=Job,
    outline=lambda job, _, seen: outline(job, seen),
    names=("job",),
    control=lambda _: CONTROL,
    ends=JOB_ENDS,
    controller=JobController(JOBS, (PODS,), _reconcile, _release),
    roles=lambda spec: [role_of("", pods_at_once(spec), spec.get("template"))],
    pod_labels=(OLD_JOB_NAME,),
    child_names=lambda name, _: rf"{name}-(\d+-)?{RANDOM_SUFFIX}",
    random_pod_names=True,
    counts_deletions=True,
)
