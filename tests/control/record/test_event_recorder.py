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
from understudy.control.record.event_recorder import MAX_DELAY, PAUSE, REPEAT_AFTER, EventRateLimiter, EventRecorder
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
    assert len(buckets._levels) == event_recorder.MAX_BUCKETS
    assert buckets.take(("0", ""), 0.0)
    assert not buckets.take((str(event_recorder.MAX_BUCKETS), ""), 0.0)


NEWS = EventText("Started", "it runs")


class Scene:
    """A teller at work, and a pod it tells something."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.cluster = FakeCluster(self.clock)
        self.document = self.cluster.put(pod("x"))
        self.about = EventSubject.of(decode(self.document))
        self.teller = EventRecorder(self.cluster, RecordWriter(self.cluster), self.clock)

    def told(self) -> list[tuple[str, int]]:
        return [(event["message"], event["count"]) for event in self.cluster.all(EVENTS)]

    def condition(self) -> str:
        conditions = self.document["status"].get("conditions", [{"message": ""}])
        return str(conditions[0].get("message", ""))


def tell(story: Callable[[Scene], Awaitable[None]]) -> None:
    async def told() -> None:
        scene = Scene()
        running = asyncio.create_task(scene.teller.run())
        await story(scene)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(told())


def test_the_same_happening_is_counted_up() -> None:
    async def story(scene: Scene) -> None:
        for _ in range(3):
            await scene.teller.tell(scene.about, NEWS)
        await EventRecorder(scene.cluster, RecordWriter(scene.cluster), scene.clock).tell(
            scene.about, NEWS
        )  # another one, after a restart
        await scene.teller.tell(scene.about, EventText("Started", "it runs elsewhere"))
        assert sorted(scene.told()) == [("it runs", 4), ("it runs elsewhere", 1)]

    tell(story)


def test_an_event_that_was_cleared_away_is_told_anew() -> None:
    async def story(scene: Scene) -> None:
        await scene.teller.tell(scene.about, NEWS)
        scene.cluster.take_away(scene.cluster.all(EVENTS)[0])
        await scene.teller.tell(scene.about, NEWS)
        assert scene.told() == [("it runs", 1)]

    tell(story)


def test_long_messages_are_cut_to_what_kubernetes_takes() -> None:
    async def story(scene: Scene) -> None:
        await scene.teller.tell(scene.about, EventText("Started", "x" * 5000))
        assert len(scene.told()[0][0]) == 1024

    tell(story)


def test_a_reason_is_told_when_it_changed_and_then_not_again_for_a_while() -> None:
    async def story(scene: Scene) -> None:
        scene.teller.record_wait(scene.about, "no room")
        await scene.clock.let_pass(PAUSE)
        assert (scene.condition(), scene.told()) == ("no room", [("no room", 1)])
        for words in ("one seat is free", "two seats are free"):
            scene.teller.record_wait(scene.about, words)
            await scene.clock.let_pass(PAUSE)
        assert scene.condition() == "no room"
        await scene.clock.let_pass(REPEAT_AFTER)
        assert scene.condition() == "two seats are free"
        assert len(scene.told()) == 2

    tell(story)


def test_what_is_true_again_before_it_was_told_is_not_told() -> None:
    async def story(scene: Scene) -> None:
        scene.teller.record_wait(scene.about, "no room")
        await scene.clock.let_pass(PAUSE)
        scene.teller.record_wait(scene.about, "one seat is free")
        scene.teller.record_wait(scene.about, "no room")
        await scene.clock.let_pass(REPEAT_AFTER)
        assert scene.told() == [("no room", 1)]

    tell(story)


def test_a_pod_that_is_about_to_be_bound_is_not_told_late_that_it_waits() -> None:
    async def story(scene: Scene) -> None:
        scene.teller.record_wait(scene.about, "no room")
        await asyncio.sleep(0)
        await asyncio.sleep(0)  # it is being told now
        await scene.teller.cancel([scene.about.uid])
        written = list(scene.cluster.writes)
        await scene.clock.let_pass(1.0)
        assert scene.cluster.writes == written
        scene.teller.record_wait(scene.about, "no room")
        await scene.teller.cancel([scene.about.uid])
        await scene.clock.let_pass(1.0)
        assert scene.cluster.writes == written

    tell(story)


def test_telling_goes_on_when_the_cluster_answers_again() -> None:
    async def story(scene: Scene) -> None:
        def silent(_: str) -> None:
            raise Unreachable("no answer")

        scene.cluster.before_write = silent
        scene.teller.event(scene.about, NEWS)
        await scene.clock.let_pass(3.0)
        assert not scene.told()
        scene.cluster.before_write = lambda _: None
        await scene.clock.let_pass(3.0)
        assert scene.told() == [("it runs", 1)]
        assert scene.teller.quiet

    tell(story)


@pytest.mark.parametrize("code", [429, 500, 503])
def test_what_a_server_in_trouble_refused_is_told_later(code: int) -> None:
    async def story(scene: Scene) -> None:
        def refuses(_: str) -> None:
            raise Refused(code, "Trouble", "not now")

        scene.cluster.before_write = refuses
        scene.teller.record_wait(scene.about, "no room")
        await scene.clock.let_pass(3.0)
        assert scene.condition() == ""
        scene.cluster.before_write = lambda _: None
        await scene.clock.let_pass(3.0)
        assert scene.condition() == "no room"

    tell(story)


def test_an_event_that_the_cluster_refuses_is_not_written_again() -> None:
    async def story(scene: Scene) -> None:
        def refuses(_: str) -> None:
            raise Refused(403, "Forbidden", "no events here")

        scene.cluster.before_write = refuses
        scene.teller.event(scene.about, NEWS)
        await scene.clock.let_pass(3.0)
        assert scene.teller.quiet

    tell(story)


def test_a_crowd_is_told_at_a_pace() -> None:
    async def story(scene: Scene) -> None:
        for number in range(40):
            scene.teller.event(scene.about, EventText("Started", f"it runs for the {number}th time"))
        await spin()
        assert len(scene.told()) == 16
        await scene.clock.let_pass(3 * PAUSE)
        assert len(scene.told()) == 40

    tell(story)


def test_marks_are_set_on_the_pod_that_is_meant_and_on_no_other() -> None:
    async def story(scene: Scene) -> None:
        found = decode(scene.document)
        scene.cluster.take_away(scene.document)
        another = scene.cluster.put({**pod("x"), "metadata": {"name": "x", "namespace": "default", "uid": "another"}})
        await scene.teller.set_condition(found, {"type": "DisruptionTarget", "status": "True"})  # type: ignore[arg-type]
        assert "conditions" not in another["status"]
        assert await scene.cluster.get(Ref(PODS, "default", "x"))

    tell(story)


def test_an_unanswered_write_is_replaced_by_a_newer_one_and_not_repeated_late() -> None:
    async def story(scene: Scene) -> None:
        def unreachable(_: str) -> None:
            raise Unreachable("no answer")

        scene.cluster.before_write = unreachable
        scene.teller.record_wait(scene.about, "old reason")
        await spin()
        scene.teller.record_wait(scene.about, "new reason")
        scene.cluster.before_write = lambda _: None
        await scene.clock.let_pass(3 * REPEAT_AFTER)
        assert scene.condition() == "new reason"
        assert scene.told() == [("new reason", 1)]

    tell(story)


def test_a_reason_whose_write_was_not_answered_is_forgotten_with_the_rest() -> None:
    async def story(scene: Scene) -> None:
        def unreachable(_: str) -> None:
            raise Unreachable("no answer")

        scene.cluster.before_write = unreachable
        scene.teller.record_wait(scene.about, "a reason")
        await spin()
        scene.cluster.before_write = lambda _: None
        await scene.teller.cancel([scene.about.uid])
        await scene.clock.let_pass(3 * REPEAT_AFTER)
        assert scene.told() == []

    tell(story)


# While something urgent is under way

DELAY = 1.5


class PoliteScene(Scene):
    """With a teller that lets urgent writes go first, as in a real cluster."""

    def __init__(self) -> None:
        super().__init__()
        self.teller = EventRecorder(self.cluster, RecordWriter(self.cluster), self.clock, DELAY)


def tell_politely(story: Callable[[PoliteScene], Awaitable[None]]) -> None:
    async def told() -> None:
        scene = PoliteScene()
        running = asyncio.create_task(scene.teller.run())
        await story(scene)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(told())


def test_nothing_is_told_while_pods_are_bound_or_evicted() -> None:
    async def story(scene: PoliteScene) -> None:
        scene.teller.event(scene.about, NEWS)
        with scene.teller.urgent_write():
            await scene.clock.let_pass(2.0)
            assert scene.told() == []
        await scene.clock.let_pass(DELAY_FACTOR * 2.0 - 0.1)
        assert scene.told() == [], "what the urgent write brought about is still under way"
        await scene.clock.let_pass(0.2)
        assert scene.told() == [("it runs", 1)]

    tell_politely(story)


def test_what_is_overdue_is_told_all_the_same() -> None:
    async def story(scene: PoliteScene) -> None:
        with scene.teller.urgent_write():
            scene.teller.event(scene.about, NEWS)
            await scene.clock.let_pass(DELAY + MAX_DELAY - 0.1)
            assert scene.told() == []
            await scene.clock.let_pass(0.2)
            assert scene.told() == [("it runs", 1)]

    tell_politely(story)


def test_after_a_refused_write_telling_goes_on() -> None:
    async def story(scene: PoliteScene) -> None:
        scene.teller.event(scene.about, NEWS)
        with contextlib.suppress(Refused), scene.teller.urgent_write():
            raise Refused(409, "Conflict", "it is bound")
        await scene.clock.let_pass(DELAY + 0.1)
        assert scene.told() == [("it runs", 1)]

    tell_politely(story)


def test_a_pod_that_waits_for_a_moment_only_is_told_nothing() -> None:
    async def story(scene: PoliteScene) -> None:
        scene.teller.record_wait(scene.about, "3 of its 4 pods are there")
        await scene.clock.let_pass(DELAY - 0.1)
        await scene.teller.cancel([scene.about.uid])
        await scene.clock.let_pass(REPEAT_AFTER)
        assert (scene.condition(), scene.told()) == ("", [])

    tell_politely(story)


def test_reasons_that_keep_changing_do_not_put_off_the_telling() -> None:
    async def story(scene: PoliteScene) -> None:
        for number in range(4):
            scene.teller.record_wait(scene.about, f"{number} seats are free")
            await scene.clock.let_pass(DELAY / 3)
        assert scene.condition() != ""

    tell_politely(story)


def test_where_nothing_is_put_off_an_urgent_write_delays_nothing() -> None:
    async def story(scene: Scene) -> None:
        with scene.teller.urgent_write():
            scene.teller.event(scene.about, NEWS)
            await scene.clock.let_pass(PAUSE)
            assert scene.told() == [("it runs", 1)]

    tell(story)


def test_a_reason_that_is_found_again_before_its_failed_telling_is_repeated_is_told() -> None:
    async def story(scene: Scene) -> None:
        def refuse(_: str) -> None:
            raise Unreachable("no answer")

        scene.cluster.before_write = refuse
        scene.teller.record_wait(scene.about, "no room")
        await scene.clock.let_pass(0.1)
        scene.cluster.before_write = lambda _: None
        scene.teller.record_wait(scene.about, "no room")
        await scene.clock.let_pass(REPEAT_AFTER + 5.0)
        assert scene.condition() == "no room"

    tell(story)


def test_a_reason_is_told_again_after_another_one_was_written_and_not_answered() -> None:
    async def story(scene: Scene) -> None:
        scene.teller.record_wait(scene.about, "no room")
        await scene.clock.let_pass(PAUSE)
        patch = scene.cluster.patch

        async def patch_without_answer(*of: Any, **more: Any) -> bytes:
            await patch(*of, **more)
            raise Unreachable("the answer was lost")

        scene.cluster.patch = patch_without_answer  # type: ignore[method-assign]
        scene.teller.record_wait(scene.about, "one seat is free")
        await scene.clock.let_pass(REPEAT_AFTER)
        assert scene.condition() == "one seat is free"
        scene.cluster.patch = patch  # type: ignore[method-assign]
        scene.teller.record_wait(scene.about, "no room")
        await scene.clock.let_pass(2 * REPEAT_AFTER)
        assert scene.condition() == "no room"

    tell(story)
