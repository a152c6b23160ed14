"""Events do not pile up."""

import asyncio

from tests.embedded.controllers.controller_runner import run_scenario
from tests.embedded.controllers.fake_cluster import BEGIN, FakeCluster, moment
from tests.objects.documents import Document, metadata
from understudy.embedded.controllers.event_expiry import LIFETIME, ROUND, expire_events
from understudy.objects.resources import EVENTS


def event(name: str, age: float) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": metadata(name, creationTimestamp=moment(BEGIN - 10 * LIFETIME)),
        "lastTimestamp": moment(BEGIN - age),
    }


def test_events_are_taken_away_an_hour_after_they_were_last_told() -> None:
    async def scenario(api: FakeCluster) -> None:
        api.put(EVENTS, event("old", LIFETIME + 1))
        api.put(EVENTS, event("fresh", 60))
        expiring = asyncio.create_task(expire_events(api, api.clock))
        await api.clock.advance(ROUND + 1)
        assert api.names(EVENTS) == ["fresh"]
        await api.clock.advance(LIFETIME)
        assert api.names(EVENTS) == []
        assert api.watches(EVENTS) == 0
        expiring.cancel()
        await asyncio.gather(expiring, return_exceptions=True)

    run_scenario(scenario)
