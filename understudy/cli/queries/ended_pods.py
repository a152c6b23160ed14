"""Attempts of a job whose pods are gone, as far as the cluster keeps them. Only embedded clusters do."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from urllib.parse import urlencode

import msgspec

from understudy.cli.queries.installation import is_embedded
from understudy.cli.queries.instances import EndedAttempt, instance_of
from understudy.cli.queries.jobs import JobSummary
from understudy.cli.queries.objects import PodInfo
from understudy.client import KubeClient
from understudy.kinds.ownership import pods_key
from understudy.objects.meta import seconds
from understudy.ports import Refused

_SLACK = 2.0  # seconds by which clocks and their rounding may disagree


class _EndedPod(msgspec.Struct, frozen=True):
    job: str  # Kind/namespace/name
    attempt: int
    pod: PodInfo


class _EndedPods(msgspec.Struct, frozen=True):
    items: list[_EndedPod] = []


async def with_history(client: KubeClient, job: JobSummary) -> JobSummary:
    """The job, with its ended attempts. Those of an earlier job of the same name are left out."""
    if not is_embedded(client):
        return job
    kind, _, name = _key(job).split("/")
    return _with_attempts(job, await _read(client, job.namespace, {"job": f"{kind}/{name}"}))


async def with_last_attempts(client: KubeClient, jobs: Sequence[JobSummary]) -> list[JobSummary]:
    """Jobs that have ended and have no pods any more get their ended attempts; the others are as they are."""
    namespaces = {job.namespace for job in jobs if _is_gone(job)} if is_embedded(client) else set()
    by_job: dict[str, list[_EndedPod]] = {}
    for namespace in sorted(namespaces):
        for one in await _read(client, namespace, {}):
            by_job.setdefault(one.job, []).append(one)
    return [_with_attempts(job, by_job.get(_key(job), ())) if _is_gone(job) else job for job in jobs]


def _is_gone(job: JobSummary) -> bool:
    return job.finished and not job.instances


def _key(job: JobSummary) -> str:
    return pods_key(f"{job.kind}/{job.namespace}/{job.name}")


async def _read(client: KubeClient, namespace: str, query: Mapping[str, str]) -> list[_EndedPod]:
    path = f"/apis/understudy.dev/v1/namespaces/{namespace}/endedpods?{urlencode(query)}"
    try:
        return msgspec.json.decode(await client.request("GET", path), type=_EndedPods).items
    except Refused as error:
        if error.code not in (HTTPStatus.NOT_FOUND, HTTPStatus.BAD_REQUEST):  # a cluster of an earlier version
            raise
        return []


def _with_attempts(job: JobSummary, found: Sequence[_EndedPod]) -> JobSummary:
    there = {one.uid for one in job.instances}
    attempts = [_ended(one, job.kind) for one in found if one.pod.metadata.uid not in there]
    history = tuple(one for one in attempts if one.instance.created >= job.created - _SLACK)
    return msgspec.structs.replace(job, history=history)


def _ended(found: _EndedPod, kind: str) -> EndedAttempt:
    """The end of a pod. A pod deleted while it ran has ended then, whatever its last status says."""
    meta = found.pod.metadata
    pod = msgspec.structs.replace(found.pod, metadata=msgspec.structs.replace(meta, deletion_timestamp=None))
    one = instance_of(pod, kind)
    ended = one.ended or seconds(meta.deletion_timestamp) or one.started
    status = one.status if one.status == "SUCCEEDED" else "FAILED"
    return EndedAttempt(found.attempt, msgspec.structs.replace(one, ended=ended, status=status))


def log_path(job: JobSummary, ended: EndedAttempt) -> str:
    return f"/apis/understudy.dev/v1/namespaces/{job.namespace}/endedpods/{ended.instance.uid}/log"
