"""GET: objects, lists, pages, tables, metadata alone."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.embedded.server.in_process_server import CONFIG_MAPS, PODS, Server, config_map, pod, server

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"


def names(listed: Any) -> list[str]:
    return [item["metadata"]["name"] for item in listed["items"]]


async def fill(ask: Server, *maps: str) -> None:
    for name in maps:
        await ask.post(CONFIG_MAPS, config_map(name))


def test_a_missing_object_is_not_found(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            status = await ask.refused(404, "NotFound", "GET", f"{PODS}/none")
            assert status["message"] == 'pods "none" not found'
            assert status["details"] == {"name": "none", "kind": "pods"}
            status = await ask.refused(404, "NotFound", "GET", "/apis/batch/v1/namespaces/default/jobs/none")
            assert status["message"] == 'jobs.batch "none" not found'

    asyncio.run(scenario())


def test_a_list_is_ordered_and_has_its_revision(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await fill(ask, "b", "c", "a")
            await ask.post("/api/v1/namespaces/kube-public/configmaps", config_map("b"))
            listed = await ask.get(CONFIG_MAPS)
            assert (listed["kind"], listed["apiVersion"], names(listed)) == ("ConfigMapList", "v1", ["a", "b", "c"])
            assert listed["metadata"] == {"resourceVersion": str(ask.state.store.revision)}
            everywhere = await ask.get("/api/v1/configmaps")
            places = [item["metadata"]["namespace"] for item in everywhere["items"]]
            assert places == ["default", "default", "default", "kube-public"]
            assert await ask.get("/api/v1/namespaces/kube-system/configmaps") == {
                "kind": "ConfigMapList",
                "apiVersion": "v1",
                "metadata": {"resourceVersion": str(ask.state.store.revision)},
                "items": [],
            }

    asyncio.run(scenario())


def test_selectors_filter_lists(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(PODS, pod("web", labels={"app": "web", "tier": "front"}))
            await ask.post(PODS, pod("db", labels={"app": "db"}))
            await ask.post("/api/v1/namespaces/kube-public/pods", pod("web", labels={"app": "web"}))
            for query, expected in {
                "labelSelector=app=web": ["web"],
                "labelSelector=app in (web, db)": ["db", "web"],
                "labelSelector=!tier": ["db"],
                "fieldSelector=metadata.name=db": ["db"],
                "fieldSelector=status.phase!=Pending": [],
                "fieldSelector=metadata.name=db&labelSelector=app=web": [],
            }.items():
                assert names(await ask.get(f"{PODS}?{query}")) == expected, query
            assert names(await ask.get("/api/v1/pods?fieldSelector=metadata.name=web")) == ["web", "web"]
            await ask.refused(400, "BadRequest", "GET", f"{PODS}?labelSelector=a b c")
            await ask.refused(400, "BadRequest", "GET", f"{PODS}?fieldSelector=spec.nonsense=1")

    asyncio.run(scenario())


def test_pages_show_each_object_once_while_others_write(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await fill(ask, *(f"m{n:02d}" for n in range(10)))
            page = await ask.get(f"{CONFIG_MAPS}?limit=4")
            first, seen = page["metadata"]["resourceVersion"], names(page)
            assert page["metadata"]["remainingItemCount"] == 6
            await fill(ask, "m03-new", "m07-new")
            await ask.delete(f"{CONFIG_MAPS}/m00")
            while token := page["metadata"].get("continue"):
                page = await ask.get(f"{CONFIG_MAPS}?limit=4&continue={token}")
                assert page["metadata"]["resourceVersion"] == first
                seen += names(page)
            assert seen == sorted(seen)
            assert set(seen) == {f"m{n:02d}" for n in range(10)} | {"m03-new", "m07-new"}

    asyncio.run(scenario())


def test_with_a_selector_the_remaining_objects_are_not_counted(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await fill(ask, "a", "b", "c")
            page = await ask.get(f"{CONFIG_MAPS}?limit=1&labelSelector=!x")
            assert page["metadata"]["continue"]
            assert "remainingItemCount" not in page["metadata"]

    asyncio.run(scenario())


@pytest.mark.parametrize("token", ["!", "e30", "WzEsIngiXQ", "é", "A" * 5000, "W1tbW1tb"])
def test_a_made_up_continue_token_is_a_bad_request(tmp_path: Path, token: str) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.refused(400, "BadRequest", "GET", f"{CONFIG_MAPS}?limit=1&continue={token}")

    asyncio.run(scenario())


def test_old_and_future_revisions(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await fill(ask, "a", "b")
            now = ask.state.store.revision
            for query in (
                "resourceVersion=0",
                "resourceVersion=1",
                f"resourceVersion={now}&resourceVersionMatch=Exact",
            ):
                assert names(await ask.get(f"{CONFIG_MAPS}?{query}")) == ["a", "b"]
            old = f"{CONFIG_MAPS}?resourceVersion=1&resourceVersionMatch=Exact"
            await ask.refused(410, "Expired", "GET", old)
            status = await ask.refused(504, "Timeout", "GET", f"{CONFIG_MAPS}?resourceVersion={now + 1}")
            assert status["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
            for nonsense in ("resourceVersion=abc", "resourceVersionMatch=Exact", "limit=many", "limit=9" + "9" * 30):
                await ask.refused(400, "BadRequest", "GET", f"{CONFIG_MAPS}?{nonsense}")

    asyncio.run(scenario())


def test_tables_have_columns_rows_and_the_revision_of_the_list(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(PODS, pod("one"))
            ask.clock.now += 90
            table = await ask.get(PODS, accept=TABLE)
            assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
            assert table["metadata"] == {"resourceVersion": str(ask.state.store.revision)}
            assert [column["name"] for column in table["columnDefinitions"]][:5] == [
                "Name",
                "Ready",
                "Status",
                "Restarts",
                "Age",
            ]
            assert table["rows"][0]["cells"][:5] == ["one", "0/1", "Pending", "0", "90s"]
            assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
            whole = await ask.get(f"{PODS}/one?includeObject=Object", accept=TABLE)
            assert whole["rows"][0]["object"]["spec"]["containers"][0]["name"] == "main"
            await ask.refused(400, "BadRequest", "GET", f"{PODS}?includeObject=Half", headers={"accept": TABLE})

    asyncio.run(scenario())


def test_metadata_alone(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            made = await ask.post(PODS, pod("one"))
            alone = await ask.get(f"{PODS}/one", accept=PARTIAL)
            assert alone == {
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": made["metadata"],
            }
            listed = await ask.get(PODS, accept=PARTIAL_LIST)
            assert (listed["kind"], listed["items"]) == ("PartialObjectMetadataList", [alone])
            assert listed["metadata"]["resourceVersion"] == str(ask.state.store.revision)

    asyncio.run(scenario())


def test_protobuf_is_answered_with_json_or_not_at_all(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            both = {"accept": "application/vnd.kubernetes.protobuf,application/json"}
            reply = await ask("GET", PODS, headers=both)
            assert (reply.code, reply.header("content-type")) == (200, "application/json")
            await ask.refused(
                406, "NotAcceptable", "GET", PODS, headers={"accept": "application/vnd.kubernetes.protobuf"}
            )

    asyncio.run(scenario())


def test_the_same_object_in_another_version(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            old, new = "/apis/scheduling.k8s.io/v1beta1/priorityclasses", "/apis/scheduling.k8s.io/v1/priorityclasses"
            body = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PriorityClass", "value": 7}
            made = await ask.post(old, body | {"metadata": {"name": "high"}})
            assert made["apiVersion"] == "scheduling.k8s.io/v1beta1"
            read = await ask.get(f"{new}/high")
            assert read["apiVersion"] == "scheduling.k8s.io/v1"
            assert read | {"apiVersion": made["apiVersion"]} == made
            listed = await ask.get(old)
            assert {item["apiVersion"] for item in listed["items"]} == {"scheduling.k8s.io/v1beta1"}

    asyncio.run(scenario())


def test_a_table_of_events_is_in_the_order_of_revisions(tmp_path: Path) -> None:
    events = "/api/v1/namespaces/default/events"

    async def scenario() -> None:
        async with server(tmp_path) as ask:
            for name, reason in (("z", "Scheduled"), ("m", "Created"), ("a", "Started")):
                about = {"kind": "Pod", "namespace": "default", "name": "worker"}
                await ask.post(events, {"metadata": {"name": name}, "involvedObject": about, "reason": reason})
            shown = (await ask("GET", events, headers={"accept": TABLE})).json
            assert [row["cells"][2] for row in shown["rows"]] == ["Scheduled", "Created", "Started"]
            plain = await ask.get(events)
            assert [item["metadata"]["name"] for item in plain["items"]] == ["a", "m", "z"]

    asyncio.run(scenario())
