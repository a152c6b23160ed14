"""Finds why pods wait if no event says it: Kueue's Workload of the job, or a scheduler that does not answer."""

from collections.abc import Sequence
from http import HTTPStatus
from urllib.parse import urlencode

import msgspec

from understudy.cli.errors import short_list
from understudy.cli.queries.events import WRITE_REFUSED
from understudy.cli.queries.installation import NOT_INSTALLED, is_embedded, is_installed
from understudy.cli.queries.job_status import PENDING, QUEUING, SUSPENDED, true_condition
from understudy.cli.queries.jobs import JobSummary
from understudy.cli.queries.objects import EventInfo
from understudy.client import KubeClient
from understudy.kube.settings import SCHEDULER_NAME
from understudy.objects.meta import Condition
from understudy.ports import Refused

GROUP, VERSIONS = "kueue.x-k8s.io", ("v1beta2", "v1beta1")
JOB_UID = f"{GROUP}/job-uid"  # a label on Workloads


class _Status(msgspec.Struct, frozen=True):
    conditions: tuple[Condition, ...] = ()


class _Spec(msgspec.Struct, frozen=True):
    active: bool | None = None


class _KueueWorkload(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()
    status: _Status = _Status()


class _KueueWorkloads(msgspec.Struct, frozen=True):
    items: list[_KueueWorkload] = []


async def kueue_reasons(client: KubeClient, job: JobSummary) -> list[str]:
    """Empty for a job that does not wait for Kueue, and where the user may not read Workloads."""
    if not job.queue or job.status != SUSPENDED:
        return []
    try:
        workload = await _workload(client, job)
    except Refused as error:
        if error.code != HTTPStatus.NOT_FOUND:
            return []
        return ["There is no Kueue in this cluster, so the job never starts."]
    if workload is None:
        return ["Kueue has no Workload for it yet; whether Kueue runs, its own logs tell."]
    if workload.spec.active is False:
        return ["A user has stopped it there: spec.active of its Workload is false."]
    waiting = [one for one in workload.status.conditions if one.type == "QuotaReserved" and one.status != "True"]
    evicted = true_condition(workload.status.conditions, "Evicted")
    words = [one.message for one in (evicted, *waiting) if one is not None and one.message]
    return [f"Kueue says: {text.rstrip('.')}." for text in dict.fromkeys(words)]


async def _workload(client: KubeClient, job: JobSummary) -> _KueueWorkload | None:
    """The job's Workload in the newest version that the cluster serves."""
    query = urlencode({"labelSelector": f"{JOB_UID}={job.uid}"})
    for number, version in enumerate(VERSIONS, 1):
        path = f"/apis/{GROUP}/{version}/namespaces/{job.namespace}/workloads?{query}"
        try:
            found = msgspec.json.decode(await client.request("GET", path), type=_KueueWorkloads).items
        except Refused as error:
            if error.code != HTTPStatus.NOT_FOUND or number == len(VERSIONS):
                raise
        else:
            return found[0] if found else None
    return None


async def silent_scheduler_reasons(client: KubeClient, job: JobSummary, events: Sequence[EventInfo]) -> list[str]:
    """Empty where a reason is known or no pod waits. An embedded cluster writes a reason within moments."""
    waiting = [one for one in job.instances if one.status == "PENDING" and not one.node]
    if is_embedded(client) or job.status not in (PENDING, QUEUING) or not waiting or any(o.waits for o in waiting):
        return []
    if any(event.reason == WRITE_REFUSED for event in events):
        return []
    others = sorted({one.scheduler for one in waiting} - {SCHEDULER_NAME})
    if others:
        return [f"Its pods ask for the scheduler {short_list(others)}, which has not said why they wait."]
    if not await is_installed(client):
        return [f"Its pods ask for the scheduler {SCHEDULER_NAME}. {NOT_INSTALLED}."]
    ask = f"understudy plan --from-cluster --explain {job.kind}/{job.namespace}/{job.name}"
    return [f"Understudy has not said why yet; `{ask}` tells what it would do."]
