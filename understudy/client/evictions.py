"""Removes pods from a cluster that takes one request a pod: evicts each, else deletes it, and writes down the reason.

A refused eviction is followed by a deletion: the plan has already weighed the cost of breaking a disruption budget. An
eviction overwrites the pod's reason, so the reason is written after an eviction, but before a deletion.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from understudy.objects.pods import ENDED_PHASES
from understudy.objects.resources import PODS
from understudy.ports import Cluster, PodEviction, Ref, Refused

_GONE = (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)  # not there, or another pod of the same name
Defer = Callable[[Coroutine[Any, Any, None]], None]  # runs a write later, in the background


async def evict_pods(
    cluster: Cluster, namespace: str, evictions: Sequence[PodEviction], later: Defer | None = None
) -> None:
    """Tries all, then raises the first failure. Conditions that can wait are passed to `later` if it is given."""
    calls = (_evict_or_delete(cluster, Ref(PODS, namespace, one.pod), one, later) for one in evictions)
    for result in await asyncio.gather(*calls, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result


async def _evict_or_delete(cluster: Cluster, ref: Ref, eviction: PodEviction, later: Defer | None) -> None:
    try:
        if eviction.excused:
            await untrack_from_job(cluster, ref, eviction)
        if await _evict(cluster, ref, eviction):
            mark = _set_condition(cluster, ref, eviction)
            await mark if later is None else later(mark)
        else:
            if eviction.grace != 0 or not eviction.excused:  # otherwise the pod is gone at once, with its condition
                await _set_condition(cluster, ref, eviction)
            await cluster.delete(ref, grace=eviction.grace, uid=eviction.uid)
    except Refused as error:
        if error.code not in _GONE:
            raise


async def _evict(cluster: Cluster, ref: Ref, eviction: PodEviction) -> bool:
    """Pods on a lost node are only deleted: they cannot end gracefully, and no disruption budget may keep them."""
    if eviction.grace == 0:
        return False
    try:
        await cluster.create(ref, _eviction(ref, eviction), "eviction")
    except Refused:
        return False
    return True


async def _set_condition(cluster: Cluster, ref: Ref, eviction: PodEviction) -> None:
    condition = dict(eviction.condition)
    await cluster.patch(ref, {"metadata": {"uid": eviction.uid}, "status": {"conditions": [condition]}}, sub="status")


def _eviction(ref: Ref, eviction: PodEviction) -> dict[str, Any]:
    options: dict[str, Any] = {"preconditions": {"uid": eviction.uid}}
    if eviction.grace is not None:
        options["gracePeriodSeconds"] = eviction.grace
    return {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": ref.name, "namespace": ref.namespace},
        "deleteOptions": options,
    }


JOB_TRACKING_FINALIZER = "batch.kubernetes.io/job-tracking"
UNTRACK_ATTEMPTS = 3


class _PodMetadata(msgspec.Struct, frozen=True, rename="camel"):
    uid: str = ""
    resource_version: str = ""


class _PodPhase(msgspec.Struct, frozen=True):
    phase: str = ""


class _Pod(msgspec.Struct, frozen=True):
    metadata: _PodMetadata
    status: _PodPhase = _PodPhase()


_decode_pod = msgspec.json.Decoder(_Pod).decode


async def untrack_from_job(cluster: Cluster, ref: Ref, eviction: PodEviction) -> None:
    """Removes the finalizer by which the Job controller counts a pod, so that the Job does not count its deletion.

    A counted deletion would use up backoffLimit, and delay the replacement by ten seconds or more. A pod that has ended
    by itself keeps the finalizer: its result counts."""
    version = eviction.excused
    for _ in range(UNTRACK_ATTEMPTS):
        metadata = {
            "uid": eviction.uid,
            "resourceVersion": version,
            "$deleteFromPrimitiveList/finalizers": [JOB_TRACKING_FINALIZER],
        }
        try:
            await cluster.patch(ref, {"metadata": metadata})
            return
        except Refused as error:
            if error.code != HTTPStatus.CONFLICT:
                raise
        found = _decode_pod(await cluster.get(ref))
        if found.metadata.uid != eviction.uid or found.status.phase in ENDED_PHASES:
            return
        version = found.metadata.resource_version
