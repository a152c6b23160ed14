"""The database file: private, durable, and refused with a message when it is not ours or damaged."""

import asyncio
import contextlib
import sqlite3
from pathlib import Path

import pytest

from tests.embedded.store.store_writes import opened, put
from understudy.embedded.store.change_log import APPLICATION_ID, ChangeLog, StoreDamaged, is_full
from understudy.embedded.store.records import StoreUnusable
from understudy.embedded.store.store import Store


def written(path: Path, objects: int = 1) -> None:
    async def scenario() -> None:
        async with opened(path) as store:
            await store.submit([put(f"pod-{number}", "x" * 1_000) for number in range(objects)])

    asyncio.run(scenario())


def pragma(path: Path, text: str) -> None:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA {text}")


def test_files_are_for_their_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "clusters" / "one" / "db"

    async def scenario() -> None:
        async with opened(path) as store:
            await store.submit([put("a")])
            modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
            assert modes == dict.fromkeys(("db", "db-wal", "db.lock"), 0o600)
        assert path.parent.stat().st_mode & 0o777 == 0o700

    asyncio.run(scenario())


def test_the_mode_of_a_readable_file_is_corrected(tmp_path: Path) -> None:
    written(tmp_path / "db")
    (tmp_path / "db").chmod(0o644)
    written(tmp_path / "db")
    assert (tmp_path / "db").stat().st_mode & 0o777 == 0o600


def test_every_commit_is_on_disk_before_it_counts(tmp_path: Path) -> None:
    log = ChangeLog.open(tmp_path / "db")
    try:
        settings = {
            name: log._connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")
        }
    finally:
        log.close()
    assert settings == {"journal_mode": "wal", "synchronous": 2}


def test_an_interrupted_creation_is_completed(tmp_path: Path) -> None:
    (tmp_path / "db").touch()
    written(tmp_path / "db")


def test_a_file_that_is_no_database_is_named_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "db"
    path.write_bytes(b"other people's letters, and quite long ones\n" * 100)
    with pytest.raises(StoreDamaged, match=r"db cannot be read as a cluster's database: .*Put a backup in its place"):
        Store.open(path)
    assert path.read_bytes().startswith(b"other people's letters")


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE log (line TEXT)")
    path.chmod(0o640)
    content = path.read_bytes()
    with pytest.raises(StoreDamaged, match="another program's"):
        Store.open(path)
    assert path.read_bytes() == content
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_later_layout_is_refused(tmp_path: Path) -> None:
    written(tmp_path / "db")
    pragma(tmp_path / "db", "user_version = 9")
    with pytest.raises(StoreDamaged, match="layout 9"):
        Store.open(tmp_path / "db")


def test_a_database_without_its_tables_is_damaged(tmp_path: Path) -> None:
    pragma(tmp_path / "db", f"application_id = {APPLICATION_ID}")
    pragma(tmp_path / "db", "user_version = 1")
    with pytest.raises(StoreDamaged, match="no such table"):
        Store.open(tmp_path / "db")


def test_a_database_cut_short_is_damaged(tmp_path: Path) -> None:
    written(tmp_path / "db", objects=200)
    with (tmp_path / "db").open("r+b") as file:
        file.truncate(20_000)
    with pytest.raises(StoreDamaged, match="malformed"):
        Store.open(tmp_path / "db")


def test_a_database_overwritten_in_the_middle_is_damaged(tmp_path: Path) -> None:
    written(tmp_path / "db", objects=200)
    with (tmp_path / "db").open("r+b") as file:
        file.seek(8_192)
        file.write(b"\xff" * 100_000)
    with pytest.raises(StoreDamaged):
        Store.open(tmp_path / "db")


def test_a_refused_file_can_be_replaced_and_opened_without_a_restart(tmp_path: Path) -> None:
    (tmp_path / "db").write_bytes(b"nonsense" * 1_000)
    with pytest.raises(StoreUnusable):
        Store.open(tmp_path / "db")
    (tmp_path / "db").unlink()
    written(tmp_path / "db")


def test_the_write_ahead_log_does_not_grow_for_ever(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "db") as store:
            for _ in range(60):
                await store.submit([put("big", "x" * 1_000_000)])
            assert (tmp_path / "db-wal").stat().st_size < 16 << 20

    asyncio.run(scenario())


def test_a_write_to_a_full_disk_is_recognized_by_its_error() -> None:
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute("PRAGMA max_page_count = 2")
        connection.execute("CREATE TABLE t (body BLOB)")
        with pytest.raises(sqlite3.OperationalError) as full:
            connection.execute("INSERT INTO t VALUES (zeroblob(1000000))")
        with pytest.raises(sqlite3.OperationalError) as other:
            connection.execute("SELECT * FROM nowhere")
    assert is_full(full.value)
    assert not is_full(other.value)
    assert not is_full(OSError(28, "No space left on device"))
