"""Events are written once, not too often, and after what is urgent."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.control.fake_cluster import FakeCluster
from tests.control.virtual_clock import VirtualClock, spin
from tests.objects.documents import pod
from understudy.control.apply.record_writer import RecordWriter
from understudy.control.record import event_recorder
from understudy.control.record.event_formats import EventRate, EventSubject, EventText
from understudy.control.record.event_recorder import (
    CONCURRENCY,
    MAX_DELAY,
    PAUSE,
    REPEAT_AFTER,
    EventRateLimiter,
    EventRecorder,
)
from understudy.kinds.decoding import decode
from understudy.objects.resources import EVENTS, PODS
from understudy.ports import Ref, Refused, Unreachable
from understudy.write_priority import DELAY_FACTOR

A, B = ("uid-a", "Waiting"), ("uid-b", "Waiting")


def test_a_burst_and_then_a_drip() -> None:
    buckets = EventRateLimiter(EventRate(at_once=3, every=10.0))
    assert [buckets.take(A, 100.0) for _ in range(4)] == [True, True, True, False]
    assert buckets.take(B, 100.0)
    assert not buckets.take(A, 109.0)
    assert buckets.take(A, 110.5)
    assert not buckets.take(A, 111.0)


def test_a_bucket_overflows_rather_than_to_hold_more() -> None:
    buckets = EventRateLimiter(EventRate(at_once=2, every=1.0))
    assert buckets.take(A, 0.0)
    assert [buckets.take(A, 1000.0) for _ in range(3)] == [True, True, False]


def test_a_clock_that_is_set_back_takes_nothing_away() -> None:
    buckets = EventRateLimiter(EventRate(at_once=2, every=1.0))
    assert [buckets.take(A, at) for at in (100.0, 50.0, 50.0)] == [True, True, False]


def test_only_so_many_are_remembered() -> None:
    buckets = EventRateLimiter(EventRate(at_once=1, every=1000.0))
    for number in range(event_recorder.MAX_BUCKETS + 1):
        assert buckets.take((str(number), ""), 0.0)
    assert len(buckets._tokens) == event_recorder.MAX_BUCKETS
    assert buckets.take(("0", ""), 0.0)
    assert not buckets.take((str(event_recorder.MAX_BUCKETS), ""), 0.0)


NEWS = EventText("Started", "it runs")


class RecorderHarness:
    """A recorder at work, and a pod it tells something."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.cluster = FakeCluster(self.clock)
        self.document = self.cluster.put(pod("x"))
        self.about = EventSubject.of(decode(self.document))
        self.recorder = EventRecorder(self.cluster, RecordWriter(self.cluster), self.clock)

    def told(self) -> list[tuple[str, int]]:
        return [(event["message"], event["count"]) for event in self.cluster.all(EVENTS)]

    def condition(self) -> str:
        conditions = self.document["status"].get("conditions", [{"message": ""}])
        return str(conditions[0].get("message", ""))


def play(scenario: Callable[[RecorderHarness], Awaitable[None]]) -> None:
    async def told() -> None:
        harness = RecorderHarness()
        running = asyncio.create_task(harness.recorder.run())
        await scenario(harness)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(told())


def test_the_same_happening_is_counted_up() -> None:
    async def scenario(harness: RecorderHarness) -> None:
        for _ in range(3):
            await harness.recorder.write(harness.about, NEWS)
        await EventRecorder(harness.cluster, RecordWriter(harness.cluster), harness.clock).write(
            harness.about, NEWS
        )  # another one, after a restart
        await harness.recorder.write(harness.about, EventText("Started", "it runs elsewhere"))
        assert sorted(harness.told()) == [("it runs", 4), ("it runs elsewhere", 1)]

    play(scenario)


def test_an_event_that_was_cleared_away_is_told_anew() -> None:
    async def scenario(harness: RecorderHarness) -> None:
        await harness.recorder.write(harness.about, NEWS)
        harness.cluster.take_away(harness.cluster.all(EVENTS)[0])
        await harness.recorder.write(harness.about, NEWS)
        assert harness.told() == [("it runs", 1)]

    play(scenario)


def test_long_messages_are_cut_to_what_kubernetes_takes() -> None:
    async def scenario(harness: RecorderHarness) -> None:
        await harness.recorder.write(harness.about, EventText("Started", "x" * 5000))
        assert len(harness.told()[0][0]) == 1024

    play(scenario)


def test_a_reason_is_told_when_it_changed_and_then_not_again_for_a_while() -> None:
    async def scenario(harness: RecorderHarness) -> None:
        harness.recorder.record_wait(harness.about, "no room")
        await harness.clock.let_pass(PAUSE)
        assert (harness.condition(), harness.told()) == ("no room", [("no room", 1)])
        for words in ("one seat is free", "two seats are free"):
            harness.recorder.record_wait(harness.about, words)
            await harness.clock.let_pass(PAUSE)
        assert harness.condition() == "no room"
        await harness.clock.let_pass(REPEAT_AFTER)
        assert harness.condition() == "two seats are free"
        assert len(harness.told()) == 2

    play(scenario)


