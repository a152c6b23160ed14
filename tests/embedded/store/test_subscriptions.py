"""Subscriptions deliver every durable event once and in order, to slow, late and interrupted readers."""

import asyncio
from pathlib import Path

import pytest

from tests.embedded.store.store_writes import SHORT_MEMORY, everything, opened, put, remove, told
from understudy.embedded.store.records import Compacted, Limits, StoreEvent
from understudy.embedded.store.subscriptions import Subscription


def test_a_watch_starts_now_or_at_a_revision(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "db") as store:
            await store.submit([put("a"), put("b")])
            now, then, start = store.watch("pods"), store.watch("pods", 2), store.watch("pods", 1)
            await store.submit([put("a")])
            assert told(await now.take()) == ["MODIFIED a 4, was 2"]
            assert told(await then.take()) == ["ADDED b 3", "MODIFIED a 4, was 2"]
            assert told(await start.take()) == ["ADDED a 2", "ADDED b 3", "MODIFIED a 4, was 2"]

    asyncio.run(scenario())


def test_events_are_delivered_only_when_durable(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "db") as store:
            watch = store.watch("pods")
            done = store.submit([put("a")])
            assert await watch.take(within=0) == []
            assert not done.done()
            await done
            assert told(await watch.take()) == ["ADDED a 2"]

    asyncio.run(scenario())


def test_many_watchers_get_all_events_of_their_resource_only(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "db") as store:
            pods = [asyncio.create_task(everything(store.watch("pods"), last=300)) for _ in range(20)]
            nodes = [asyncio.create_task(everything(store.watch("nodes"), last=301)) for _ in range(20)]
            await asyncio.sleep(0)
            for number in range(2, 302):
                store.submit([put(f"n{number}", resource="nodes" if number % 2 else "pods")])
            for events in await asyncio.gather(*pods):
                assert [event.record.revision for event in events] == list(range(2, 301, 2))
            for events in await asyncio.gather(*nodes):
                assert [event.record.revision for event in events] == list(range(3, 302, 2))

    asyncio.run(scenario())


def test_an_interrupted_reader_resumes_at_its_position(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "db") as store:
            watch = store.watch("pods")
            reading = asyncio.create_task(watch.take())
            await asyncio.sleep(0)
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading
            assert await watch.take(within=0.001) == []
            await store.submit([put("a")])
            assert told(await watch.take(within=60)) == ["ADDED a 2"]

    asyncio.run(scenario())


def test_a_slow_watcher_gets_all_kept_events_and_ends_when_compacted(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "db", SHORT_MEMORY) as store:
            slow, stuck = store.watch("pods"), store.watch("pods")
            for _ in range(10):
                await store.submit([put("a")])
            assert len(await everything(slow, last=11)) == 10
            await store.submit([put("a")])
            with pytest.raises(Compacted):
                await stuck.take()
            assert stuck.ended
            assert await stuck.take() == []
            assert told(await slow.take()) == ["MODIFIED a 12, was 11"]

    asyncio.run(scenario())


def test_a_quiet_watch_outlives_any_number_of_other_events(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "db", SHORT_MEMORY) as store:
            watch = store.watch("nodes")
            reading = asyncio.create_task(watch.take())
            for _ in range(50):
                await store.submit([put("a")])
            assert watch.revision == store.revision == 51
            await store.submit([put("node", resource="nodes")])
            assert told(await reading) == ["ADDED node 52"]

    asyncio.run(scenario())


def test_a_watch_knows_the_revision_it_has_reached(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "db", Limits(delivery_events=2)) as store:
            watch = store.watch("pods")
            await store.submit([put("a"), put("b"), put("c"), put("node", resource="nodes")])
            assert watch.revision == 1
            assert told(await watch.take()) == ["ADDED a 2", "ADDED b 3"]
            assert watch.revision == 3
            assert told(await watch.take()) == ["ADDED c 4"]
            assert watch.revision == 5

    asyncio.run(scenario())


def test_a_revision_of_another_cluster_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "db") as store:
            with pytest.raises(Compacted, match="has not been reached"):
                store.watch("pods", 2)
            with pytest.raises(Compacted, match="too old"):
                store.watch("pods", 0)

    asyncio.run(scenario())


def test_iteration_ends_with_the_subscription_or_the_store(tmp_path: Path) -> None:
    async def collect(watch: Subscription) -> list[StoreEvent]:
        return [event async for events in watch for event in events]

    async def scenario() -> None:
        async with opened(tmp_path / "db") as store:
            watches = [store.watch("pods"), store.watch("pods")]
            first, second = [asyncio.create_task(collect(watch)) for watch in watches]
            await store.submit([put("a")])
            await asyncio.sleep(0)
            watches[0].close()
            assert told(await first) == ["ADDED a 2"]
            await store.submit([remove("a")])
            await asyncio.sleep(0)
        assert told(await second) == ["ADDED a 2", "DELETED a 3, was 2"]

    asyncio.run(scenario())
