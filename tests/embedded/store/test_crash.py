"""kill -9 at any moment: acknowledged writes survive, revisions only grow, a resumed watch misses no event."""

import asyncio
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.embedded.store import crash_writer
from tests.embedded.store.crash_writer import Acknowledged, Content
from tests.embedded.store.store_writes import everything, opened
from understudy.embedded.store.records import Compacted, EventType, Key, Limits, Record, StoreEvent
from understudy.embedded.store.store import Store

KILLS = 10
ALL_IS_KEPT = Limits(history_bytes=1 << 30)
LITTLE_IS_KEPT = Limits(history_events=500, forget_events=50)


def killed_while_writing(path: Path, limits: Limits, seed: int) -> list[Acknowledged]:
    """What a writer acknowledged up to its death, which comes after a random number of writes."""
    command = [sys.executable, crash_writer.__file__, str(path), msgspec.json.encode(limits).decode(), str(seed)]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as writer:
        assert writer.stdout is not None
        lines = [writer.stdout.readline() for _ in range(random.Random(seed).randrange(1, 1_500))]
        writer.kill()
        lines += writer.stdout.readlines()
    assert writer.returncode == -signal.SIGKILL
    if not lines[-1].endswith(b"\n"):
        lines.pop()  # cut off in the middle, so not acknowledged
    return [msgspec.json.decode(line, type=Acknowledged) for line in lines]


async def history(store: Store, since: int) -> list[StoreEvent]:
    return await everything(store.watch("pods", since), store.revision) if store.revision > since else []


def content(record: Record) -> Content:
    return msgspec.json.decode(record.body, type=Content)


def check_nothing_is_lost(store: Store, acknowledged: list[Acknowledged]) -> None:
    """Each object is as its last acknowledged write left it, or as the one after that, which was under way."""
    last = {write.name: write for write in acknowledged}
    for name, write in last.items():
        record = store.get(Key("pods", "default", name))
        if record is None:
            assert write.gone or store.revision > write.revision
        elif record.revision != write.revision:
            assert record.revision > write.revision
            assert content(record).number in (1, write.number + 1)
        else:
            assert not write.gone
            assert content(record).number == write.number
    assert store.revision >= max(write.revision for write in acknowledged)


def check_is_one_story(events: list[StoreEvent], store: Store) -> None:
    """Revisions rise, every event replaces what was there, and the end of it all is the present."""
    present: dict[str, Record] = {}
    assert [event.record.revision for event in events] == list(range(2, store.revision + 1))
    for event in events:
        assert event.before == present.pop(event.record.key.name, None)
        assert content(event.record).revision == event.record.revision
        if event.type is not EventType.DELETED:
            present[event.record.key.name] = event.record
    assert store.list("pods") == [present[name] for name in sorted(present)]


@pytest.mark.thorough
def test_with_all_history_kept(tmp_path: Path) -> None:
    async def scenario() -> None:
        known: list[StoreEvent] = []
        for seed in range(KILLS):
            acknowledged = killed_while_writing(tmp_path / "db", ALL_IS_KEPT, seed)
            async with opened(tmp_path / "db", ALL_IS_KEPT) as store:
                check_nothing_is_lost(store, acknowledged)
                resumed = await history(store, since=known[-1].record.revision if known else 1)
                told = {(event.record.revision, event.record.key.name) for event in resumed}
                assert told >= {(write.revision, write.name) for write in acknowledged}
                known += resumed
                assert known == await history(store, since=1)
                check_is_one_story(known, store)

    asyncio.run(scenario())


@pytest.mark.thorough
def test_while_the_log_is_being_compacted(tmp_path: Path) -> None:
    async def scenario() -> None:
        compacted = 0
        revision = 1
        for seed in range(KILLS):
            acknowledged = killed_while_writing(tmp_path / "db", LITTLE_IS_KEPT, seed)
            async with opened(tmp_path / "db", LITTLE_IS_KEPT) as store:
                assert store.revision >= revision
                check_nothing_is_lost(store, acknowledged)
                try:
                    resumed = await history(store, since=revision)
                except Compacted:
                    compacted += 1
                    assert store.revision - revision > LITTLE_IS_KEPT.history_events * 63 // 64
                else:
                    assert [event.record.revision for event in resumed] == list(range(revision + 1, store.revision + 1))
                kept = store.revision - LITTLE_IS_KEPT.history_events * 63 // 64
                for event in await history(store, since=max(1, kept)):
                    assert content(event.record).revision == event.record.revision
                    assert event.before is None or content(event.before).revision == event.before.revision
                revision = store.revision
        assert compacted, "every run was shorter than the history: nothing was proved"

    asyncio.run(scenario())