def test_what_is_true_again_before_it_was_told_is_not_told() -> None:
    async def scenario(harness: RecorderHarness) -> None:
        harness.recorder.record_wait(harness.about, "no room")
        await harness.clock.let_pass(PAUSE)
        harness.recorder.record_wait(harness.about, "one seat is free")
        harness.recorder.record_wait(harness.about, "no room")
        await harness.clock.let_pass(REPEAT_AFTER)
        assert harness.told() == [("no room", 1)]

    play(scenario)


def test_a_pod_that_is_about_to_be_bound_is_not_told_late_that_it_waits() -> None:
    async def scenario(harness: RecorderHarness) -> None:
        harness.recorder.record_wait(harness.about, "no room")
        await asyncio.sleep(0)
        await asyncio.sleep(0)  # it is being told now
        await harness.recorder.cancel([harness.about.uid])
        written = list(harness.cluster.writes)
        await harness.clock.let_pass(1.0)
        assert harness.cluster.writes == written
        harness.recorder.record_wait(harness.about, "no room")
        await harness.recorder.cancel([harness.about.uid])
        await harness.clock.let_pass(1.0)
        assert harness.cluster.writes == written

    play(scenario)


def test_telling_goes_on_when_the_cluster_answers_again() -> None:
    async def scenario(harness: RecorderHarness) -> None:
        def silent(_: str) -> None:
            raise Unreachable("no answer")

        harness.cluster.before_write = silent
        harness.recorder.event(harness.about, NEWS)
        await harness.clock.let_pass(3.0)
        assert not harness.told()
        harness.cluster.before_write = lambda _: None
        await harness.clock.let_pass(3.0)
        assert harness.told() == [("it runs", 1)]
        assert harness.recorder.idle

    play(scenario)


@pytest.mark.parametrize("code", [429, 500, 503])
def test_what_a_server_in_trouble_refused_is_told_later(code: int) -> None:
    async def scenario(harness: RecorderHarness) -> None:
        def refuses(_: str) -> None:
            raise Refused(code, "Trouble", "not now")

        harness.cluster.before_write = refuses
        harness.recorder.record_wait(harness.about, "no room")
        await harness.clock.let_pass(3.0)
        assert harness.condition() == ""
        harness.cluster.before_write = lambda _: None
        await harness.clock.let_pass(3.0)
        assert harness.condition() == "no room"

    play(scenario)


def test_an_event_that_the_cluster_refuses_is_not_written_again() -> None:
    async def scenario(harness: RecorderHarness) -> None:
        def refuses(_: str) -> None:
            raise Refused(403, "Forbidden", "no events here")

        harness.cluster.before_write = refuses
        harness.recorder.event(harness.about, NEWS)
        await harness.clock.let_pass(3.0)
        assert harness.recorder.idle

    play(scenario)


def test_a_crowd_is_told_at_a_pace() -> None:
    async def scenario(harness: RecorderHarness) -> None:
        for number in range(40):
            harness.recorder.event(harness.about, EventText("Started", f"it runs for the {number}th time"))
        await spin()
        assert len(harness.told()) == CONCURRENCY
        await harness.clock.let_pass(40 / CONCURRENCY * PAUSE)
        assert len(harness.told()) == 40

    play(scenario)


def test_marks_are_set_on_the_pod_that_is_meant_and_on_no_other() -> None:
    async def scenario(harness: RecorderHarness) -> None:
        found = decode(harness.document)
        harness.cluster.take_away(harness.document)
        another = harness.cluster.put({**pod("x"), "metadata": {"name": "x", "namespace": "default", "uid": "another"}})
        await harness.recorder.set_condition(found, {"type": "DisruptionTarget", "status": "True"})  # type: ignore[arg-type]
        assert "conditions" not in another["status"]
        assert await harness.cluster.get(Ref(PODS, "default", "x"))

    play(scenario)


def test_an_unanswered_write_is_replaced_by_a_newer_one_and_not_repeated_late() -> None:
    async def scenario(harness: RecorderHarness) -> None:
        def unreachable(_: str) -> None:
            raise Unreachable("no answer")

        harness.cluster.before_write = unreachable
        harness.recorder.record_wait(harness.about, "old reason")
        await spin()
        harness.recorder.record_wait(harness.about, "new reason")
        harness.cluster.before_write = lambda _: None
        await harness.clock.let_pass(3 * REPEAT_AFTER)
        assert harness.condition() == "new reason"
        assert harness.told() == [("new reason", 1)]

    play(scenario)


def test_a_reason_whose_write_was_not_answered_is_forgotten_with_the_rest() -> None:
    async def scenario(harness: RecorderHarness) -> None:
        def unreachable(_: str) -> None:
            raise Unreachable("no answer")

        harness.cluster.before_write = unreachable
        harness.recorder.record_wait(harness.about, "a reason")
        await spin()
        harness.cluster.before_write = lambda _: None
        await harness.recorder.cancel([harness.about.uid])
        await harness.clock.let_pass(3 * REPEAT_AFTER)
        assert harness.told() == []

    play(scenario)


