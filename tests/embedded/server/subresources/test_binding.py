"""Binding of single pods and of gangs."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.embedded.server.in_process_server import PODS, Server, pod, server

SEATINGS = "/apis/understudy.dev/v1/namespaces/default/seatings"


async def gang(ask: Server, *names: str) -> list[dict[str, str]]:
    """Pods, and the seats they are to have."""
    made = [await ask.post(PODS, pod(name)) for name in names]
    return [{"pod": one["metadata"]["name"], "uid": one["metadata"]["uid"], "node": "node-a"} for one in made]


def condition(found: Any) -> dict[str, str]:
    return next(one for one in found["status"]["conditions"] if one["type"] == "PodScheduled")


def test_a_bound_pod_has_a_node_and_the_condition_scheduled(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(PODS, pod("one"))
            status = await ask.post(f"{PODS}/one/binding", {"target": {"kind": "Node", "name": "node-a"}})
            assert status["status"] == "Success"
            found = await ask.get(f"{PODS}/one")
            assert found["spec"]["nodeName"] == "node-a"
            assert condition(found) == {
                "type": "PodScheduled",
                "status": "True",
                "lastTransitionTime": "2023-11-14T22:13:20Z",
            }

    asyncio.run(scenario())


def test_a_pod_is_bound_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(PODS, pod("one"))
            await ask.post(f"{PODS}/one/binding", {"target": {"name": "node-a"}})
            for node in ("node-a", "node-b"):
                again = {"target": {"name": node}}
                status = await ask.refused(409, "Conflict", "POST", f"{PODS}/one/binding", again)
                assert status["details"] == {"name": "one", "kind": "pods/binding"}
                assert 'pod one is already assigned to node "node-a"' in status["message"]
                await ask.refused(409, "Conflict", "POST", f"{PODS}/one/binding?dryRun=All", again)
            other = {"metadata": {"name": "two"}, "target": {"name": "node-a"}}
            await ask.refused(400, "BadRequest", "POST", f"{PODS}/one/binding", other)
            await ask.refused(404, "NotFound", "POST", f"{PODS}/two/binding", again)
            await ask.refused(400, "BadRequest", "POST", f"{PODS}/one/binding", {"target": {"name": ""}})
            await ask.refused(400, "BadRequest", "POST", f"{PODS}/one/binding", {"target": 5})
            await ask.refused(405, "MethodNotAllowed", "GET", f"{PODS}/one/binding")

    asyncio.run(scenario())


def test_a_gang_is_bound_in_one_write(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            seats = await gang(ask, "a", "b", "c")
            await ask.post(SEATINGS, {"seatings": seats})
            listed = await ask.get(PODS)
            assert [item["spec"]["nodeName"] for item in listed["items"]] == ["node-a"] * 3
            revisions = sorted(int(item["metadata"]["resourceVersion"]) for item in listed["items"])
            assert revisions == list(range(revisions[0], revisions[0] + 3))
            before = ask.state.store.revision
            await ask.post(SEATINGS, {"seatings": seats})
            assert ask.state.store.revision == before

    asyncio.run(scenario())


async def gone(ask: Server) -> None:
    await ask.delete(f"{PODS}/b")


async def replaced(ask: Server) -> None:
    await ask.delete(f"{PODS}/b")
    await ask.post(PODS, pod("b"))


async def leaving(ask: Server) -> None:
    await ask.patch(f"{PODS}/b", {"metadata": {"finalizers": ["a.example/x"]}})
    await ask.delete(f"{PODS}/b")


async def elsewhere(ask: Server) -> None:
    await ask.post(f"{PODS}/b/binding", {"target": {"name": "node-b"}})


def test_a_repeated_binding_of_a_gang_succeeds(tmp_path: Path) -> None:
    """Also where only some of its pods have seats: they were bound one by one."""

    async def scenario() -> None:
        async with server(tmp_path) as ask:
            seats = await gang(ask, "a", "b")
            await ask.post(f"{PODS}/a/binding", {"metadata": {"name": "a"}, "target": {"name": "node-a"}})
            await ask.post(SEATINGS, {"seatings": seats})
            assert (await ask.get(f"{PODS}/b"))["spec"]["nodeName"] == "node-a"

    asyncio.run(scenario())


@pytest.mark.parametrize("accident", [gone, replaced, leaving, elsewhere])
def test_one_pod_that_cannot_be_bound_leaves_the_whole_gang_unbound(tmp_path: Path, accident: Any) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            seats = await gang(ask, "a", "b", "c")
            await accident(ask)
            await ask.refused(409, "Conflict", "POST", SEATINGS, {"seatings": seats})
            for name in ("a", "c"):
                assert "nodeName" not in (await ask.get(f"{PODS}/{name}"))["spec"]

    asyncio.run(scenario())


async def fails(ask: Server) -> None:
    await ask.patch(f"{PODS}/a/status", {"status": {"phase": "Failed"}})


async def is_deleted(ask: Server) -> None:
    await ask.patch(f"{PODS}/a", {"metadata": {"finalizers": ["a.example/x"]}})
    await ask.delete(f"{PODS}/a")


@pytest.mark.parametrize("accident", [fails, is_deleted])
def test_no_pod_of_a_gang_is_bound_beside_one_that_has_lost_its_seat(tmp_path: Path, accident: Any) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            seats = await gang(ask, "a", "b")
            await ask.post(SEATINGS, {"seatings": seats[:1]})
            await accident(ask)
            await ask.refused(409, "Conflict", "POST", SEATINGS, {"seatings": seats})
            assert "nodeName" not in (await ask.get(f"{PODS}/b"))["spec"]

    asyncio.run(scenario())


def test_gated_pods_are_not_bound(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(PODS, pod("one", schedulingGates=[{"name": "example.com/wait"}]))
            await ask.refused(409, "Conflict", "POST", f"{PODS}/one/binding", {"target": {"name": "node-a"}})

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        {"seatings": []},
        {"seatings": [{"pod": "a"}]},
        {},
        [],
        {"seatings": [{"pod": "a", "uid": "", "node": "n"}] * 2},
    ],
)
def test_invalid_seatings_are_refused(tmp_path: Path, body: Any) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await gang(ask, "a")
            await ask.refused(400, "BadRequest", "POST", SEATINGS, body)
            await ask.refused(405, "MethodNotAllowed", "GET", SEATINGS)

    asyncio.run(scenario())


def test_a_dry_run_binds_no_pod(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            seats = await gang(ask, "a")
            await ask.post(f"{SEATINGS}?dryRun=All", {"seatings": seats})
            assert "nodeName" not in (await ask.get(f"{PODS}/a"))["spec"]

    asyncio.run(scenario())
