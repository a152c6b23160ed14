"""Events as a real cluster has them: a series instead of a crowd, who else is meant, and not too much."""

import asyncio
from typing import Any

import pytest

from tests.control.fake_cluster import FakeCluster
from tests.control.virtual_clock import VirtualClock
from tests.objects.documents import pod
from understudy.control.apply.record_writer import RecordWriter
from understudy.control.record.event_formats import RATE, EventSubject, EventText, SeriesEventFormat
from understudy.control.record.event_recorder import EventRecorder
from understudy.kinds.decoding import decode
from understudy.objects.resources import EVENTS, SERIES_EVENTS

NEWS = EventText("Scheduled", "Successfully assigned default/x to n3")
TAKER = EventSubject("batch/v1", "Job", "default", "high", "uid-high")


class RecorderHarness:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.cluster = FakeCluster(self.clock)
        self.about = EventSubject.of(decode(self.cluster.put(pod("x"))))
        self.recorder = self.another_recorder()

    def another_recorder(self) -> EventRecorder:
        return EventRecorder(self.cluster, RecordWriter(self.cluster), self.clock, form=SeriesEventFormat("replica-1"))

    def write(self, *happenings: EventText) -> None:
        async def told() -> None:
            for happening in happenings:
                await self.recorder.write(self.about, happening)

        asyncio.run(told())

    def told(self) -> list[dict[str, Any]]:
        assert not self.cluster.all(EVENTS)
        return self.cluster.all(SERIES_EVENTS)

    def counts(self) -> list[tuple[str, int]]:
        return [(event["note"], event.get("series", {}).get("count", 1)) for event in self.told()]


@pytest.fixture
def harness() -> RecorderHarness:
    return RecorderHarness()


def test_an_event_says_all_that_kubernetes_wants_to_know(harness: RecorderHarness) -> None:
    harness.write(NEWS)
    [event] = harness.told()
    assert event["apiVersion"] == "events.k8s.io/v1"
    assert event["regarding"] == harness.about.reference()
    assert (event["reason"], event["note"], event["type"]) == (NEWS.reason, NEWS.message, "Normal")
    assert (event["action"], event["reportingController"]) == ("Binding", "understudy.dev/scheduler")
    assert event["reportingInstance"] == "replica-1"
    assert event["metadata"]["namespace"] == "default"
    assert len(event["eventTime"]) == len("2026-01-01T12:00:00.000000Z")
    assert not {"series", "related", "count", "lastTimestamp"} & event.keys()


def test_the_related_object_is_named(harness: RecorderHarness) -> None:
    harness.write(EventText("Preempted", "Preempted by default/high", related=TAKER))
    [event] = harness.told()
    assert (event["related"], event["action"]) == (TAKER.reference(), "Preempting")


def test_what_happens_again_is_a_series(harness: RecorderHarness) -> None:
    harness.write(NEWS, NEWS)
    [event] = harness.told()
    assert event["series"]["count"] == 2
    harness.recorder = harness.another_recorder()  # after a restart, or another replica: the series goes on
    harness.write(NEWS)
    assert event["series"]["count"] == 3
    assert event["series"]["lastObservedTime"] >= event["eventTime"]


def test_a_series_that_was_cleared_away_begins_anew(harness: RecorderHarness) -> None:
    harness.write(NEWS, NEWS)
    harness.cluster.take_away(harness.told()[0])
    harness.write(NEWS)
    assert harness.counts() == [(NEWS.message, 1)]


def test_a_pod_that_waits_with_other_figures_is_one_series(harness: RecorderHarness) -> None:
    words = "waits for 8 nvidia.com/gpu: %d of 12 free; held by Job default/low-2 (priority %s)"
    harness.write(*(EventText("FailedScheduling", words % given, warning=True) for given in ((3, "10"), (4, "20.5"))))
    assert harness.counts() == [(words % (3, "10"), 2)]
    harness.write(EventText("FailedScheduling", words.replace("low-2", "low-3") % (3, "10"), warning=True))
    assert len(harness.told()) == 2


def test_a_story_is_told_in_its_own_figures(harness: RecorderHarness) -> None:
    harness.write(*(EventText("Recovered", f"all 8 members run again {s} s after the failure") for s in (1, 2)))
    assert len(harness.told()) == 2


def test_notes_are_cut_by_bytes_and_never_within_a_letter(harness: RecorderHarness) -> None:
    harness.write(EventText("Scheduled", "ü" * 600 + "x"))
    assert harness.told()[0]["note"] == "ü" * 512


def test_too_much_of_the_same_is_not_told_for_a_while(harness: RecorderHarness) -> None:
    harness.write(*(EventText("Waiting", f"for the {number}th time") for number in range(2 * RATE.at_once)))
    assert len(harness.told()) == RATE.at_once
    harness.write(EventText("Preempted", "but this is something else"))
    assert len(harness.told()) == RATE.at_once + 1

    async def later() -> None:
        await harness.clock.let_pass(RATE.every)
        for number in range(3):
            await harness.recorder.write(harness.about, EventText("Waiting", f"later, {number}"))

    asyncio.run(later())
    assert len(harness.told()) == RATE.at_once + 2
