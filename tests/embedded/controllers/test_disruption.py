"""How many pods a budget lets go, where kubectl and evictions look for it."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.embedded.controllers.controller_runner import ControllerParts, run_scenario, running_controllers
from tests.embedded.controllers.fake_cluster import FakeCluster, quiet
from tests.objects.documents import Document, metadata, pod
from understudy.embedded.controllers import disruption
from understudy.embedded.controllers.disruption import DisruptionController, SeenBudget, status_of
from understudy.embedded.controllers.runtime.controller import Controller
from understudy.kinds.children.partial_objects import PartialPod
from understudy.objects.resources import BUDGETS, PODS

READY = {"conditions": [{"type": "Ready", "status": "True"}]}


def budgets(parts: ControllerParts) -> Controller:
    return DisruptionController(parts.cluster, parts.clock)


def budget(name: str = "keep", **spec: Any) -> Document:
    spec.setdefault("selector", {"matchLabels": {"app": "train"}})
    meta = metadata(name, generation=3)
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta, "spec": spec}


def trainer(name: str, ready: bool = True, **meta: Any) -> Document:
    return pod(name, node="a", meta={"labels": {"app": "train"}, **meta}, status=READY if ready else {})


@pytest.mark.parametrize(
    ("spec", "desired", "allowed"),
    [
        ({"minAvailable": 2}, 2, 1),
        ({"minAvailable": "50%"}, 2, 1),
        ({"minAvailable": 5}, 5, 0),
        ({"maxUnavailable": 1}, 3, 0),
        ({"maxUnavailable": "50%"}, 2, 1),
        ({"maxUnavailable": 0}, 4, 0),
    ],
)
def test_three_of_four_pods_are_healthy(spec: Document, desired: int, allowed: int) -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, budgets):
            for number in range(3):
                api.put(PODS, trainer(f"p{number}"))
            api.put(PODS, trainer("starting", ready=False))
            api.put(PODS, pod("stranger", node="a", status=READY))
            api.put(BUDGETS, budget(**spec))
            await quiet()
            status = api.read(BUDGETS, "keep")["status"]
            figures = {key: status[key] for key in ("expectedPods", "currentHealthy", "desiredHealthy")}
            assert figures == {"expectedPods": 4, "currentHealthy": 3, "desiredHealthy": desired}
            assert (status["disruptionsAllowed"], status["observedGeneration"]) == (allowed, 3)
            assert status["conditions"][0]["reason"] == ("SufficientPods" if allowed else "InsufficientPods")

    run_scenario(scenario)


def test_pods_that_leave_or_finish_change_the_figures() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, budgets):
            for number in range(3):
                api.put(PODS, trainer(f"p{number}"))
            api.put(BUDGETS, budget(minAvailable=1))
            await quiet()
            turned = api.read(BUDGETS, "keep")["status"]["conditions"][0]["lastTransitionTime"]
            await api.clock.advance(60)
            leaving = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}
            api.change(PODS, "p0", {"metadata": leaving})
            await api.clock.advance(1)
            status = api.read(BUDGETS, "keep")["status"]
            assert (status["currentHealthy"], status["disruptionsAllowed"]) == (2, 1)
            assert status["conditions"][0]["lastTransitionTime"] == turned
            for name in ("p0", "p1"):
                api.change(PODS, name, {"status": {"phase": "Succeeded"}})
            await api.clock.advance(1)
            status = api.read(BUDGETS, "keep")["status"]
            assert (status["expectedPods"], status["disruptionsAllowed"]) == (1, 0)
            assert status["conditions"][0]["lastTransitionTime"] != turned

    run_scenario(scenario)


def test_a_budget_that_is_right_is_not_written_again() -> None:
    async def scenario(api: FakeCluster) -> None:
        api.put(BUDGETS, budget(minAvailable=1))
        api.put(PODS, trainer("p"))
        async with running_controllers(api, budgets):
            await quiet()
            before = len(api.requests)
            api.change(PODS, "p", {"metadata": {"annotations": {"note": "irrelevant"}}})
            await api.clock.advance(1)
            assert len(api.requests) == before

    run_scenario(scenario)


def test_a_budget_without_pods_allows_nothing() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, budgets):
            api.put(BUDGETS, budget(maxUnavailable=1))
            await quiet()
            assert api.read(BUDGETS, "keep")["status"]["disruptionsAllowed"] == 0

    run_scenario(scenario)


def test_the_pods_of_a_huge_namespace_are_looked_at_a_few_times_while_they_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[int] = []

    def counted(budget: SeenBudget, pods: Sequence[PartialPod], now: float) -> dict[str, Any]:
        looks.append(len(pods))
        return status_of(budget, pods, now)

    monkeypatch.setattr(disruption, "status_of", counted)

    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, budgets):
            api.put(BUDGETS, budget(minAvailable=1))
            for number in range(600):
                api.put(PODS, trainer(f"p{number}"))
            await api.clock.advance(1)
            del looks[:]
            for number in range(200):
                api.put(PODS, trainer(f"more{number}"))
                await api.clock.advance(0.005)
            await api.clock.advance(1)
            assert api.read(BUDGETS, "keep")["status"]["currentHealthy"] == 800
            assert len(looks) <= 40  # 100 with a batch each 20 ms: each write is looked at, too

    run_scenario(scenario)
