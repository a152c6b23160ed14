"""Attempts of a job whose pods are gone, as far as the cluster keeps them. Only embedded clusters do."""

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
    attempt: int
    pod: PodInfo


class _EndedPods(msgspec.Struct, frozen=True):
    items: list[_EndedPod] = []


async def with_history(client: KubeClient, job: JobSummary) -> JobSummary:
    """The job, with its ended attempts. Those of an earlier job of the same name are left out."""
    if not is_embedded(client):
        return job
    kind = pods_key(f"{job.kind}/").rstrip("/")
    path = f"/apis/understudy.dev/v1/namespaces/{job.namespace}/endedpods?{urlencode({'job': f'{kind}/{job.name}'})}"
    try:
        found = msgspec.json.decode(await client.request("GET", path), type=_EndedPods).items
    except Refused as error:
        if error.code != HTTPStatus.NOT_FOUND:  # a cluster of an earlier version
            raise
        return job
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
