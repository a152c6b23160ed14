"""kill -9 of the server at any moment, fifty times, under writers at full speed: nothing acknowledged is lost,
revisions never go back, and no watcher misses an event."""

import asyncio
import os
import random
from collections.abc import Callable, Sequence
from http import HTTPStatus

import pytest

from tests.eventually import eventually_async
from tests.faults.server_process import PATIENCE, ServerProcess, check_log, running_server
from tests.faults.watchers import Follower, Watcher, listed
from tests.faults.writers import NAMESPACE, BulkyWriter, Ledger, State, Writer
from understudy.client import connect
from understudy.objects.resources import CONFIG_MAPS
from understudy.ports import Ref, Refused, Unreachable

KILLS = int(os.environ.get("UNDERSTUDY_KILLS", "50"))
WRITERS = 8
BULKY_WRITES = 100  # more than the server keeps of the past
LAST = "the-last-one"


class ServerKills:
    """One run: who writes, who watches, and what must be true of it at the end."""

    def __init__(self, server: ServerProcess, seed: str) -> None:
        self.server = server
        self.client = connect(server.config)
        self.ledger = Ledger()
        self.writers = [Writer(self.client, self.ledger, number, seed) for number in range(WRITERS)]
        self.bulky = BulkyWriter(self.client)
        self.watchers = [Watcher(self.client), Watcher(self.client, bookmarks=True)]
        self.chooser = Watcher(self.client, "parity=odd")
        self.sleeper = Watcher(self.client)
        self.followers = [Follower(self.client), Follower(self.client)]
        self.final: list[State] = []
        self.chosen: list[State] = []
        self._chance = random.Random(seed)

    async def play(self) -> None:
        stop = asyncio.Event()
        for watcher in (*self.watchers, self.chooser, self.sleeper):
            await watcher.begin()
        async with asyncio.TaskGroup() as listening:
            listeners: Sequence[Watcher | Follower] = (*self.watchers, self.chooser, *self.followers)
            for one in listeners:
                listening.create_task(one.run(LAST))
            for follower in self.followers:
                await follower.synced.wait()
            async with asyncio.TaskGroup() as writing:
                for writer in self.writers:
                    writing.create_task(writer.run(stop))
                writing.create_task(self._kill_again_and_again(stop))
                writing.create_task(self.bulky.write(BULKY_WRITES))
            await self._say_the_last_word()
            await self.sleeper.run(LAST)
        _, self.final = await listed(self.client)
        _, self.chosen = await listed(self.client, "parity=odd")

    async def _kill_again_and_again(self, stop: asyncio.Event) -> None:
        """Some die while they are still starting, most in the middle of their work."""
        for _ in range(KILLS):
            if self._chance.random() < 0.7:
                self.ledger.progress.clear()
                await self.ledger.progress.wait()
                await asyncio.sleep(self._chance.uniform(0, 0.3))
            else:
                await asyncio.sleep(self._chance.uniform(0, 0.5))
            self.server.kill()
            self.server.start()
        stop.set()

    async def _say_the_last_word(self) -> None:
        """The last kill may be so recent that its connection is still in use."""
        body = {"metadata": {"name": LAST, "labels": {"parity": "odd"}}, "data": {"number": "0"}}

        async def is_written() -> bool:
            try:
                await self.client.create(Ref(CONFIG_MAPS, NAMESPACE), {"apiVersion": "v1", "kind": "ConfigMap", **body})
            except Refused as refusal:
                return refusal.code == HTTPStatus.CONFLICT  # the answer of an earlier try was lost
            return True

        await eventually_async(is_written, ignoring=(Unreachable,))


def check_nothing_is_lost(kills: ServerKills) -> None:
    known = {name: state for writer in kills.writers for name, state in writer.known.items() if state is not None}
    found = {state.name: state for state in kills.final if state.name.startswith("w")}
    assert found == known
    gone = {state.uid for state in kills.ledger.removed}
    assert not gone & {state.uid for state in kills.final}


def check_nothing_was_missed(kills: ServerKills) -> None:
    """Watchers who keep up are never sent back to list again, so all have heard the same; and all that was
    acknowledged is among it."""
    everything = kills.watchers[0].heard
    for watcher in kills.watchers:
        assert watcher.lists == 1
        assert watcher.heard == everything
    assert kills.sleeper.lists == 2, "the server forgot nothing: no watcher was sent back to list again"
    assert kills.sleeper.heard == [told for told in everything if told.state.revision > kills.sleeper.begun]
    for heard in (everything, *(follower.heard for follower in kills.followers)):
        stored = {told.state for told in heard if told.type != "DELETED"}
        removed = {told.state.uid for told in heard if told.type == "DELETED"}
        assert stored >= set(kills.ledger.stored)
        assert removed >= {state.uid for state in kills.ledger.removed}


def check_all_end_with_the_same(kills: ServerKills) -> None:
    final = {state.name: state for state in kills.final}
    listeners: Sequence[Watcher | Follower] = (*kills.watchers, kills.sleeper, *kills.followers)
    assert all(one.present == final for one in listeners)
    assert kills.chooser.present == {state.name: state for state in kills.chosen}


async def _after_one_more_kill(server: ServerProcess) -> list[State]:
    server.kill()
    server.start()
    async with connect(server.config) as client:
        return (await listed(client))[1]


@pytest.mark.thorough
def test_fifty_kills(record_property: Callable[[str, object], None]) -> None:
    seed = os.environ.get("UNDERSTUDY_SEED") or str(random.SystemRandom().getrandbits(32))
    print(f"UNDERSTUDY_SEED={seed} plays it again")  # noqa: T201 - pytest shows it where the test fails

    async def scenario(server: ServerProcess) -> None:
        kills = ServerKills(server, seed)
        async with kills.client, asyncio.timeout(PATIENCE + 3 * KILLS):
            await kills.play()
            check_nothing_is_lost(kills)
            check_nothing_was_missed(kills)
            check_all_end_with_the_same(kills)
            assert await _after_one_more_kill(server) == kills.final
        writes = len(kills.ledger.stored) + len(kills.ledger.removed)
        record_property("measured", f"server kills: {KILLS}, {writes} writes acknowledged")

    with running_server() as server:
        asyncio.run(scenario(server))
        check_log(server.log)
