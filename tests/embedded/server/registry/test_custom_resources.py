"""Custom resources are served and deleted with their definition."""

import asyncio
from pathlib import Path
from typing import Any

from tests.embedded.server.in_process_server import APPLY, MERGE, STRATEGIC, Server, server

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


def definition(*versions: str, **spec: Any) -> Any:
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {"size": {"type": "integer", "minimum": 1}}},
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    served = [
        {
            "name": name,
            "served": True,
            "storage": place == 0,
            "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": schema},
        }
        for place, name in enumerate(versions or ("v1",))
    ]
    names = {"kind": "Widget", "plural": "widgets"}
    return {
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "names": names, "scope": "Namespaced", "versions": served, **spec},
    }


def widget(name: str, size: int = 1, **meta: Any) -> Any:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": name, **meta},
        "spec": {"size": size},
    }


async def served(ask: Server) -> bool:
    return (await ask("GET", WIDGETS)).code == 200


async def until_gone(ask: Server, url: str) -> None:
    async with asyncio.timeout(60), ask.watch(DEFINITIONS) as watch:
        while (await ask("GET", url)).code != 404:
            await watch.next()


def test_a_kind_is_served_as_soon_as_its_definition_is_stored(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            assert not await served(ask)
            made = await ask.post(DEFINITIONS, definition())
            conditions = {one["type"]: one["status"] for one in made["status"]["conditions"]}
            assert conditions["Established"] == "True"
            assert made["metadata"]["finalizers"] == [CLEANUP]
            assert await served(ask)
            assert "example.com" in {group["name"] for group in (await ask.get("/apis"))["groups"]}
            assert (await ask.get("/apis/example.com/v1"))["resources"][0]["kind"] == "Widget"
            await ask.post(WIDGETS, widget("one", 3))
            status = await ask.refused(422, "Invalid", "POST", WIDGETS, widget("two", 0))
            assert status["details"]["causes"][0]["field"] == "spec.size"

    asyncio.run(scenario())


def test_a_restarted_server_still_serves_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(DEFINITIONS, definition())
            made = await ask.post(WIDGETS, widget("one", 3))
        async with server(tmp_path) as ask:
            assert await ask.get(f"{WIDGETS}/one") == made

    asyncio.run(scenario())


def test_a_new_schema_applies_from_the_next_request_on(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            made = await ask.post(DEFINITIONS, definition())
            await ask.refused(422, "Invalid", "POST", WIDGETS, widget("one", 0))
            properties = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
            properties["spec"]["properties"]["size"]["minimum"] = 0
            await ask.put(f"{DEFINITIONS}/widgets.example.com", made)
            await ask.post(WIDGETS, widget("one", 0))

    asyncio.run(scenario())


def test_every_version_shows_the_same_object(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            made = await ask.post(DEFINITIONS, definition("v1", "v2"))
            await ask.post(WIDGETS, widget("one", 3))
            newer = WIDGETS.replace("/v1/", "/v2/")
            assert (await ask.get(f"{newer}/one"))["apiVersion"] == "example.com/v2"
            body = widget("two") | {"apiVersion": "example.com/v2"}
            assert (await ask.post(newer, body))["apiVersion"] == "example.com/v2"
            assert (await ask.get(f"{WIDGETS}/two"))["apiVersion"] == "example.com/v1"
            for version in made["spec"]["versions"]:
                version["storage"] = version["name"] == "v2"
            await ask.put(f"{DEFINITIONS}/widgets.example.com", made)
            listed = await ask.get(newer)
            assert {item["apiVersion"] for item in listed["items"]} == {"example.com/v2"}
            assert {item["apiVersion"] for item in (await ask.get(WIDGETS))["items"]} == {"example.com/v1"}

    asyncio.run(scenario())


def test_updates_of_custom_resources(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(DEFINITIONS, definition())
            await ask.post(WIDGETS, widget("one"))
            await ask.refused(415, "UnsupportedMediaType", "PATCH", f"{WIDGETS}/one", {}, content_type=STRATEGIC)
            await ask.refused(422, "Invalid", "PUT", f"{WIDGETS}/one", widget("one", 2))
            changed = await ask.patch(f"{WIDGETS}/one", {"spec": {"size": 5}, "status": {"x": 1}}, MERGE)
            assert (changed["spec"]["size"], changed.get("status")) == (5, None)
            assert changed["metadata"]["generation"] == 2
            known = await ask.patch(f"{WIDGETS}/one/status", {"status": {"x": 1}}, MERGE)
            assert (known["status"], known["metadata"]["generation"]) == ({"x": 1}, 2)
            await ask.patch(f"{WIDGETS}/two?fieldManager=me", widget("two", 2), APPLY)

    asyncio.run(scenario())


def test_deleting_a_definition_deletes_its_objects(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(DEFINITIONS, definition())
            await ask.post(WIDGETS, widget("one"))
            async with ask.watch(WIDGETS) as watch:
                assert await watch.told(1) == [("ADDED", "one")]
                leaving = await ask.delete(f"{DEFINITIONS}/widgets.example.com")
                assert leaving["metadata"]["deletionTimestamp"]
                assert await watch.told(1) == [("DELETED", "one")]
            await until_gone(ask, f"{DEFINITIONS}/widgets.example.com")
            assert not await served(ask)
            await ask.post(DEFINITIONS, definition())
            assert (await ask.get(WIDGETS))["items"] == []

    asyncio.run(scenario())


def test_objects_with_finalizers_hold_their_definition(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(DEFINITIONS, definition())
            await ask.post(WIDGETS, widget("held", finalizers=["example.com/hold"]))
            await ask.delete(f"{DEFINITIONS}/widgets.example.com")
            async with ask.watch(WIDGETS) as watch:
                while "deletionTimestamp" not in (await watch.next())["object"]["metadata"]:
                    pass
            await ask.refused(405, "MethodNotAllowed", "POST", WIDGETS, widget("late"))
        async with server(tmp_path) as ask:  # a restart does not forget what was under way
            assert await served(ask)
            await ask.patch(f"{WIDGETS}/held", {"metadata": {"finalizers": None}}, MERGE)
            await until_gone(ask, f"{DEFINITIONS}/widgets.example.com")
            assert not await served(ask)

    asyncio.run(scenario())


def test_a_definition_cannot_take_a_built_in_name(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            for plural, kind, group in (
                ("leases", "Lease", "coordination.k8s.io"),
                ("selfsubjectaccessreviews", "SelfSubjectAccessReview", "authorization.k8s.io"),
            ):
                body = definition(group=group, names={"kind": kind, "plural": plural})
                body["metadata"] = {
                    "name": f"{plural}.{group}",
                    "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
                }
                await ask.refused(422, "Invalid", "POST", DEFINITIONS, body)

    asyncio.run(scenario())


def test_a_definition_without_served_versions_serves_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            made = await ask.post(DEFINITIONS, definition())
            await ask.post(WIDGETS, widget("one", finalizers=["example.com/hold"]))
            made["spec"]["versions"][0]["served"] = False
            await ask.put(f"{DEFINITIONS}/widgets.example.com", made)
            assert not await served(ask)
            await ask.delete(f"{DEFINITIONS}/widgets.example.com")
            await until_gone(ask, f"{DEFINITIONS}/widgets.example.com")

    asyncio.run(scenario())


def test_every_request_through_a_deprecated_version_is_answered_with_a_warning(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            given = definition("v1", "v1beta1")
            given["spec"]["versions"][1]["deprecated"] = True
            await ask.post(DEFINITIONS, given)
            old = WIDGETS.replace("v1", "v1beta1")
            warning = '299 - "example.com/v1beta1 Widget is deprecated; use example.com/v1 Widget"'
            made = await ask("POST", old, {**widget("one"), "apiVersion": "example.com/v1beta1"})
            assert (made.code, made.warnings) == (201, [warning])
            for url, told in ((old, [warning]), (f"{old}/one", [warning]), (f"{WIDGETS}/one", [])):
                assert (await ask("GET", url)).warnings == told
            async with ask.watch(old) as watch:
                await watch.next()
                assert (b"warning", warning.encode()) in watch.exchange.started["headers"]

    asyncio.run(scenario())
