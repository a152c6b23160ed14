"""Events of a job: about the job, about the jobs and pods it made, also those that are gone."""

import re
from collections import Counter
from collections.abc import Iterable

from understudy.cli.queries.jobs import JobSummary
from understudy.cli.queries.lists import list_events
from understudy.cli.queries.objects import EventInfo
from understudy.client import KubeClient
from understudy.kinds.registry import CONTROLLERS, JOB_RESOURCES, KINDS

WRITE_REFUSED = "WriteRefused"  # the reason of an event: the API server refused to bind the pods
PROVISIONING_FAILED = "ProvisioningFailed"  # no machines are provided for a job that waits
SLACK = 2.0  # seconds by which clocks and their rounding may disagree about what came first
_CHILDREN = {"Pod", *(one.kind for made in CONTROLLERS for one in made.owns if one.kind in KINDS)}  # of any job


async def read_job_events(client: KubeClient, job: JobSummary) -> list[EventInfo]:
    return events_of_job(job, await list_events(client, job.namespace))


def events_of_job(job: JobSummary, events: Iterable[EventInfo]) -> list[EventInfo]:
    """In the order they happened. Events of an earlier job of the same name are left out."""
    names = re.compile(_names_of_children(job))
    pods = {one.name for one in job.instances}
    found = []
    for event in events:
        about = event.involved_object
        if about.kind == job.kind and about.name == job.name:
            mine = not job.uid or not about.uid or about.uid == job.uid
        elif about.kind in _CHILDREN:
            mine = about.name in pods or (
                about.name.startswith(job.name)
                and event.at >= job.created - SLACK
                and names.fullmatch(about.name) is not None
            )
        else:
            mine = False
        if mine:
            found.append(event)
    return sorted(found, key=_in_time)


def events_of_jobs(jobs: Iterable[JobSummary], events: Iterable[EventInfo]) -> list[EventInfo]:
    by_namespace: dict[str, list[EventInfo]] = {}
    for event in events:
        by_namespace.setdefault(event.metadata.namespace, []).append(event)
    found = {id(event): event for job in jobs for event in events_of_job(job, by_namespace.get(job.namespace, ()))}
    return sorted(found.values(), key=_in_time)


def _in_time(event: EventInfo) -> tuple[int, int, str]:
    """Most events have times in whole seconds; within a second the order of writing is more exact."""
    version = event.metadata.resource_version
    return int(event.at), int(version) if version.isdigit() else 0, event.metadata.name


def _names_of_children(job: JobSummary) -> str:
    return KINDS[job.kind].child_names(re.escape(job.name), [re.escape(role) for role in job.roles])


_REASONS = ("Preempted", "Requeued")
_KINDS = frozenset(resource.kind for resource in JOB_RESOURCES)


async def count_preemptions(client: KubeClient, namespace: str) -> Counter[str]:
    """By the uid of the job: preemptions, and other times it went back to the queue."""
    counts: Counter[str] = Counter()
    for reason in _REASONS:
        for event in await list_events(client, namespace, f"reason={reason}"):
            if event.involved_object.kind in _KINDS:
                counts[event.involved_object.uid] += event.times
    return counts
