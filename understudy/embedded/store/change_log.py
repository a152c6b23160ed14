"""The SQLite file: an append-only log of changes, one row a revision, from which state and history are read back.

Rows that neither the state nor the history needs are removed in one transaction with the horizon.
"""

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import msgspec

from understudy.embedded.store.records import EventType, StoreEvent, StoreUnusable
from understudy.embedded.store.watch_history import CompactedEvent

APPLICATION_ID = 0x556E6473  # `Unds`: marks our files
LAYOUT = 1
# An empty store has revision 1: in Kubernetes' API 0 means any revision.
SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE log (
  revision INTEGER PRIMARY KEY,
  resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
  dead INTEGER NOT NULL,
  body BLOB NOT NULL
);
CREATE TABLE horizon (revision INTEGER NOT NULL);
INSERT INTO horizon VALUES (1);
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {LAYOUT};
COMMIT;
"""
PRAGMAS = (
    "journal_mode = WAL",
    "synchronous = FULL",
    "fullfsync = ON",  # macOS flushes the cache of the disk only on request; no effect elsewhere
    "busy_timeout = 5000",
    "secure_delete = FAST",
    "wal_autocheckpoint = 0",  # would delay the commit that triggers it; see checkpoint_when_due
    f"journal_size_limit = {64 << 20}",
)
DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)  # the last: no such table or column
# Python releases its lock at every call into SQLite, and gets it back late while the event loop is busy. So a commit is
# one call, with all rows in two values; executemany took twenty times as long.
INSERT = """
INSERT INTO log SELECT
  json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'), json_extract(value, '$[3]'),
  json_extract(value, '$[4]'), substr(?1, json_extract(value, '$[5]'), json_extract(value, '$[6]'))
FROM json_each(?2)
"""
DELETE = "DELETE FROM log WHERE revision IN (SELECT value FROM json_each(?))"
CHECKPOINT_BYTES = 2 << 20
# SQLite writes whole pages, and the pages that lead to them: about this much more than the rows.
ROW_OVERHEAD = 1 << 10
COMMIT_OVERHEAD = 12 << 10


class StoreDamaged(StoreUnusable):
    """The file is not a database of ours, or is damaged."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(
            f"{path} cannot be read as a cluster's database: {problem}. "
            f"Put a backup in its place, or move it away together with {path.name}-wal to start with an empty cluster"
        )


class Row(NamedTuple):
    revision: int
    resource: str
    namespace: str
    name: str
    dead: int
    body: bytes


class ChangeLog:
    """Opened by one thread, then used by another."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._since_checkpoint = 0

    @classmethod
    def open(cls, path: Path) -> Self:
        """Creates a missing file. Raises StoreDamaged for a file that is not ours, and does not change it."""
        _make(path)
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            with _errors_translated(path):
                # Before the first access: then the index of the write-ahead log is kept in memory. A file for it beside
                # the database is written anew at every start, which a full disk refuses.
                connection.execute("PRAGMA locking_mode = EXCLUSIVE")
                if _is_new(connection, path):
                    connection.executescript(SCHEMA)
                path.chmod(0o600)  # SQLite gives the files it adds beside the database the same mode
                for pragma in PRAGMAS:
                    connection.execute(f"PRAGMA {pragma}")
        except BaseException:
            connection.close()
            raise
        return cls(path, connection)

    def horizon(self) -> int:
        """The revision after which every change is in the log."""
        with _errors_translated(self.path):
            (revision,) = self._connection.execute("SELECT revision FROM horizon").fetchone()
            return int(revision)

    def rows(self) -> Iterator[Row]:
        with _errors_translated(self.path):
            yield from map(
                Row._make,
                self._connection.execute("SELECT revision, resource, namespace, name, dead, body FROM log ORDER BY 1"),
            )

    def append(self, events: Sequence[StoreEvent]) -> None:
        """All events durably, or none: one statement is one transaction."""
        bodies = b"".join([event.record.body for event in events])
        self._connection.execute(INSERT, (bodies, _columns(events)))
        self._since_checkpoint += len(bodies) + len(events) * ROW_OVERHEAD + COMMIT_OVERHEAD

    def forget(self, forgotten: Sequence[CompactedEvent]) -> None:
        rows = [row for each in forgotten for row in each.rows]
        with self._transaction():
            self._connection.execute(DELETE, (msgspec.json.encode(rows).decode(),))
            self._connection.execute("UPDATE horizon SET revision = ?", (forgotten[-1].revision,))

    def checkpoint_when_due(self) -> None:
        """Moves the write-ahead log into the database, while it is small enough to be quick."""
        if self._since_checkpoint >= CHECKPOINT_BYTES:
            self._since_checkpoint = 0
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def close(self) -> None:
        self._connection.close()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise


def is_full(error: Exception) -> bool:
    """Whether a write failed because the disk is full."""
    return isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL


def _columns(events: Sequence[StoreEvent]) -> str:
    """The columns of each row but the body, which is given by its position and size in all bodies."""
    columns = []
    place = 1
    for event in events:
        record, key = event.record, event.record.key
        dead = 1 if event.type is EventType.DELETED else 0
        size = len(record.body)
        columns.append((record.revision, key.resource, key.namespace, key.name, dead, place, size))
        place += size
    return msgspec.json.encode(columns).decode()


def _make(path: Path) -> None:
    """Creates an empty file with mode 0600, and syncs the folder so that its name survives a power cut."""
    if path.exists():
        return
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def _is_new(connection: sqlite3.Connection, path: Path) -> bool:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (layout,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if not application and not tables:
        return True
    if application != APPLICATION_ID:
        raise StoreDamaged(path, "it is another program's database")
    if layout != LAYOUT:
        raise StoreDamaged(path, f"it has layout {layout}, and this version of Understudy reads layout {LAYOUT}")
    return False


@contextlib.contextmanager
def _errors_translated(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        # The low byte of SQLite's code is the kind of error. Errors of Python's own, such as invalid text, have no
        # code.
        if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF in DAMAGE:
            raise StoreDamaged(path, str(error)) from error
        raise StoreUnusable(f"{path} cannot be used: {error}") from error
