"""DELETE: at once, with a grace period, with finalizers, of collections."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.embedded.server.in_process_server import CONFIG_MAPS, PODS, STRATEGIC, Server, config_map, pod, server

JOBS = "/apis/batch/v1/namespaces/default/jobs"


def held(name: str, *finalizers: str) -> Any:
    body = config_map(name)
    body["metadata"]["finalizers"] = list(finalizers)
    return body


async def bound(ask: Server, name: str, **spec: Any) -> Any:
    await ask.post(PODS, pod(name, **spec))
    await ask.post(f"{PODS}/{name}/binding", {"target": {"name": "node-a"}})
    return await ask.get(f"{PODS}/{name}")


def test_an_object_without_finalizers_is_deleted_at_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            made = await ask.post(CONFIG_MAPS, config_map("one"))
            assert await ask.delete(f"{CONFIG_MAPS}/one") == {
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Success",
                "details": {"name": "one", "kind": "configmaps", "uid": made["metadata"]["uid"]},
            }
            await ask.refused(404, "NotFound", "GET", f"{CONFIG_MAPS}/one")
            await ask.refused(404, "NotFound", "DELETE", f"{CONFIG_MAPS}/one")

    asyncio.run(scenario())


def test_a_pod_without_a_node_is_deleted_at_once_and_returned(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            made = await ask.post(PODS, pod("one"))
            gone = await ask.delete(f"{PODS}/one")
            assert (gone["kind"], gone["metadata"]["uid"]) == ("Pod", made["metadata"]["uid"])
            await ask.refused(404, "NotFound", "GET", f"{PODS}/one")

    asyncio.run(scenario())


def test_a_bound_pod_gets_its_grace_period(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await bound(ask, "one", terminationGracePeriodSeconds=20)
            leaving = await ask.delete(f"{PODS}/one")
            assert leaving["metadata"]["deletionTimestamp"] == "2023-11-14T22:13:40Z"
            assert leaving["metadata"]["deletionGracePeriodSeconds"] == 20
            ask.clock.now += 5
            assert await ask.delete(f"{PODS}/one?gracePeriodSeconds=25") == leaving
            sooner = await ask.delete(f"{PODS}/one", {"gracePeriodSeconds": 10})
            assert sooner["metadata"]["deletionTimestamp"] == "2023-11-14T22:13:30Z"
            assert sooner["metadata"]["deletionGracePeriodSeconds"] == 10
            await ask.delete(f"{PODS}/one?gracePeriodSeconds=0")
            await ask.refused(404, "NotFound", "GET", f"{PODS}/one")

    asyncio.run(scenario())


def test_a_pod_that_has_ended_gets_no_grace_period(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await bound(ask, "one")
            await ask.patch(f"{PODS}/one/status", {"status": {"phase": "Succeeded"}}, STRATEGIC)
            await ask.delete(f"{PODS}/one")
            await ask.refused(404, "NotFound", "GET", f"{PODS}/one")

    asyncio.run(scenario())


def test_finalizers_hold_an_object_until_the_last_is_removed(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(CONFIG_MAPS, held("one", "a.example/x", "b.example/y"))
            leaving = await ask.delete(f"{CONFIG_MAPS}/one")
            assert leaving["metadata"]["deletionTimestamp"] == "2023-11-14T22:13:20Z"
            assert await ask.delete(f"{CONFIG_MAPS}/one") == leaving
            more = {"metadata": {"finalizers": ["a.example/x", "b.example/y", "c.example/z"]}}
            await ask.refused(
                422, "Invalid", "PATCH", f"{CONFIG_MAPS}/one", more, content_type="application/merge-patch+json"
            )
            await ask.patch(f"{CONFIG_MAPS}/one", {"metadata": {"finalizers": ["b.example/y"]}})
            assert (await ask.get(f"{CONFIG_MAPS}/one"))["metadata"]["finalizers"] == ["b.example/y"]
            await ask.patch(f"{CONFIG_MAPS}/one", {"metadata": {"finalizers": None}})
            await ask.refused(404, "NotFound", "GET", f"{CONFIG_MAPS}/one")

    asyncio.run(scenario())


def test_a_pod_waits_for_its_grace_period_and_its_finalizers(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            body = pod("one")
            body["metadata"]["finalizers"] = ["a.example/x"]
            await ask.post(PODS, body)
            await ask.post(f"{PODS}/one/binding", {"target": {"name": "node-a"}})
            await ask.delete(f"{PODS}/one")
            await ask.patch(f"{PODS}/one", {"metadata": {"finalizers": None}})
            assert (await ask.get(f"{PODS}/one"))["metadata"]["deletionGracePeriodSeconds"] == 30
            await ask.delete(f"{PODS}/one?gracePeriodSeconds=0")
            await ask.refused(404, "NotFound", "GET", f"{PODS}/one")

    asyncio.run(scenario())


@pytest.mark.parametrize("field", ["uid", "resourceVersion"])
def test_preconditions_guard_against_deleting_another(tmp_path: Path, field: str) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            made = await ask.post(CONFIG_MAPS, config_map("one"))
            wrong = {"preconditions": {field: "123456"}}
            await ask.refused(409, "Conflict", "DELETE", f"{CONFIG_MAPS}/one", wrong)
            await ask.delete(f"{CONFIG_MAPS}/one", {"preconditions": {field: made["metadata"][field]}})
            await ask.refused(404, "NotFound", "GET", f"{CONFIG_MAPS}/one")

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("options", "finalizers"),
    [
        ({"propagationPolicy": "Foreground"}, ["foregroundDeletion"]),
        ({"propagationPolicy": "Orphan"}, ["orphan"]),
        ({"orphanDependents": True}, ["orphan"]),
        ({}, None),
        ({"propagationPolicy": "Background"}, None),
    ],
)
def test_the_propagation_policy_becomes_finalizers(
    tmp_path: Path, options: dict[str, Any], finalizers: list[str] | None
) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(CONFIG_MAPS, config_map("one"))
            answer = await ask.delete(f"{CONFIG_MAPS}/one", options)
            assert answer.get("metadata", {}).get("finalizers") == finalizers
            assert (await ask("GET", f"{CONFIG_MAPS}/one")).code == (200 if finalizers else 404)

    asyncio.run(scenario())


def test_a_policy_can_still_be_changed_while_the_object_waits(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(CONFIG_MAPS, config_map("one"))
            await ask.delete(f"{CONFIG_MAPS}/one?propagationPolicy=Foreground")
            changed = await ask.delete(f"{CONFIG_MAPS}/one?propagationPolicy=Orphan")
            assert changed["metadata"]["finalizers"] == ["orphan"]
            await ask.delete(f"{CONFIG_MAPS}/one?propagationPolicy=Background")
            await ask.refused(404, "NotFound", "GET", f"{CONFIG_MAPS}/one")

    asyncio.run(scenario())


def test_deleting_a_job_orphans_its_pods_by_default(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}}
            for name in ("one", "two"):
                await ask.post(JOBS, {"metadata": {"name": name}, "spec": {"template": template}})
            reply = await ask("DELETE", f"{JOBS}/one")
            assert reply.json["metadata"]["finalizers"] == ["orphan"]
            assert "propagationPolicy=Background" in reply.warnings[0]
            assert (await ask.delete(f"{JOBS}/two?propagationPolicy=Background"))["status"] == "Success"

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "options",
    [
        b"{",
        b"[" * 50_000,
        {"propagationPolicy": "Sideways"},
        {"propagationPolicy": "Orphan", "orphanDependents": True},
        {"gracePeriodSeconds": "soon"},
        {"dryRun": ["Some"]},
    ],
)
def test_invalid_options_delete_nothing(tmp_path: Path, options: Any) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            made = await ask.post(CONFIG_MAPS, config_map("one"))
            await ask.refused(400, "BadRequest", "DELETE", f"{CONFIG_MAPS}/one", options)
            assert await ask.get(f"{CONFIG_MAPS}/one") == made

    asyncio.run(scenario())


def test_a_dry_run_deletes_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            made = await ask.post(CONFIG_MAPS, config_map("one"))
            assert (await ask.delete(f"{CONFIG_MAPS}/one?dryRun=All"))["status"] == "Success"
            await ask.delete(CONFIG_MAPS, {"dryRun": ["All"]})
            assert await ask.get(f"{CONFIG_MAPS}/one") == made

    asyncio.run(scenario())


def test_a_collection_is_deleted_by_selector(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            for name, app in (("a", "x"), ("b", "x"), ("c", "y")):
                await ask.post(PODS, pod(name, labels={"app": app}))
            await ask.post("/api/v1/namespaces/kube-public/pods", pod("d", labels={"app": "x"}))
            gone = await ask.delete(f"{PODS}?labelSelector=app=x")
            assert [item["metadata"]["name"] for item in gone["items"]] == ["a", "b"]
            left = await ask.get("/api/v1/pods")
            assert [item["metadata"]["name"] for item in left["items"]] == ["c", "d"]
            await ask.refused(405, "MethodNotAllowed", "DELETE", "/api/v1/pods")
            await ask.refused(405, "MethodNotAllowed", "DELETE", "/api/v1/namespaces")

    asyncio.run(scenario())


def test_a_collection_is_deleted_whole_or_not_at_all(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            made = [await ask.post(CONFIG_MAPS, config_map(name)) for name in ("a", "b")]
            only_one = {"preconditions": {"uid": made[0]["metadata"]["uid"]}}
            await ask.refused(409, "Conflict", "DELETE", CONFIG_MAPS, only_one)
            assert len((await ask.get(CONFIG_MAPS))["items"]) == 2

    asyncio.run(scenario())
