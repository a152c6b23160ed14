"""Evictions are told as events, which outlive the pods."""

import pytest

from tests.embedded.controllers.controller_runner import ControllerParts, run_scenario, running_controllers
from tests.embedded.controllers.fake_cluster import FakeCluster, quiet
from tests.objects.documents import Document, pod
from understudy.embedded.controllers.eviction_events import BY_API, EvictionEvents
from understudy.embedded.controllers.runtime.controller import Controller
from understudy.objects.resources import EVENTS, PODS


def evictions(parts: ControllerParts) -> Controller:
    return EvictionEvents(parts.clock, parts.recorder)


def evicted(reason: str = BY_API) -> Document:
    return {"status": {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": reason}]}}


def told(api: FakeCluster) -> list[tuple[str, str, str]]:
    return [(e["involvedObject"]["name"], e["reason"], e["message"]) for e in api.all(EVENTS)]


def test_an_eviction_is_told_once_and_outlives_its_pod() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, evictions):
            api.put(PODS, pod("x", node="a"))
            await quiet()
            assert told(api) == []
            api.change(PODS, "x", evicted())
            api.change(PODS, "x", {"metadata": {"labels": {"more": "changes"}}})
            api.remove(PODS, "x")
            await api.clock.advance(1)
            assert told(api) == [("x", "Evicted", "Evicted from node a by the Eviction API")]
            assert api.all(EVENTS)[0]["count"] == 1

    run_scenario(scenario)


@pytest.mark.parametrize(("node", "reason"), [("", BY_API), ("a", "PreemptionByScheduler")])
def test_other_ends_of_pods_are_no_evictions(node: str, reason: str) -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, evictions):
            api.put(PODS, pod("x", node=node))
            api.change(PODS, "x", evicted(reason))
            await api.clock.advance(1)
            assert told(api) == []

    run_scenario(scenario)
