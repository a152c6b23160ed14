"""The current state: records in order, and what a restart reads from the log."""

import asyncio
import contextlib
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.embedded.store.store_writes import SHORT_MEMORY, everything, key, opened, put, remove, told
from understudy.embedded.store.change_log import StoreDamaged
from understudy.embedded.store.current_state import CurrentState
from understudy.embedded.store.records import Compacted, EventType, Key, Limits, Record, StoreEvent

KEYS = st.builds(
    Key,
    st.sampled_from(["pods", "nodes"]),
    st.sampled_from(["", "a", "a-b", "b"]),
    st.sampled_from(["x", "x-1", "x.1", "y", "z"]),
)


def apply(shelves: CurrentState, key: Key, *, revision: int, dead: bool = False) -> None:
    before = shelves.get(key)
    change = EventType.MODIFIED if before else EventType.ADDED
    record = Record(key, revision, b"")
    shelves.apply(StoreEvent(EventType.DELETED if dead else change, record, before))


@given(st.lists(st.tuples(KEYS, st.booleans(), st.booleans())))
def test_lists_are_those_of_a_plain_dict_sorted(steps: list[tuple[Key, bool, bool]]) -> None:
    shelves = CurrentState()
    model: dict[Key, int] = {}
    for revision, (written, dead, listed) in enumerate(steps):
        if dead and written not in model:
            continue
        apply(shelves, written, revision=revision, dead=dead)
        model[written] = revision
        if dead:
            del model[written]
        if listed:  # a list in between settles the order that later writes disturb
            shelves.list(written.resource, written.namespace)
    for resource in ("pods", "nodes"):
        expected = [key for key in sorted(model) if key.resource == resource]
        assert [record.key for record in shelves.list(resource, "")] == expected
        for namespace in ("a", "a-b", "b"):
            inside = [key for key in expected if key.namespace == namespace]
            assert [record.key for record in shelves.list(resource, namespace)] == inside
    assert {key: record.revision for key in model if (record := shelves.get(key))} == model


def test_a_list_belongs_to_the_caller() -> None:
    shelves = CurrentState()
    apply(shelves, key("a"), revision=2)
    listed = shelves.list("pods", "default")
    apply(shelves, key("b"), revision=3)
    listed.clear()
    assert [record.key.name for record in shelves.list("pods", "default")] == ["a", "b"]


def rows(path: Path) -> list[int]:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return [revision for (revision,) in connection.execute("SELECT revision FROM log ORDER BY 1")]


def test_a_watch_resumes_after_a_restart(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "db") as store:
            await store.submit([put("a"), put("b"), put("a"), remove("b"), put("b"), put("node", resource="nodes")])
            before = {since: await everything(store.watch("pods", since), last=6) for since in range(1, 6)}
        async with opened(tmp_path / "db") as store:
            assert store.revision == 7
            for since, events in before.items():
                assert await everything(store.watch("pods", since), last=6) == events
            await store.submit([put("b")])
            assert told(await store.watch("pods", 6).take()) == ["MODIFIED b 8, was 6"]

    asyncio.run(scenario())


def test_revisions_go_on_even_if_all_that_is_left_are_forgotten_deletions(tmp_path: Path) -> None:
    async def scenario() -> None:
        limits = Limits(history_events=0, forget_events=1)
        async with opened(tmp_path / "db", limits) as store:
            await store.submit([put("a")])
            await store.submit([remove("a")])
        assert rows(tmp_path / "db") == []
        async with opened(tmp_path / "db", limits) as store:
            assert store.revision == 3
            (record,) = await store.submit([put("a")])
            assert record.revision == 4

    asyncio.run(scenario())


def test_the_log_keeps_only_the_state_and_the_history(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "db", SHORT_MEMORY) as store:
            await store.submit([put("first"), put("second")])
            for _ in range(100):
                await store.submit([put("busy")])
                await store.submit([remove("busy")])
        # The last ten events, what the oldest of them replaced, and a bite not worth taking yet.
        kept = rows(tmp_path / "db")
        assert kept[:2] == [2, 3]
        assert kept[-10:] == list(range(194, 204))
        assert len(kept) <= 2 + 10 + 1 + 2 * SHORT_MEMORY.forget_events

    asyncio.run(scenario())


def test_a_watch_resumes_at_the_horizon_and_not_before_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "db", SHORT_MEMORY) as store:
            for _ in range(100):
                await store.submit([put("a")])
            told_last = await everything(store.watch("pods", 91), last=101)
        async with opened(tmp_path / "db", SHORT_MEMORY) as store:
            assert await everything(store.watch("pods", 91), last=101) == told_last
            assert told(told_last)[0] == "MODIFIED a 92, was 91"
            with pytest.raises(Compacted):
                store.watch("pods", 90)
            with pytest.raises(Compacted):  # what else went on before the horizon is not known after a restart
                store.watch("nodes", 50)

    asyncio.run(scenario())


def test_lower_limits_apply_to_an_existing_log(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "db") as store:
            for number in range(100):
                await store.submit([put("a", str(number))])
        async with opened(tmp_path / "db", SHORT_MEMORY) as store:
            with pytest.raises(Compacted):
                store.watch("pods", 50)
            for _ in range(100):
                await store.submit([put("b")])
        assert len(rows(tmp_path / "db")) <= 1 + 11 + SHORT_MEMORY.forget_events
        async with opened(tmp_path / "db", SHORT_MEMORY) as store:
            record = store.get(key("a"))
            assert record is not None
            assert record.revision == 101

    asyncio.run(scenario())


def test_higher_limits_do_not_restore_compacted_events(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "db", SHORT_MEMORY) as store:
            for _ in range(30):
                await store.submit([put("a")])
        async with opened(tmp_path / "db") as store:
            for since in range(1, 31):
                try:
                    events = await everything(store.watch("pods", since), last=31)
                except Compacted:
                    assert since < 21
                else:
                    assert told(events) == [f"MODIFIED a {at}, was {at - 1}" for at in range(since + 1, 32)]

    asyncio.run(scenario())


def test_a_log_that_contradicts_itself_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "db") as store:
            await store.submit([put("a"), remove("a")])

    asyncio.run(scenario())
    with contextlib.closing(sqlite3.connect(tmp_path / "db", isolation_level=None)) as connection:
        connection.execute("DELETE FROM log WHERE revision = 2")
    with pytest.raises(StoreDamaged, match="revision 3 removes an object that is not there"):
        asyncio.run(scenario())
