"""Pods that have to go, where the cluster takes one request for one thing: each is evicted, else deleted, and told why.

A refused eviction is followed by a deletion: what it costs to break a budget was weighed when the plan was made. An
eviction writes a reason of its own over any that was there, so the reason comes after it, but before a deletion.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from understudy.client.excusing import excuse
from understudy.objects.resources import PODS
from understudy.ports import Cluster, Departure, Ref, Refused

_GONE = (404, 409)  # not there, or another pod of the same name


Later = Callable[[Coroutine[Any, Any, None]], None]  # sees to what nobody waits for


async def release_one_by_one(
    cluster: Cluster, namespace: str, departures: Sequence[Departure], later: Later | None = None
) -> None:
    """All are tried; then the first refusal is told. Marks that can wait are left to `later`, if there is one."""
    calls = (_release(cluster, Ref(PODS, namespace, one.pod), one, later) for one in departures)
    for result in await asyncio.gather(*calls, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result


async def _release(cluster: Cluster, ref: Ref, departure: Departure, later: Later | None) -> None:
    try:
        if departure.excused:
            await excuse(cluster, ref, departure)
        if await _is_evicted(cluster, ref, departure):
            mark = _mark(cluster, ref, departure)
            await mark if later is None else later(mark)
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
