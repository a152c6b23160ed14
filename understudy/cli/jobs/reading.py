"""One look at a cluster: the job of this name, or all jobs there are, each with its pods."""

import asyncio
from typing import TYPE_CHECKING

import msgspec

from understudy.cli.finding import Found, every_job, jobs_named, kinds_of
from understudy.cli.jobs.gathering import pods_in, pods_of
from understudy.cli.jobs.instances import instance_of
from understudy.cli.jobs.seen import SeenPod
from understudy.cli.jobs.summaries import JobSummary, by_job, summarised
from understudy.kinds.annotations import UNDERSTUDY_OF, WARM
from understudy.objects.meta import has_condition

if TYPE_CHECKING:
    from understudy.cli.target import Session


async def job_named(session: "Session", name: str, wanted_type: str | None) -> JobSummary:
    """Unknown names, and names that several kinds share, are bad input. `KIND/NAME` names the kind too."""
    kind, slash, rest = name.partition("/")
    if slash and wanted_type is None:
        name, wanted_type = rest, kind.partition(".")[0]
    [found] = await jobs_named(session.client, session.namespace, [name], kinds_of(wanted_type))
    return await with_pods(session, found)


async def with_pods(session: "Session", found: Found) -> JobSummary:
    kind = found.resource.kind
    pods = await pods_of(session.client, found.namespace, kind, found.name)
    job = summarised(found, by_job(pods).get(found.gang, ()))
    if WARM not in job.annotations:
        return job
    ready = await pods_in(session.client, found.namespace, f"{UNDERSTUDY_OF}={found.name}")
    own = (
        pod for pod in ready if any(owner.kind == kind for owner in pod.metadata.owner_references) and _is_ready(pod)
    )
    return msgspec.structs.replace(job, understudies=tuple(instance_of(pod, kind) for pod in own))


def _is_ready(pod: SeenPod) -> bool:
    return pod.metadata.deletion_timestamp is None and has_condition(pod.status.conditions, "Ready")


async def all_jobs(session: "Session", wanted_type: str | None, *, everywhere: bool = False) -> list[JobSummary]:
    """The newest first, as people look for what they have just submitted."""
    namespace = "" if everywhere else session.namespace
    jobs, pods = await asyncio.gather(
        every_job(session.client, namespace, kinds_of(wanted_type)), pods_in(session.client, namespace)
    )
    own = by_job(pods)
    found = [summarised(job, own.get(job.gang, ())) for job in jobs]
    return sorted(found, key=lambda job: (-job.created, job.namespace, job.name, job.kind))
