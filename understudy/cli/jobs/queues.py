"""A job that Kueue keeps suspended: what Kueue says about it, read from the Workload it keeps for the job."""

from typing import TYPE_CHECKING
from urllib.parse import urlencode

import msgspec

from understudy.cli.jobs.statuses import SUSPENDED, true_condition
from understudy.objects.meta import Condition
from understudy.ports import Refused

if TYPE_CHECKING:
    from understudy.cli.jobs.summaries import JobSummary
    from understudy.client import KubeClient

GROUP, VERSIONS = "kueue.x-k8s.io", ("v1beta2", "v1beta1")
JOB_UID = f"{GROUP}/job-uid"  # a label on Workloads
NOT_FOUND = 404


class _Status(msgspec.Struct, frozen=True):
    conditions: tuple[Condition, ...] = ()


class _Spec(msgspec.Struct, frozen=True):
    active: bool | None = None


class _Workload(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()
    status: _Status = _Status()


class _Workloads(msgspec.Struct, frozen=True):
    items: list[_Workload] = []


async def kueue_says(client: "KubeClient", job: "JobSummary") -> list[str]:
    """Nothing of a job that Kueue has not to decide on, or where its Workloads may not be read."""
    if not job.queue or job.status != SUSPENDED:
        return []
    try:
        workload = await _workload(client, job)
    except Refused as error:
        return ["There is no Kueue in this cluster: nobody lets it start."] if error.code == NOT_FOUND else []
    if workload is None:
        return ["Kueue has no Workload for it yet; whether Kueue runs, its own logs tell."]
    if workload.spec.active is False:
        return ["Somebody has stopped it there: spec.active of its Workload is false."]
    waiting = [one for one in workload.status.conditions if one.type == "QuotaReserved" and one.status != "True"]
    evicted = true_condition(workload.status.conditions, "Evicted")
    words = [one.message for one in (evicted, *waiting) if one is not None and one.message]
    return [f"Kueue says: {text.rstrip('.')}." for text in dict.fromkeys(words)]


async def _workload(client: "KubeClient", job: "JobSummary") -> _Workload | None:
    """In the newest version that is served."""
    query = urlencode({"labelSelector": f"{JOB_UID}={job.uid}"})
    for number, version in enumerate(VERSIONS, 1):
        path = f"/apis/{GROUP}/{version}/namespaces/{job.namespace}/workloads?{query}"
        try:
            found = msgspec.json.decode(await client.request("GET", path), type=_Workloads).items
        except Refused as error:
            if error.code != NOT_FOUND or number == len(VERSIONS):
                raise
        else:
            return found[0] if found else None
    return None
