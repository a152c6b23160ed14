"""Watches: every event once, filtered by selectors."""

import asyncio
from pathlib import Path

import pytest

from tests.embedded.server.in_process_server import CONFIG_MAPS, PODS, config_map, pod, server
from understudy.embedded.server.watch import watch_stream
from understudy.embedded.store.records import Limits

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"


def test_current_objects_come_first_then_every_change(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(CONFIG_MAPS, config_map("old"))
            await ask.post("/api/v1/namespaces/kube-public/configmaps", config_map("elsewhere"))
            async with ask.watch(CONFIG_MAPS) as watch:
                assert await watch.told(1) == [("ADDED", "old")]
                made = await ask.post(CONFIG_MAPS, config_map("new", a="1"))
                await ask.patch(f"{CONFIG_MAPS}/new", {"data": {"a": "2"}})
                await ask.post("/api/v1/namespaces/kube-public/configmaps", config_map("elsewhere-too"))
                await ask.delete(f"{CONFIG_MAPS}/new")
                assert (await watch.next())["object"] == made
                assert await watch.told(2) == [("MODIFIED", "new"), ("DELETED", "new")]

    asyncio.run(scenario())


def test_a_watch_resumes_from_the_revision_of_a_list(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(CONFIG_MAPS, config_map("a"))
            revision = (await ask.get(CONFIG_MAPS))["metadata"]["resourceVersion"]
            await ask.post(CONFIG_MAPS, config_map("b"))
            async with ask.watch(f"{CONFIG_MAPS}?resourceVersion={revision}") as watch:
                await ask.post(CONFIG_MAPS, config_map("c"))
                assert await watch.told(2) == [("ADDED", "b"), ("ADDED", "c")]

    asyncio.run(scenario())


def test_no_event_is_missed_while_writers_run(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:

            async def write(worker: int) -> None:
                for n in range(20):
                    await ask.post(CONFIG_MAPS, config_map(f"m-{worker}-{n}"))
                    await ask.patch(f"{CONFIG_MAPS}/m-{worker}-{n}", {"data": {"a": "1"}})
                    await ask.delete(f"{CONFIG_MAPS}/m-{worker}-{n}")

            async def listen() -> list[tuple[str, str]]:
                """As clients do: list, watch from there, and again from the last event seen."""
                listed = await ask.get(CONFIG_MAPS)
                revision = int(listed["metadata"]["resourceVersion"])
                seen = [("ADDED", item["metadata"]["name"]) for item in listed["items"]]
                while True:
                    async with ask.watch(f"{CONFIG_MAPS}?resourceVersion={revision}") as watch:
                        for _ in range(17):
                            event = await watch.next()
                            meta = event["object"]["metadata"]
                            assert int(meta["resourceVersion"]) > revision
                            revision = int(meta["resourceVersion"])
                            seen.append((event["type"], meta["name"]))
                            if meta["name"] == "last":
                                return seen

            first = asyncio.create_task(listen())
            writers = [asyncio.create_task(write(worker)) for worker in range(6)]
            await asyncio.sleep(0)
            late = asyncio.create_task(listen())
            await asyncio.gather(*writers)
            await ask.post(CONFIG_MAPS, config_map("last"))
            whole = await first
            expected = [
                (kind, f"m-{worker}-{n}")
                for worker in range(6)
                for n in range(20)
                for kind in ("ADDED", "MODIFIED", "DELETED")
            ]
            assert sorted(whole) == sorted([*expected, ("ADDED", "last")])
            assert (await late)[-1] == ("ADDED", "last")

    asyncio.run(scenario())


def test_selectors_turn_changes_into_added_and_deleted(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask, ask.watch(f"{PODS}?labelSelector=app=web") as watch:
            await ask.post(PODS, pod("one", labels={"app": "db"}))
            await ask.patch(f"{PODS}/one", {"metadata": {"labels": {"app": "web"}}})
            await ask.patch(f"{PODS}/one", {"metadata": {"labels": {"x": "y"}}})
            left = await ask.patch(f"{PODS}/one", {"metadata": {"labels": {"app": "db"}}})
            await ask.patch(f"{PODS}/one", {"metadata": {"labels": {"app": "web"}}})
            await ask.delete(f"{PODS}/one")
            assert await watch.told(2) == [("ADDED", "one"), ("MODIFIED", "one")]
            gone = await watch.next()
            assert (gone["type"], gone["object"]["metadata"]["labels"]) == ("DELETED", {"app": "web", "x": "y"})
            assert gone["object"]["metadata"]["resourceVersion"] == left["metadata"]["resourceVersion"]
            assert await watch.told(2) == [("ADDED", "one"), ("DELETED", "one")]

    asyncio.run(scenario())


def test_one_object_by_name(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(CONFIG_MAPS, config_map("one"))
            await ask.post(CONFIG_MAPS, config_map("two"))
            async with ask.watch(f"{CONFIG_MAPS}?fieldSelector=metadata.name=two") as watch:
                await ask.delete(f"{CONFIG_MAPS}/one")
                await ask.delete(f"{CONFIG_MAPS}/two")
                assert await watch.told(2) == [("ADDED", "two"), ("DELETED", "two")]

    asyncio.run(scenario())


def test_the_end_of_the_initial_events_is_marked_on_request(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(CONFIG_MAPS, config_map("a"))
            revision = str(ask.state.store.revision)
            wish = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
            async with ask.watch(f"{CONFIG_MAPS}?{wish}") as watch:
                assert await watch.told(1) == [("ADDED", "a")]
                mark = await watch.next()
                assert (mark["type"], mark["object"]["kind"]) == ("BOOKMARK", "ConfigMap")
                assert mark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
                assert mark["object"]["metadata"]["resourceVersion"] == revision
            for nonsense in ("sendInitialEvents=true", "resourceVersionMatch=NotOlderThan"):
                await ask.refused(422, "Invalid", "GET", f"{CONFIG_MAPS}?watch=1&{nonsense}")
            ahead = f"{CONFIG_MAPS}?watch=1&{wish}&resourceVersion=999999"
            await ask.refused(504, "Timeout", "GET", ahead)

    asyncio.run(scenario())


def test_a_watch_may_start_without_initial_events(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(CONFIG_MAPS, config_map("a"))
            wish = "sendInitialEvents=false&resourceVersionMatch=NotOlderThan"
            async with ask.watch(f"{CONFIG_MAPS}?{wish}") as watch:
                assert await watch.exchange.pieces.get() == b""  # it has begun
                await ask.post(CONFIG_MAPS, config_map("b"))
                assert await watch.told(1) == [("ADDED", "b")]

    asyncio.run(scenario())


def test_bookmarks_carry_revisions_of_other_resources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_stream, "BOOKMARK_SECONDS", 0.01)

    async def scenario() -> None:
        async with server(tmp_path) as ask:
            async with ask.watch(f"{CONFIG_MAPS}?allowWatchBookmarks=true") as watch:
                await ask.post(PODS, pod("one"))
                target = ask.state.store.revision
                while (mark := await watch.next())["object"]["metadata"]["resourceVersion"] != str(target):
                    assert mark["type"] == "BOOKMARK"
            async with ask.watch(f"{CONFIG_MAPS}?allowWatchBookmarks=true", accept=TABLE) as watch:
                mark = await watch.next()
                assert mark["object"]["rows"][0]["object"]["metadata"]["resourceVersion"] == str(target)

    asyncio.run(scenario())


def test_a_compacted_revision_is_a_410(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path, limits=Limits(history_events=20)) as ask:
            for n in range(60):
                await ask.post(CONFIG_MAPS, config_map(f"m{n}"))
            for revision in (1, ask.state.store.revision + 100):
                async with ask.watch(f"{CONFIG_MAPS}?resourceVersion={revision}") as watch:
                    event = await watch.next()
                    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
                    assert event["object"]["reason"] == "Expired"
                    assert await watch.next() is None

    asyncio.run(scenario())


def test_a_watcher_that_falls_behind_the_history_gets_a_410(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path, limits=Limits(history_events=20)) as ask, ask.watch(CONFIG_MAPS) as watch:
            assert await watch.exchange.pieces.get() == b""  # it has begun
            watch.exchange.flowing.clear()  # and its reader stops reading
            for n in range(60):
                await ask.post(CONFIG_MAPS, config_map(f"m{n}"))
            watch.exchange.flowing.set()
            assert (await watch.told(1))[0][0] == "ADDED"
            while (event := await watch.next())["type"] == "ADDED":
                pass
            assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
            assert await watch.next() is None

    asyncio.run(scenario())


def test_a_watch_ends_when_its_time_is_up(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask, ask.watch(f"{CONFIG_MAPS}?timeoutSeconds=1") as watch:
            assert await watch.next() is None

    asyncio.run(scenario())


def test_a_watch_ends_when_the_server_stops(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask, ask.watch(CONFIG_MAPS) as watch:
            assert await watch.exchange.pieces.get() == b""
            ask.state.close()
            assert await watch.next() is None

    asyncio.run(scenario())


def test_tables_come_row_by_row_and_only_the_first_has_columns(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(PODS, pod("one"))
            async with ask.watch(PODS, accept=TABLE) as watch:
                await ask.post(PODS, pod("two"))
                first, second = await watch.next(), await watch.next()
                assert first["object"]["columnDefinitions"][0]["name"] == "Name"
                assert second["object"]["columnDefinitions"] == []
                assert [event["object"]["rows"][0]["cells"][0] for event in (first, second)] == ["one", "two"]

    asyncio.run(scenario())


def test_metadata_alone_can_be_watched(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            made = await ask.post(PODS, pod("one"))
            async with ask.watch(PODS, accept=PARTIAL) as watch:
                event = await watch.next()
                assert event["object"]["kind"] == "PartialObjectMetadata"
                assert event["object"]["metadata"] == made["metadata"]

    asyncio.run(scenario())


def test_a_watch_of_another_version_sends_that_version(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask, ask.watch("/apis/scheduling.k8s.io/v1beta1/priorityclasses") as watch:
            event = await watch.next()
            assert event["object"]["apiVersion"] == "scheduling.k8s.io/v1beta1"

    asyncio.run(scenario())


def test_a_thousand_watches_at_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:

            async def one() -> list[tuple[str, str]]:
                async with ask.watch(CONFIG_MAPS) as watch:
                    return await watch.told(2)

            watches = [asyncio.create_task(one()) for _ in range(1000)]
            await ask.post(CONFIG_MAPS, config_map("a"))
            await ask.post(CONFIG_MAPS, config_map("b"))
            assert all(told == [("ADDED", "a"), ("ADDED", "b")] for told in await asyncio.gather(*watches))

    asyncio.run(scenario())
