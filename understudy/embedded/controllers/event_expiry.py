"""Deletes Events an hour after they last happened."""

import asyncio
from http import HTTPStatus
from typing import Any

import msgspec

from understudy.embedded.controllers.runtime.shared_cluster import list_objects
from understudy.kinds.children.partial_objects import FullMeta
from understudy.objects.meta import Part, Time, seconds
from understudy.objects.resources import EVENTS
from understudy.ports import Clock, Cluster, Ref, Refused

LIFETIME = 3600.0
ROUND = 300.0  # seconds between two lists
AT_ONCE = 16


class Series(Part, frozen=True, gc=False):
    last_observed_time: Time | None = None


class SeenEvent(Part, frozen=True, gc=False):
    metadata: FullMeta
    last_timestamp: Time | None = None
    event_time: Time | None = None
    series: Series = Series()

    @property
    def happened_at(self) -> float:
        """When the event last happened."""
        meta = self.metadata
        times = (self.series.last_observed_time, self.last_timestamp, self.event_time, meta.creation_timestamp)
        return max((moment for each in times if (moment := seconds(each)) is not None), default=0.0)


_read = msgspec.json.Decoder(SeenEvent).decode


async def expire_events(cluster: Cluster, clock: Clock) -> None:
    """Runs for ever. Lists all Events from time to time, since there may be too many to cache."""
    while True:
        await clock.sleep(ROUND)
        await remove_old(cluster, clock.now())


async def remove_old(cluster: Cluster, now: float) -> None:
    gate = asyncio.Semaphore(AT_ONCE)
    old: list[Any] = []
    for raw in await list_objects(cluster, EVENTS):
        event = _read(raw)
        if now - event.happened_at >= LIFETIME:
            old.append(_remove(cluster, gate, event.metadata))
    await asyncio.gather(*old)


async def _remove(cluster: Cluster, gate: asyncio.Semaphore, meta: FullMeta) -> None:
    async with gate:
        try:
            await cluster.delete(Ref(EVENTS, meta.namespace, meta.name), uid=meta.uid)
        except Refused as error:
            if error.code not in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):
                raise
