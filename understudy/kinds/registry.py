"""Lookups of job kinds: a kind by its name, the resources of all kinds, and the resource of a job."""

from msgspec.structs import replace

from understudy.kinds import kueue
from understudy.kinds.job_control import JobControl
from understudy.kinds.job_kind import JobController, JobKind
from understudy.kinds.registered import REGISTERED
from understudy.objects.jobs import Workload
from understudy.objects.meta import ObjectMeta
from understudy.objects.resources import Resource

KINDS: dict[str, JobKind] = {kind.name: kind for kind in REGISTERED}
CONTROLLERS: tuple[JobController, ...] = tuple(one.controller for one in REGISTERED if one.controller is not None)
JOB_STRUCTS: tuple[type[Workload], ...] = tuple(kind.struct for kind in REGISTERED)
JOB_RESOURCES: tuple[Resource, ...] = tuple(kind.resource for kind in REGISTERED)


def job_resource(api_version: str, kind: str) -> Resource:
    """The resource of a job of this kind, in the version in which it was read."""
    return replace(KINDS[kind].resource, version=api_version.rpartition("/")[2])


def control_of(job: Workload) -> JobControl:
    """How a job is suspended and made to fail. Kueue resumes jobs that it admitted, so Understudy cannot suspend
    those."""
    control = KINDS[job.kind].control(job)
    return replace(control, pause=()) if control.pause and kueue.manages_suspend(job.metadata) else control


def is_ending(job: Workload) -> bool:
    """Whether a job has ended or is about to: its controller creates no more pods."""
    ends = KINDS[job.kind].ends
    return ends.is_ending(job.status.conditions, getattr(job.status, "launcher_status", ""))


def counts_deletion(pod: ObjectMeta) -> bool:
    """Whether the controller of a pod counts its deletion as a failure."""
    owner = pod.controller
    kind = KINDS.get(owner.kind) if owner is not None else None
    return kind is not None and kind.counts_deletions
