"""Evictions that a disruption budget allows or refuses."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.embedded.server.in_process_server import PODS, STRATEGIC, Server, pod, server

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


async def running(ask: Server, *names: str, ready: str = "True") -> None:
    for name in names:
        await ask.post(PODS, pod(name, labels={"app": "web"}))
        await ask.post(f"{PODS}/{name}/binding", {"target": {"name": "node-a"}})
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}
        await ask.patch(f"{PODS}/{name}/status", {"status": status}, STRATEGIC)


async def budget(ask: Server, name: str = "web", **spec: Any) -> None:
    selector = {"matchLabels": {"app": "web"}}
    await ask.post(BUDGETS, {"metadata": {"name": name}, "spec": {"selector": selector, **spec}})


async def evict(ask: Server, name: str, **options: Any) -> int:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, "deleteOptions": options}
    return (await ask("POST", f"{PODS}/{name}/eviction", body)).code


def test_without_a_budget_an_eviction_is_a_deletion(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await running(ask, "a")
            assert await evict(ask, "a", gracePeriodSeconds=7) == 201
            found = await ask.get(f"{PODS}/a")
            assert found["metadata"]["deletionGracePeriodSeconds"] == 7
            target = next(one for one in found["status"]["conditions"] if one["type"] == "DisruptionTarget")
            assert target["reason"] == "EvictionByEvictionAPI"
            await ask.refused(404, "NotFound", "POST", f"{PODS}/none/eviction", {})

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("spec", "may_go"),
    [
        ({"minAvailable": 2}, 1),
        ({"maxUnavailable": 1}, 1),
        ({"minAvailable": "34%"}, 1),
        ({"maxUnavailable": "100%"}, 3),
        ({"minAvailable": 3}, 0),
        ({"maxUnavailable": 0}, 0),
    ],
)
def test_a_budget_allows_a_number_of_evictions(tmp_path: Path, spec: dict[str, Any], may_go: int) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await running(ask, "a", "b", "c")
            await budget(ask, **spec)
            codes = await asyncio.gather(*(evict(ask, name) for name in "abc"))
            assert sorted(codes) == [201] * may_go + [429] * (3 - may_go)

    asyncio.run(scenario())


def test_a_refusal_names_the_budget(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await running(ask, "a")
            await budget(ask, minAvailable=1)
            status = await ask.refused(429, "TooManyRequests", "POST", f"{PODS}/a/eviction", {})
            cause = status["details"]["causes"][0]
            assert cause["reason"] == "DisruptionBudget"
            assert "web needs 1 healthy pods and has 1" in cause["message"]

    asyncio.run(scenario())


def test_pods_that_do_not_run_cost_no_budget(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await budget(ask, maxUnavailable=0)
            await ask.post(PODS, pod("waiting", labels={"app": "web"}))
            assert await evict(ask, "waiting") == 201
            await running(ask, "leaving")
            await ask.delete(f"{PODS}/leaving")
            assert await evict(ask, "leaving") == 201

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("policy", "healthy", "code"),
    [("IfHealthyBudget", ("a", "b"), 201), ("IfHealthyBudget", ("a",), 429), ("AlwaysAllow", ("a",), 201)],
)
def test_an_unhealthy_pod_may_be_evicted_where_the_others_are_enough(
    tmp_path: Path, policy: str, healthy: tuple[str, ...], code: int
) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await running(ask, *healthy)
            await running(ask, "sick", ready="False")
            await budget(ask, minAvailable=2, unhealthyPodEvictionPolicy=policy)
            assert await evict(ask, "sick") == code

    asyncio.run(scenario())


def test_two_budgets_for_one_pod_are_an_error(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await running(ask, "a")
            await budget(ask, "one", maxUnavailable=1)
            await budget(ask, "two", maxUnavailable=1)
            await ask.refused(500, "InternalError", "POST", f"{PODS}/a/eviction", {})

    asyncio.run(scenario())


def test_a_dry_run_evicts_no_pod_but_checks_the_budget(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await running(ask, "a")
            assert await evict(ask, "a", dryRun=["All"]) == 201
            assert "deletionTimestamp" not in (await ask.get(f"{PODS}/a"))["metadata"]
            await budget(ask, minAvailable=1)
            assert await evict(ask, "a", dryRun=["All"]) == 429

    asyncio.run(scenario())


def test_an_invalid_eviction_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await running(ask, "a")
            for body in (b"{", {"deleteOptions": 3}, {"deleteOptions": {"propagationPolicy": "Up"}}):
                await ask.refused(400, "BadRequest", "POST", f"{PODS}/a/eviction", body)

    asyncio.run(scenario())
