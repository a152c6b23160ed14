"""After any sequence of writes and restarts the store equals a dict with a history."""

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.examples import examples
from understudy.embedded.store.records import Compacted, EventType, Key, Limits, Put, Record, Remove, StoreEvent, Write
from understudy.embedded.store.store import Store
from understudy.embedded.store.subscriptions import Subscription

# So tight that everything happens within a few steps: several commits for one submission, forgetting, partial delivery.
LIMITS = Limits(history_events=12, commit_writes=3, forget_events=2, delivery_events=5)
WIDE = Limits(commit_writes=3)  # keeps what the others have left
RESOURCES = ("pods", "nodes")
KEYS = st.builds(Key, st.sampled_from(RESOURCES), st.sampled_from(["", "a", "b"]), st.sampled_from(["x", "y"]))
Result = TypeVar("Result")


class Following(NamedTuple):
    watch: Subscription
    resource: str
    since: int


def body(text: bytes, revision: int) -> bytes:
    return text + b" at %d" % revision


async def submit(store: Store, writes: list[Write]) -> asyncio.Future[tuple[Record, ...]]:
    """Only the submitting: the future is the caller's to wait for, or not."""
    return store.submit(writes)


async def result(done: asyncio.Future[Result]) -> Result:
    return await done


async def all_so_far(watch: Subscription) -> list[StoreEvent]:
    events: list[StoreEvent] = []
    while news := await watch.take(within=0):
        events += news
    return events


class StoreMachine(RuleBasedStateMachine):
    """The model is every event there ever was, durable or on its way."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = Path(tempfile.mkdtemp())
        self.store = Store.open(self.folder / "db", LIMITS)
        self.events: list[StoreEvent] = []
        self.submitted: list[asyncio.Future[tuple[Record, ...]]] = []
        self.following: list[Following] = []

    def teardown(self) -> None:
        self.run(self.store.close())
        self.loop.close()
        shutil.rmtree(self.folder)

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return self.loop.run_until_complete(work)

    @rule(changes=st.lists(st.tuples(KEYS, st.binary(max_size=20), st.booleans()), max_size=6))
    def write(self, changes: list[tuple[Key, bytes, bool]]) -> None:
        """Not waited for, so that more can be written while it is on its way."""
        present = self.state(self.last())
        writes: list[Write] = []
        for key, text, removing in changes:
            before = present.pop(key, None)
            if removing and before is None:
                continue
            kind, change = (Remove, EventType.DELETED) if removing else (Put, EventType.MODIFIED)
            record = Record(key, self.last() + 1, body(text, self.last() + 1))
            self.events.append(StoreEvent(change if before else EventType.ADDED, record, before))
            writes.append(kind(key, partial(body, text)))
            if not removing:
                present[key] = record
        self.submitted.append(self.run(submit(self.store, writes)))

    @rule()
    def wait(self) -> None:
        records = [record for done in self.submitted for record in self.run(result(done))]
        assert records == [event.record for event in self.events[len(self.events) - len(records) :]]
        self.submitted.clear()
        assert self.store.revision == self.last()

    @rule(resource=st.sampled_from(RESOURCES), back=st.integers(0, 20))
    def follow(self, resource: str, back: int) -> None:
        since = max(1, self.store.revision - back)
        try:
            self.following.append(Following(self.store.watch(resource, since), resource, since))
        except Compacted:
            assert self.may_be_forgotten(since)

    @rule()
    def catch_up(self) -> None:
        """Every watch has heard exactly what came after its beginning, or has been told that it cannot."""
        self.wait()
        for watch, resource, since in self.following:
            try:
                heard = self.run(all_so_far(watch))
            except Compacted:
                assert self.may_be_forgotten(since)
                continue
            assert heard == [e for e in self.events if e.record.key.resource == resource and e.record.revision > since]
            assert watch.revision == self.last()
        self.following.clear()

    @rule(limits=st.sampled_from([LIMITS, WIDE]))
    def reopen(self, limits: Limits) -> None:
        """Also while writes are on their way. In place of the watches come new ones from the same revisions."""
        self.run(self.store.close())
        self.store = Store.open(self.folder / "db", limits)
        again, self.following = self.following, []
        for _, resource, since in again:
            self.follow(resource, self.store.revision - since)

    @invariant()
    def writers_see_what_comes(self) -> None:
        present = self.state(self.last())
        for event in self.events:
            assert self.store.newest(event.record.key) == present.get(event.record.key)

    @invariant()
    def readers_see_one_moment(self) -> None:
        then = self.state(self.store.revision)
        for resource in RESOURCES:
            expected = [then[key] for key in sorted(then) if key.resource == resource]
            assert self.store.list(resource) == expected
            assert [self.store.get(record.key) for record in expected] == expected

    def last(self) -> int:
        return self.events[-1].record.revision if self.events else 1

    def state(self, revision: int) -> dict[Key, Record]:
        state: dict[Key, Record] = {}
        for event in self.events:
            if event.record.revision <= revision:
                state[event.record.key] = event.record
                if event.type is EventType.DELETED:
                    del state[event.record.key]
        return state

    def may_be_forgotten(self, since: int) -> bool:
        return sum(event.record.revision > since for event in self.events) > LIMITS.history_events


TestStore = StoreMachine.TestCase
TestStore.settings = settings(max_examples=examples(60), stateful_step_count=30)
