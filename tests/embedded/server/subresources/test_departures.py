"""Departures: pods are deleted together in one write, each with a condition that gives the reason."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.embedded.server.in_process_server import PODS, Server, pod, server

DEPARTURES = "/apis/understudy.dev/v1/namespaces/default/departures"
TOLD = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByUnderstudy", "message": "its node died"}


async def departures(ask: Server, *names: str, **more: Any) -> list[dict[str, Any]]:
    """Of pods that are made and seated here."""
    found = []
    for name in names:
        made = await ask.post(PODS, pod(name, **more))
        await ask.post(f"{PODS}/{name}/binding", {"target": {"name": "node-a"}})
        found.append({"pod": name, "uid": made["metadata"]["uid"], "condition": TOLD})
    return found


def test_pods_without_grace_are_deleted_at_once_and_others_get_a_condition(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            lost, moved = await departures(ask, "lost", "moved")
            await ask.post(DEPARTURES, {"departures": [{**lost, "grace": 0}, moved]})
            await ask.refused(404, "NotFound", "GET", f"{PODS}/lost")
            found = await ask.get(f"{PODS}/moved")
            assert found["metadata"]["deletionGracePeriodSeconds"] == 30
            assert TOLD in found["status"]["conditions"]
            assert {one["type"] for one in found["status"]["conditions"]} == {"PodScheduled", "DisruptionTarget"}

    asyncio.run(scenario())


def test_missing_and_replaced_pods_are_skipped(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            [one] = await departures(ask, "one")
            gone, other = {**one, "pod": "gone"}, {**one, "uid": "another", "grace": 0}
            await ask.post(DEPARTURES, {"departures": [gone, other]})
            found = await ask.get(f"{PODS}/one")
            assert "deletionTimestamp" not in found["metadata"]
            await ask.post(f"{DEPARTURES}?dryRun=All", {"departures": [{**one, "grace": 0}]})
            assert "deletionTimestamp" not in (await ask.get(f"{PODS}/one"))["metadata"]

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        {},
        {"departures": []},
        {"departures": [{"pod": "a", "uid": ""}]},
        {"departures": [{"pod": "a", "uid": "u", "condition": {}}] * 2},
        {"departures": [{"pod": "a", "uid": "u", "condition": 7}]},
    ],
)
def test_invalid_departures_are_refused(tmp_path: Path, body: Any) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await departures(ask, "a")
            await ask.refused(400, "BadRequest", "POST", DEPARTURES, body)
            await ask.refused(405, "MethodNotAllowed", "GET", DEPARTURES)

    asyncio.run(scenario())


def test_an_invalid_condition_is_refused_and_no_pod_is_deleted(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            one, two = await departures(ask, "one", "two")
            status = await ask.refused(
                400, "BadRequest", "POST", DEPARTURES, {"departures": [one, {**two, "condition": {"type": "X"}}]}
            )
            assert "condition of pod two" in status["message"]
            for name in ("one", "two"):
                assert "deletionTimestamp" not in (await ask.get(f"{PODS}/{name}"))["metadata"]

    asyncio.run(scenario())