# While something urgent is under way

DELAY = 1.5


class DelayedHarness(RecorderHarness):
    """With a recorder that lets urgent writes go first, as in a real cluster."""

    def __init__(self) -> None:
        super().__init__()
        self.recorder = EventRecorder(self.cluster, RecordWriter(self.cluster), self.clock, DELAY)


def run_delayed(scenario: Callable[[DelayedHarness], Awaitable[None]]) -> None:
    async def told() -> None:
        harness = DelayedHarness()
        running = asyncio.create_task(harness.recorder.run())
        await scenario(harness)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(told())


def test_nothing_is_told_while_pods_are_bound_or_evicted() -> None:
    async def scenario(harness: DelayedHarness) -> None:
        harness.recorder.event(harness.about, NEWS)
        with harness.recorder.urgent_write():
            await harness.clock.let_pass(2.0)
            assert harness.told() == []
        await harness.clock.let_pass(DELAY_FACTOR * 2.0 - 0.1)
        assert harness.told() == [], "what the urgent write brought about is still under way"
        await harness.clock.let_pass(0.2)
        assert harness.told() == [("it runs", 1)]

    run_delayed(scenario)


def test_what_is_overdue_is_told_all_the_same() -> None:
    async def scenario(harness: DelayedHarness) -> None:
        with harness.recorder.urgent_write():
            harness.recorder.event(harness.about, NEWS)
            await harness.clock.let_pass(DELAY + MAX_DELAY - 0.1)
            assert harness.told() == []
            await harness.clock.let_pass(0.2)
            assert harness.told() == [("it runs", 1)]

    run_delayed(scenario)


def test_after_a_refused_write_telling_goes_on() -> None:
    async def scenario(harness: DelayedHarness) -> None:
        harness.recorder.event(harness.about, NEWS)
        with contextlib.suppress(Refused), harness.recorder.urgent_write():
            raise Refused(409, "Conflict", "it is bound")
        await harness.clock.let_pass(DELAY + 0.1)
        assert harness.told() == [("it runs", 1)]

    run_delayed(scenario)


def test_a_pod_that_waits_for_a_moment_only_is_told_nothing() -> None:
    async def scenario(harness: DelayedHarness) -> None:
        harness.recorder.record_wait(harness.about, "3 of its 4 pods are there")
        await harness.clock.let_pass(DELAY - 0.1)
        await harness.recorder.cancel([harness.about.uid])
        await harness.clock.let_pass(REPEAT_AFTER)
        assert (harness.condition(), harness.told()) == ("", [])

    run_delayed(scenario)


def test_reasons_that_keep_changing_do_not_put_off_the_telling() -> None:
    async def scenario(harness: DelayedHarness) -> None:
        for number in range(4):
            harness.recorder.record_wait(harness.about, f"{number} seats are free")
            await harness.clock.let_pass(DELAY / 3)
        assert harness.condition() != ""

    run_delayed(scenario)


def test_where_nothing_is_put_off_an_urgent_write_delays_nothing() -> None:
    async def scenario(harness: RecorderHarness) -> None:
        with harness.recorder.urgent_write():
            harness.recorder.event(harness.about, NEWS)
            await harness.clock.let_pass(PAUSE)
            assert harness.told() == [("it runs", 1)]

    play(scenario)


def test_a_reason_that_is_found_again_before_its_failed_telling_is_repeated_is_told() -> None:
    async def scenario(harness: RecorderHarness) -> None:
        def refuse(_: str) -> None:
            raise Unreachable("no answer")

        harness.cluster.before_write = refuse
        harness.recorder.record_wait(harness.about, "no room")
        await harness.clock.let_pass(0.1)
        harness.cluster.before_write = lambda _: None
        harness.recorder.record_wait(harness.about, "no room")
        await harness.clock.let_pass(REPEAT_AFTER + 5.0)
        assert harness.condition() == "no room"

    play(scenario)


def test_a_reason_is_told_again_after_another_one_was_written_and_not_answered() -> None:
    async def scenario(harness: RecorderHarness) -> None:
        harness.recorder.record_wait(harness.about, "no room")
        await harness.clock.let_pass(PAUSE)
        patch = harness.cluster.patch

        async def patch_without_answer(*of: Any, **more: Any) -> bytes:
            await patch(*of, **more)
            raise Unreachable("the answer was lost")

        harness.cluster.patch = patch_without_answer  # type: ignore[method-assign]
        harness.recorder.record_wait(harness.about, "one seat is free")
        await harness.clock.let_pass(REPEAT_AFTER)
        assert harness.condition() == "one seat is free"
        harness.cluster.patch = patch  # type: ignore[method-assign]
        harness.recorder.record_wait(harness.about, "no room")
        await harness.clock.let_pass(2 * REPEAT_AFTER)
        assert harness.condition() == "no room"

    play(scenario)
