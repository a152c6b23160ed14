"""What the product asks about job kinds: a kind by its name, the resources of all of them, and where a job lives."""

from msgspec.structs import replace

from understudy.kinds import kueue
from understudy.kinds.job_control import JobControl
from understudy.kinds.job_kind import JobController, JobKind
from understudy.kinds.registered import REGISTERED
from understudy.objects.jobs import Workload
from understudy.objects.resources import Resource

KINDS: dict[str, JobKind] = {kind.name: kind for kind in REGISTERED}
CONTROLLERS: tuple[JobController, ...] = tuple(one.controller for one in REGISTERED if one.controller is not None)
JOB_STRUCTS: tuple[type[Workload], ...] = tuple(kind.struct for kind in REGISTERED)
JOB_RESOURCES: tuple[Resource, ...] = tuple(kind.resource for kind in REGISTERED)


def job_resource(api_version: str, kind: str) -> Resource:
    """Where a job of this kind lives, in the version it was read in."""
    return replace(KINDS[kind].resource, version=api_version.rpartition("/")[2])


def control_of(job: Workload) -> JobControl:
    """How a job is suspended and made to fail. Kueue resumes what it admitted, so such jobs cannot be suspended."""
    control = KINDS[job.kind].control(job)
    return replace(control, pause=()) if control.pause and kueue.manages_suspend(job.metadata) else control


def is_ending(job: Workload) -> bool:
    """Whether a job has ended or is about to: its controller makes no more pods."""
    ends = KINDS[job.kind].ends
    return ends.is_ending(job.status.conditions, getattr(job.status, "launcher_status", ""))
