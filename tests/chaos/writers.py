"""Writers that note what was acknowledged, and when: a lost write is a violation, every acknowledged one a stamp."""

import asyncio
import time

from tests.chaos.judge.revision_times import Stamp
from tests.faults.watchers import listed
from tests.faults.writers import Ledger, State, Writer
from understudy.client import KubeClient
from understudy.ports import Refused, Unreachable

PAUSE = 0.04  # seconds between two writes of one writer: enough to date revisions, little load
TOO_MANY = 429
IN_TROUBLE = 500  # answers from this code on say nothing about whether it was written


class StampingWriter(Writer):
    """One object at a time, as `Writer`; goes on after answers that say that the server is in trouble."""

    def __init__(self, client: KubeClient, ledger: Ledger, number: int, seed: str) -> None:
        super().__init__(client, ledger, number, seed)
        self.stamps: list[Stamp] = []
        self.lost: list[str] = []

    async def run(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            try:
                await self._write_one()
            except AssertionError as wrong:
                self.lost.append(str(wrong))
                return
            await asyncio.sleep(PAUSE)

    async def _write_one(self) -> None:
        name = self._chance.choice(list(self.known))
        before = self.known[name]
        removes = before is not None and self._chance.random() < 0.25
        self._count += 1
        try:
            self.known[name] = await (self._remove(before) if removes and before else self._store(name, before))
        except Unreachable:
            self.known[name] = await self._found(name, before, removes=removes)
        except Refused as refused:
            if refused.code < IN_TROUBLE and refused.code != TOO_MANY:
                raise AssertionError(f"{name}: {refused.code} {refused}") from refused
            self.known[name] = await self._found(name, before, removes=removes)

    async def _store(self, name: str, before: State | None) -> State:
        sent = time.monotonic()
        state = await super()._store(name, before)
        self.stamps.append(Stamp(state.revision, sent, time.monotonic()))
        return state


async def lost_writes(client: KubeClient, writers: list[StampingWriter]) -> list[str]:
    """What was acknowledged and is not there, or is there in another state; what was removed and is there."""
    _, states = await listed(client)
    found = {state.name: state for state in states}
    wrong = [words for writer in writers for words in writer.lost]
    for writer in writers:
        for name, state in writer.known.items():
            if not writer.lost and found.get(name) != state:
                wrong.append(f"{name}: acknowledged as {state}, found as {found.get(name)}")
    return wrong
