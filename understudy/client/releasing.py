"""Pods that have to go, where the cluster takes only one request for one thing: each is marked, then deleted."""

import asyncio
from collections.abc import Sequence

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
    mark = {"metadata": {"uid": departure.uid}, "status": {"conditions": [dict(departure.condition)]}}
    try:
        await cluster.patch(ref, mark, sub="status")
        await cluster.delete(ref, grace=departure.grace, uid=departure.uid)
    except Refused as error:
        if error.code not in _GONE:
            raise
