"""What writers, readers and watchers see of the store, and when."""

import asyncio
from functools import partial
from pathlib import Path

import pytest
import uvloop

from tests.embedded.store.store_writes import everything, key, names, opened, put, remove, told
from understudy.embedded.store.lock_file import StoreInUse
from understudy.embedded.store.records import Key, Put, StoreClosed


def test_a_write_can_be_read_once_it_is_durable(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "db") as store:
            assert store.revision == 1
            (record,) = await store.submit([put("web", "first")])
            assert record.revision == store.revision == 2
            assert record.body == b"web first 2"
            assert store.get(key("web")) is record

    asyncio.run(scenario())


def test_writers_see_what_readers_do_not_see_yet(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "db") as store:
            done = store.submit([put("web")])
            newest = store.newest(key("web"))
            assert newest is not None
            assert (store.get(key("web")), store.list("pods"), store.revision) == (None, [], 1)
            assert await done == (newest,)
            assert store.get(key("web")) is newest

            removed = store.submit([remove("web")])
            assert store.newest(key("web")) is None
            assert store.get(key("web")) is newest
            await removed
            assert store.get(key("web")) is None

    asyncio.run(scenario())


def test_a_batch_shows_as_a_whole_with_a_revision_a_write(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "db") as store:
            watch = store.watch("pods")
            records = await store.submit([put("a"), put("b"), put("a", "again"), remove("b")])
            assert [record.revision for record in records] == [2, 3, 4, 5]
            assert names(store.list("pods")) == ["a"]
            events = await watch.take()
            assert told(events) == ["ADDED a 2", "ADDED b 3", "MODIFIED a 4, was 2", "DELETED b 5, was 3"]
            assert events[-1].record.body == b"b gone 5"

    asyncio.run(scenario())


def test_writes_become_durable_in_the_order_they_were_submitted(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "db") as store:
            order: list[int] = []
            submitted = [store.submit([put(f"pod-{number % 7}")]) for number in range(500)]
            for done in submitted:
                done.add_done_callback(lambda done: order.append(done.result()[0].revision))
            results = await asyncio.gather(*submitted)
            assert [record.revision for (record,) in results] == order == list(range(2, 502))

    asyncio.run(scenario())


def test_no_writes_are_done_at_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "db") as store:
            assert await store.submit([]) == ()
            assert store.revision == 1

    asyncio.run(scenario())


def test_a_body_that_cannot_be_made_changes_nothing(tmp_path: Path) -> None:
    def broken(revision: int) -> bytes:
        raise ValueError(f"no body at {revision}")

    async def scenario() -> None:
        async with opened(tmp_path / "db") as store:
            with pytest.raises(ValueError, match="no body at 3"):
                store.submit([put("a"), Put(key("b"), broken)])
            with pytest.raises(KeyError):
                store.submit([put("a"), remove("missing")])
            assert store.newest(key("a")) is None
            (record,) = await store.submit([put("a")])
            assert record.revision == 2

    asyncio.run(scenario())


def test_a_cancelled_write_does_not_hold_up_others(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "db") as store:
            left, stayed = store.submit([put("a")]), store.submit([put("b")])
            left.cancel()
            await stayed
            assert names(store.list("pods")) == ["a", "b"]

    asyncio.run(scenario())


def test_all_revisions_of_an_object_share_its_key(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "db") as store:
            (first,) = await store.submit([put("web")])
            (second,) = await store.submit([put("web")])
            assert second.key is first.key

    asyncio.run(scenario())


def test_writes_submitted_before_closing_are_stored(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "db") as store:
            submitted = [store.submit([put(f"pod-{number:03}")]) for number in range(300)]
            await store.close()
            assert all(done.done() for done in submitted)
            with pytest.raises(StoreClosed):
                store.submit([put("late")])
        async with opened(tmp_path / "db") as store:
            assert names(store.list("pods")) == [f"pod-{number:03}" for number in range(300)]

    asyncio.run(scenario())


def test_a_closed_store_can_be_opened_at_once_and_an_open_one_cannot(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "db") as store:
            with pytest.raises(StoreInUse):
                async with opened(tmp_path / "db"):
                    pass
            await asyncio.gather(store.close(), store.close())
        async with opened(tmp_path / "db"):
            pass

    asyncio.run(scenario())


def say(body: bytes, _revision: int) -> bytes:
    return body


def test_bodies_come_back_byte_by_byte(tmp_path: Path) -> None:
    bodies = [b"", bytes(range(256)), b"\x00" * 10_000, "ü→\U0001f600".encode(), b"x" * 300_000]
    keys = [Key("pods", "", "ünïcode \U0001f600"), *(key(f"n{number}") for number in range(1, len(bodies)))]

    async def scenario() -> None:
        writes = [Put(key, partial(say, body)) for key, body in zip(keys, bodies, strict=True)]
        async with opened(tmp_path / "db") as store:
            await store.submit(writes)
        async with opened(tmp_path / "db") as store:
            records = [store.get(key) for key in keys]
            assert [record.body for record in records if record] == bodies

    asyncio.run(scenario())


def test_it_works_on_uvloop_as_well(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "db") as store:
            watch = store.watch("pods")
            await asyncio.gather(*(store.submit([put(f"pod-{number}")]) for number in range(200)))
            events = await everything(watch, last=201)
            assert [event.record.revision for event in events] == list(range(2, 202))

    uvloop.run(scenario())


def test_writes_that_accompany_a_submission_become_durable_with_it_and_are_not_answered(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "db") as store:
            store.accompany(lambda events: [put("count", f"after {events[-1].record.key.name}")])
            watch = store.watch("pods")
            (record,) = await store.submit([put("web")])
            assert record.key.name == "web"
            assert told(await watch.take()) == ["ADDED web 2", "ADDED count 3"]
            assert sorted(names(store.list_newest("pods", ""))) == ["count", "web"]

    asyncio.run(scenario())


def test_an_accompaniment_that_fails_leaves_the_submission_undone(tmp_path: Path) -> None:
    def fails(_: object) -> list[Put]:
        raise RuntimeError("cannot be counted")

    async def scenario() -> None:
        async with opened(tmp_path / "db") as store:
            await store.submit([put("web", "first")])
            store.accompany(fails)
            with pytest.raises(RuntimeError, match="cannot be counted"):
                await store.submit([put("web", "second"), put("other")])
            newest = store.newest(key("web"))
            assert newest is not None
            assert newest.body == b"web first 2"
            assert store.newest(key("other")) is None

    asyncio.run(scenario())
