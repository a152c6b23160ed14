"""Pods that have to go, where the cluster takes one request for one thing: evicted, else deleted, and told why.

A refused eviction is followed by a deletion: what it costs to break a budget was weighed when the plan was made. An
eviction writes a reason of its own over any that was there, so the reason comes after it, but before a deletion.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from understudy.client.excusing import excuse
from understudy.objects.resources import PODS
from understudy.ports import Cluster, Departure, Ref, Refused

_GONE = (404, 409)  # not there, or another pod of the same name


async def release_one_by_one(cluster: Cluster, namespace: str, departures: Sequence[Departure]) -> None:
    """All are tried; then the first refusal is told."""
    found = await asyncio.gather(*(_release(cluster, namespace, one) for one in departures), return_exceptions=True)
    for result in found:
        if isinstance(result, BaseException):
            raise result


async def _release(cluster: Cluster, namespace: str, departure: Departure) -> None:
    ref = Ref(PODS, namespace, departure.pod)
    try:
        if departure.excused:
            await excuse(cluster, ref, departure)
        if await _is_evicted(cluster, ref, departure):
            await _mark(cluster, ref, departure)
        else:
            if departure.grace != 0 or not departure.excused:  # else it is gone at once, and nobody is left to be told
                await _mark(cluster, ref, departure)
            await cluster.delete(ref, grace=departure.grace, uid=departure.uid)
    except Refused as error:
        if error.code not in _GONE:
            raise


async def _is_evicted(cluster: Cluster, ref: Ref, departure: Departure) -> bool:
    """Nobody is asked to leave a lost node, and no budget can keep him there: such pods are only deleted."""
    if departure.grace == 0:
        return False
    try:
        await cluster.create(ref, _eviction(ref, departure), "eviction")
    except Refused:
        return False
    return True


async def _mark(cluster: Cluster, ref: Ref, departure: Departure) -> None:
    condition = dict(departure.condition)
    await cluster.patch(ref, {"metadata": {"uid": departure.uid}, "status": {"conditions": [condition]}}, sub="status")


def _eviction(ref: Ref, departure: Departure) -> dict[str, Any]:
    options: dict[str, Any] = {"preconditions": {"uid": departure.uid}}
    if departure.grace is not None:
        options["gracePeriodSeconds"] = departure.grace
    return {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": ref.name, "namespace": ref.namespace},
        "deleteOptions": options,
    }
