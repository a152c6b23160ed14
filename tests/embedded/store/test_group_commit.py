"""Failed commits: all writes in flight fail, memory is restored, and later writes succeed."""

import asyncio
import contextlib
import resource
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.embedded.store.store_writes import SHORT_MEMORY, key, names, opened, put, remove, told
from understudy.embedded.store.records import Limits, Record, WriteFailed
from understudy.embedded.store.store import Store


@contextlib.contextmanager
def refusing(store: Store, name: str) -> Iterator[None]:
    """The database takes no write of that name."""
    execute = store._committer._log._connection.execute
    execute(
        f"CREATE TRIGGER refusing BEFORE INSERT ON log WHEN new.name = '{name}' "
        "BEGIN SELECT raise(ABORT, 'no more of these'); END"
    )
    yield
    with contextlib.suppress(sqlite3.ProgrammingError):  # the store is closed
        execute("DROP TRIGGER refusing")


@contextlib.contextmanager
def full_disk(size: int) -> Iterator[None]:
    """No file may grow beyond the size: writing to one fails in the middle of a commit, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def outcomes(*submitted: asyncio.Future[tuple[Record, ...]]) -> list[str]:
    results = await asyncio.gather(*submitted, return_exceptions=True)
    return ["failed" if isinstance(result, WriteFailed) else "written" for result in results]


def in_memory(store: Store) -> list[tuple[str, int]]:
    return [(record.key.name, record.revision) for record in store.list("pods")]


def test_all_writes_of_a_submission_fail_together(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "db") as store:
            await store.submit([put("a"), put("old")])
            watch = store.watch("pods")
            with refusing(store, "cursed"):
                with pytest.raises(WriteFailed, match="no more of these"):
                    await store.submit([put("a"), put("cursed"), remove("old"), put("b")])
                assert in_memory(store) == [("a", 2), ("old", 3)]
                for name in ("a", "old", "b", "cursed"):
                    assert store.newest(key(name)) == store.get(key(name))
            (record,) = await store.submit([put("b")])
            assert record.revision == store.revision > 3
            assert told(await watch.take()) == [f"ADDED b {record.revision}"]
        async with opened(tmp_path / "db") as store:
            assert in_memory(store) == [("a", 2), ("b", record.revision), ("old", 3)]

    asyncio.run(scenario())


def test_writes_that_depend_on_a_failed_one_fail_with_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "db", Limits(commit_writes=1)) as store:
            with refusing(store, "cursed"):
                before = store.submit([put("fine")])
                cursed = store.submit([put("cursed")])
                update = store.submit([remove("cursed"), put("heir")])
                assert await outcomes(before, cursed, update) == ["written", "failed", "failed"]
                assert names(store.list("pods")) == ["fine"]
                assert await outcomes(store.submit([put("next")])) == ["written"]
        async with opened(tmp_path / "db") as store:
            assert names(store.list("pods")) == ["fine", "next"]

    asyncio.run(scenario())


def test_a_full_disk_loses_nothing_and_writing_goes_on_when_there_is_room(tmp_path: Path) -> None:
    path = tmp_path / "db"

    async def scenario() -> None:
        async with opened(path) as store:
            await store.submit([put("a")])
            with full_disk(path.with_name("db-wal").stat().st_size + 10_000):
                with pytest.raises(WriteFailed, match="disk I/O error"):
                    await store.submit([put("b", "b" * 100_000)])
                assert in_memory(store) == [("a", 2)]
            (record,) = await store.submit([put("c", "c" * 100_000)])
        async with opened(path) as store:
            assert in_memory(store) == [("a", 2), ("c", record.revision)]

    asyncio.run(scenario())


def test_the_files_of_a_killed_process_are_read_where_no_byte_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / "after" / "db"

    async def scenario() -> None:
        async with opened(tmp_path / "db") as store:
            await store.submit([put("a")])
            path.parent.mkdir(mode=0o700)
            for name in ("db", "db-wal"):
                shutil.copy(tmp_path / name, path.with_name(name))
        with full_disk(0):
            async with opened(path) as store:
                assert in_memory(store) == [("a", 2)]
                assert await outcomes(store.submit([put("b")])) == ["failed"]
        async with opened(path) as store:
            assert in_memory(store) == [("a", 2)]
            assert await outcomes(store.submit([put("b")])) == ["written"]

    asyncio.run(scenario())


def test_a_store_can_be_closed_while_a_commit_fails(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "db", Limits(commit_writes=1)) as store:
            with refusing(store, "cursed"):
                submitted = [store.submit([put("cursed")]), store.submit([put("after")])]
                await store.close()
                assert await outcomes(*submitted) == ["failed", "failed"]

    asyncio.run(scenario())


def test_a_compaction_that_fails_is_tried_again_and_no_write_fails(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "db"

    async def scenario() -> None:
        async with opened(path, SHORT_MEMORY) as store:
            execute = store._committer._log._connection.execute
            execute("CREATE TRIGGER keep BEFORE DELETE ON log BEGIN SELECT raise(ABORT, 'kept'); END")
            for _ in range(40):
                await store.submit([put("a")])
            execute("DROP TRIGGER keep")
            for _ in range(40):
                await store.submit([put("a")])
        with contextlib.closing(sqlite3.connect(path)) as other:
            (rows,) = other.execute("SELECT count(*) FROM log").fetchone()
        assert rows <= SHORT_MEMORY.history_events + SHORT_MEMORY.forget_events + 1

    asyncio.run(scenario())
    assert "not compacted" in caplog.text
