"""Prints the log of one instance, as it is or as it comes; where there is none yet, it waits or says why."""

import argparse
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import msgspec

from understudy.cli.complaint import BadInput
from understudy.cli.durations import duration
from understudy.cli.jobs.choosing import attempt_before, chosen, container_of
from understudy.cli.jobs.gathering import selectors
from understudy.cli.jobs.instances import Instance
from understudy.cli.jobs.kubelets import through_kubelet
from understudy.cli.jobs.reading import job_named
from understudy.cli.jobs.seen import SeenPod
from understudy.cli.jobs.summaries import JobSummary
from understudy.cli.moments import moment, rfc3339
from understudy.cli.target import FAILED
from understudy.objects.resources import PODS
from understudy.ports import ChangeType, Ref, Refused

if TYPE_CHECKING:
    from understudy.cli.target import Session

BAD_REQUEST = 400


class Wanted(msgspec.Struct, frozen=True):
    instance: str | None
    container: str | None
    follow: bool
    previous: bool
    query: dict[str, str]


def query_of(options: argparse.Namespace) -> dict[str, str]:
    query: dict[str, str] = {}
    if options.tail is not None:
        if options.tail < 0:
            raise BadInput(f"--tail {options.tail}: write how many lines, 0 or more")
        query["tailLines"] = str(options.tail)
    if options.since is not None and options.since_time is not None:
        raise BadInput("--since and --since-time both say from when on: give one of them")
    if options.since is not None:
        query["sinceSeconds"] = str(max(1, round(duration(options.since, "--since"))))
    if options.since_time is not None:
        query["sinceTime"] = rfc3339(moment(options.since_time, "--since-time"))
    if options.timestamps:
        query["timestamps"] = "true"
    return query


async def print_log(session: "Session", named: tuple[str, str | None], wanted: Wanted) -> int:
    job = await job_named(session, *named)
    instance = chosen(job, wanted.instance)
    while wanted.follow and (instance is None or _is_to_start(instance)) and not job.finished:
        await _some_start(session, job, instance)
        job = await job_named(session, *named)
        instance = chosen(job, wanted.instance)
    if instance is None:
        return _complain(f"{job.name} has no instances{_because(job)}")
    if wanted.previous and not instance.restarts:
        before = attempt_before(job, instance)
        if before is None:
            return _complain(f"{instance.name} is the first attempt: there is none before it")
        return await _print(session, job, before, wanted, previous=False)
    return await _print(session, job, instance, wanted, previous=wanted.previous)


async def _print(session: "Session", job: JobSummary, instance: Instance, wanted: Wanted, *, previous: bool) -> int:
    container = container_of(instance, wanted.container)
    if not instance.node and _is_to_start(instance):  # of such a pod a real cluster has an empty log
        return _complain(f"{instance.name} has no log yet{f': {instance.waits}' if instance.waits else ''}")
    flags = {"container": container, "follow": "true" if wanted.follow else "", "previous": "true" if previous else ""}
    query = urlencode({**{name: value for name, value in flags.items() if value}, **wanted.query})
    path = f"{Ref(PODS, job.namespace, instance.name).path('log')}?{query}"
    sys.stdout.flush()
    try:
        with through_kubelet(instance):
            async for piece in session.client.stream(path):
                sys.stdout.buffer.write(piece)
                sys.stdout.buffer.flush()
    except Refused as error:
        if error.code != BAD_REQUEST:
            raise
        why = f": {instance.waits}" if instance.waits else f" ({error.message})"
        return _complain(f"{instance.name} has no log yet{why}" if _is_to_start(instance) else error.message)
    return 0


async def _some_start(session: "Session", job: JobSummary, instance: Instance | None) -> None:
    """Returns when this instance, or any of the job, has begun to run, or is gone."""
    labels = selectors(job.kind, job.name)[0] if instance is None else ""
    fields = f"metadata.name={instance.name}" if instance is not None else ""
    seen = False
    async for change in session.client.follow(PODS, namespace=job.namespace, labels=labels, fields=fields):
        if change.type is ChangeType.SYNCED:
            if instance is not None and not seen:
                return
            continue
        seen = True
        pod = msgspec.json.decode(change.raw, type=SeenPod)
        if change.type is ChangeType.DELETED or pod.status.phase != "Pending":
            return


def _is_to_start(instance: Instance) -> bool:
    return instance.status == "PENDING" and not instance.restarts


def _because(job: JobSummary) -> str:
    return f": {job.reason}" if job.reason else f"; it is {job.status}"


def _complain(words: str) -> int:
    print(f"understudy: {words}", file=sys.stderr)
    return FAILED
