"""POST: names, namespaces, fields the server sets, refusals."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from tests.embedded.server.in_process_server import CONFIG_MAPS, PODS, config_map, pod, server
from understudy.embedded.server.registry import create


def test_a_new_object_gets_the_fields_only_the_server_sets(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            made = await ask.post(PODS, pod("one"))
            meta = made["metadata"]
            assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", meta["uid"])
            assert meta["creationTimestamp"] == "2023-11-14T22:13:20Z"
            assert meta["namespace"] == "default"
            assert int(meta["resourceVersion"]) > 0
            assert made["status"]["phase"] == "Pending"
            assert await ask.get(f"{PODS}/one") == made

    asyncio.run(scenario())


def test_server_side_fields_from_the_client_are_ignored(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            claim: dict[str, Any] = {
                "uid": "mine",
                "creationTimestamp": "2000-01-01T00:00:00Z",
                "deletionTimestamp": "2000-01-01T00:00:00Z",
            }
            claim |= {"managedFields": [{"manager": "me", "operation": "Apply"}], "generation": 7, "selfLink": "/x"}
            body = config_map("claims")
            body["metadata"] |= claim
            made = (await ask.post(CONFIG_MAPS, body))["metadata"]
            assert made["uid"] != "mine"
            assert made["creationTimestamp"] != claim["creationTimestamp"]
            assert not {"deletionTimestamp", "managedFields", "selfLink"} & made.keys()

    asyncio.run(scenario())


def test_generated_names_end_in_five_letters_and_never_collide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(create, "_LETTERS", "bc")  # 32 names, so that a second try is needed soon

    async def scenario() -> None:
        async with server(tmp_path) as ask:
            names = {(await ask.post(PODS, pod()))["metadata"]["name"] for _ in range(12)}
            assert len(names) == 12
            assert all(re.fullmatch("pod-[bc]{5}", name) for name in names)

    asyncio.run(scenario())


def test_a_long_generate_name_is_cut_so_that_the_name_still_fits(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            body = pod()
            body["metadata"]["generateName"] = "x" * 90
            name = (await ask.post(PODS, body))["metadata"]["name"]
            assert len(name) == 63

    asyncio.run(scenario())


def test_a_second_object_of_the_same_name_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            replies = await asyncio.gather(*(ask("POST", PODS, pod("same")) for _ in range(5)))
            assert sorted(reply.code for reply in replies) == [201, 409, 409, 409, 409]
            status = await ask.refused(409, "AlreadyExists", "POST", PODS, pod("same"))
            assert status["message"] == 'pods "same" already exists'
            assert status["details"] == {"name": "same", "kind": "pods"}

    asyncio.run(scenario())


def test_objects_need_a_namespace_that_is_not_being_deleted(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            status = await ask.refused(404, "NotFound", "POST", "/api/v1/namespaces/nowhere/pods", pod("one"))
            assert status["message"] == 'namespaces "nowhere" not found'
            await ask.post("/api/v1/namespaces", {"metadata": {"name": "leaving"}})
            await ask.delete("/api/v1/namespaces/leaving")
            status = await ask.refused(403, "Forbidden", "POST", "/api/v1/namespaces/leaving/pods", pod("one"))
            assert "because it is being terminated" in status["message"]
            assert status["details"]["causes"][0]["reason"] == "NamespaceTerminating"

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"namespace": "other"}, "does not match the namespace sent on the request"),
        ({"resourceVersion": "12"}, "resourceVersion should not be set"),
    ],
)
def test_metadata_that_contradicts_the_request_is_a_bad_request(
    tmp_path: Path, change: dict[str, str], message: str
) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            body = pod("one")
            body["metadata"] |= change
            assert message in (await ask.refused(400, "BadRequest", "POST", PODS, body))["message"]
            await ask.refused(404, "NotFound", "GET", f"{PODS}/one")

    asyncio.run(scenario())


def test_an_object_without_any_name_is_invalid(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            body = config_map("")
            status = await ask.refused(422, "Invalid", "POST", CONFIG_MAPS, body)
            assert status["details"]["causes"][0]["field"] == "metadata.name"

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "name", ["../../etc", "a/b", "UPPER", "a" * 254, "-x", "x-", "a..b", "%2e", " ", "\u0000", "é", "."]
)
def test_hostile_names_are_refused(tmp_path: Path, name: str) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            before = ask.state.store.revision
            await ask.refused(422, "Invalid", "POST", CONFIG_MAPS, config_map(name))
            assert ask.state.store.revision == before

    asyncio.run(scenario())


def test_a_dry_run_answers_as_if_and_stores_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            before = ask.state.store.revision
            made = await ask.post(f"{PODS}?dryRun=All", pod("one"))
            assert made["metadata"]["uid"]
            assert "resourceVersion" not in made["metadata"]
            await ask.refused(404, "NotFound", "GET", f"{PODS}/one")
            await ask.refused(400, "BadRequest", "POST", f"{PODS}?dryRun=Some", pod("one"))
            assert ask.state.store.revision == before

    asyncio.run(scenario())


def test_unknown_fields_are_refused_warned_about_or_dropped(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            body = pod("one", nodeSelectr={})
            status = await ask.refused(400, "BadRequest", "POST", f"{PODS}?fieldValidation=Strict", body)
            assert 'unknown field "spec.nodeSelectr"' in status["message"]
            await ask.refused(400, "BadRequest", "POST", f"{PODS}?fieldValidation=Perhaps", body)
            reply = await ask("POST", f"{PODS}?dryRun=All", body)
            assert reply.code == 201
            assert 'unknown field \\"spec.nodeSelectr\\"' in reply.warnings[0]
            quiet = await ask("POST", f"{PODS}?fieldValidation=Ignore", body)
            assert (quiet.code, quiet.warnings) == (201, [])
            assert "nodeSelectr" not in quiet.json["spec"]

    asyncio.run(scenario())


def test_the_number_of_warnings_is_limited(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            reply = await ask("POST", PODS, {**pod("one"), **{f"strange{n}": 1 for n in range(500)}})
            assert (reply.code, len(reply.warnings)) == (201, 20)

    asyncio.run(scenario())


def test_an_object_larger_than_can_be_stored_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            body = config_map("huge")
            body["metadata"]["finalizers"] = [f"example.com/{'x' * 50}-{n}" for n in range(30_000)]
            status = await ask.refused(413, "RequestEntityTooLarge", "POST", CONFIG_MAPS, body)
            assert "at most 1572864 can be stored" in status["message"]
            await ask.refused(404, "NotFound", "GET", f"{CONFIG_MAPS}/huge")

    asyncio.run(scenario())


def test_long_yaml_does_not_hold_up_other_requests(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            text = "metadata: {name: long}\ndata:\n" + "".join(f"  key-{n}: value\n" for n in range(20_000))
            long = asyncio.ensure_future(ask("POST", CONFIG_MAPS, text.encode(), content_type="application/yaml"))
            await ask.post(CONFIG_MAPS, config_map("short"))
            assert not long.done()
            assert len((await long).json["data"]) == 20_000

    asyncio.run(scenario())


def test_bodies_may_be_yaml_or_have_no_content_type(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            text = b"metadata:\n  name: written\ndata:\n  when: 2020-01-01\n"
            reply = await ask("POST", CONFIG_MAPS, text, content_type="application/yaml")
            assert (reply.code, reply.json["data"]) == (201, {"when": "2020-01-01"})
            bare = await ask("POST", CONFIG_MAPS, config_map("bare"), content_type="")
            assert bare.code == 201

    asyncio.run(scenario())


def test_namespaced_objects_are_not_created_without_a_namespace(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.refused(405, "MethodNotAllowed", "POST", "/api/v1/pods", pod("one"))

    asyncio.run(scenario())


def test_pods_without_a_priority_class_get_the_default_one(tmp_path: Path) -> None:
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"

    async def scenario() -> None:
        async with server(tmp_path) as ask:
            assert (await ask.post(PODS, pod("before")))["spec"]["priority"] == 0
            await ask.post(classes, {"metadata": {"name": "low"}, "value": -5})
            await ask.post(classes, {"metadata": {"name": "usual"}, "value": 7, "globalDefault": True})
            spec = (await ask.post(PODS, pod("after")))["spec"]
            assert (spec["priority"], spec["priorityClassName"]) == (7, "usual")
            second = {"metadata": {"name": "second"}, "value": 8, "globalDefault": True}
            status = await ask.refused(403, "Forbidden", "POST", classes, second)
            assert "PriorityClass usual is the default already" in status["message"]

    asyncio.run(scenario())
