"""What an agent writes to the API and reads from it: statuses, events, ConfigMaps; also with an unreachable API."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
import pytest

from tests.embedded.agent.fake_cluster import FakeCluster
from understudy.control.record.event_formats import EventSubject, EventText
from understudy.embedded.agent.api import event_queue as agent_events
from understudy.embedded.agent.api.config_objects import ConfigReader, config_map
from understudy.embedded.agent.api.event_queue import AgentEvent, AgentEventQueue
from understudy.embedded.agent.api.pod_types import decode_pod
from understudy.embedded.agent.pods import status_manager
from understudy.embedded.agent.pods.status_manager import PodStatusManager
from understudy.objects.resources import CONFIG_MAPS, EVENTS, PODS
from understudy.ports import Ref, Refused, Unreachable

POD = {"metadata": {"name": "p", "uid": "u"}, "spec": {"containers": []}, "status": {}}
STATUS_WRITE = ("patch", "/api/v1/namespaces/default/pods/p/status")
SUBJECT = EventSubject("v1", "Pod", "default", "p", "u")


def telling(scenario: Callable[[FakeCluster, PodStatusManager], Awaitable[None]]) -> None:
    async def whole() -> None:
        cluster = FakeCluster()
        await cluster.create(Ref(PODS, "default"), POD)
        await scenario(cluster, PodStatusManager(cluster, decode_pod(msgspec.json.encode(POD))))

    asyncio.run(whole())


class TestStatuses:
    def test_only_a_changed_status_is_written(self) -> None:
        async def scenario(cluster: FakeCluster, status_manager: PodStatusManager) -> None:
            for phase in ("Pending", "Running", "Running"):
                status_manager.set_status({"phase": phase})
            await status_manager.settled()
            assert cluster.pod("p")["status"] == {"phase": "Running", "conditions": []}
            status_manager.set_status({"phase": "Running"})
            await status_manager.settled()
            assert cluster.writes.count(STATUS_WRITE) == 1

        telling(scenario)

    def test_a_delayed_status_is_replaced_by_a_newer_one(self) -> None:
        async def scenario(cluster: FakeCluster, status_manager: PodStatusManager) -> None:
            status_manager.set_status({"phase": "Pending"}, later=True)
            status_manager.set_status({"phase": "Running"})
            await status_manager.settled()
            assert cluster.writes.count(STATUS_WRITE) == 1

        telling(scenario)

    def test_a_delayed_status_is_written_in_the_end(self) -> None:
        async def scenario(cluster: FakeCluster, status_manager: PodStatusManager) -> None:
            status_manager.set_status({"phase": "Pending"}, later=True)
            await cluster.until(lambda: STATUS_WRITE in cluster.writes)

        telling(scenario)

    def test_a_status_is_written_once_the_api_is_back(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(status_manager, "_FIRST_PAUSE", 0.01)

        async def scenario(cluster: FakeCluster, status_manager: PodStatusManager) -> None:
            cluster.reachable = False
            status_manager.set_status({"phase": "Running"})
            await cluster.knocked.wait()
            cluster.reachable = True
            await status_manager.settled()
            assert cluster.pod("p")["status"]["phase"] == "Running"

        telling(scenario)

    def test_nothing_is_written_on_another_pod_of_the_same_name(self) -> None:
        async def scenario(cluster: FakeCluster, status_manager: PodStatusManager) -> None:
            cluster.pod("p")["metadata"]["uid"] = "another"
            status_manager.set_status({"phase": "Failed"})
            await status_manager.settled()
            await status_manager.remove()
            assert cluster.pod("p")["status"] == {}

        telling(scenario)

    def test_a_stopped_status_manager_writes_nothing(self) -> None:
        async def scenario(cluster: FakeCluster, status_manager: PodStatusManager) -> None:
            status_manager.stop()
            status_manager.set_status({"phase": "Failed"})
            await status_manager.settled()
            await status_manager.remove()
            assert cluster.pod("p")["status"] == {}

        telling(scenario)


def events(cluster: FakeCluster) -> list[dict[str, Any]]:
    return [document for (key, _, _), document in cluster.objects.items() if key == EVENTS.key]


class TestEvents:
    def test_an_event_has_all_fields_that_clients_read(self) -> None:
        async def scenario(cluster: FakeCluster, recorder: AgentEventQueue) -> None:
            recorder.record(AgentEvent(SUBJECT, EventText("Started", "Started container main"), "n"))
            await cluster.until(lambda: len(events(cluster)) == 1)
            (event,) = events(cluster)
            assert (event["apiVersion"], event["kind"]) == ("v1", "Event")
            assert event["involvedObject"]["name"] == "p"
            assert event["source"] == {"component": "understudy-agent", "host": "n"}
            assert event["firstTimestamp"] == event["lastTimestamp"] == "1970-01-01T00:00:00Z"
            assert (event["count"], event["type"], event["metadata"]["namespace"]) == (1, "Normal", "default")

        recording(scenario)

    def test_an_invalid_event_is_logged_and_the_next_one_is_recorded(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def scenario(cluster: FakeCluster, recorder: AgentEventQueue) -> None:
            create = cluster.create

            async def refusing(ref: Ref, body: dict[str, Any]) -> None:
                if body["reason"] == "First":
                    raise Refused(422, "Invalid", "reason: not today")
                await create(ref, body)

            monkeypatch.setattr(cluster, "create", refusing)
            for reason in ("First", "Second"):
                recorder.record(AgentEvent(SUBJECT, EventText(reason, ""), "n"))
            await cluster.until(lambda: [event["reason"] for event in events(cluster)] == ["Second"])
            assert "event First of p is not recorded: reason: not today" in caplog.text

        recording(scenario)

    def test_repeated_events_raise_a_count(self) -> None:
        async def scenario(cluster: FakeCluster, recorder: AgentEventQueue) -> None:
            for moment in (0.0, 1.0, 2.0, 9.0):
                clock[0] = moment
                recorder.record(AgentEvent(SUBJECT, EventText("Unhealthy", "no answer", warning=True), "n"))
            await cluster.until(lambda: [event["count"] for event in events(cluster)] == [4])
            assert sum(1 for verb, _ in cluster.writes if verb == "patch") == 1
            assert events(cluster)[0]["lastTimestamp"] == "1970-01-01T00:00:09Z"

        clock = [0.0]
        recording(scenario, lambda: clock[0])

    def test_a_repeated_event_that_was_deleted_is_created_again(self) -> None:
        async def scenario(cluster: FakeCluster, recorder: AgentEventQueue) -> None:
            recorder.record(AgentEvent(SUBJECT, EventText("Unhealthy", "no answer", warning=True), "n"))
            await cluster.until(lambda: len(events(cluster)) == 1)
            cluster.objects.clear()
            clock[0] = 10.0
            recorder.record(AgentEvent(SUBJECT, EventText("Unhealthy", "no answer", warning=True), "n"))
            await cluster.until(lambda: [event["count"] for event in events(cluster)] == [1])

        clock = [0.0]
        recording(scenario, lambda: clock[0])

    def test_events_wait_for_an_unreachable_server(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(agent_events, "_FIRST_PAUSE", 0.01)

        async def scenario(cluster: FakeCluster, recorder: AgentEventQueue) -> None:
            cluster.reachable = False
            for reason in ("First", "Second"):
                recorder.record(AgentEvent(SUBJECT, EventText(reason, ""), "n"))
            await cluster.knocked.wait()
            cluster.reachable = True
            await cluster.until(lambda: [event["reason"] for event in events(cluster)] == ["First", "Second"])

        recording(scenario)

    def test_an_event_whose_answer_was_lost_exists_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(agent_events, "_FIRST_PAUSE", 0.01)

        async def scenario(cluster: FakeCluster, recorder: AgentEventQueue) -> None:
            create, answers = cluster.create, iter([False, True, True])

            async def losing(ref: Ref, body: Mapping[str, Any], sub: str = "") -> bytes:
                made = await create(ref, body, sub)
                if not next(answers):
                    raise Unreachable("the answer was lost")
                return made

            monkeypatch.setattr(cluster, "create", losing)
            for reason in ("First", "Second"):
                recorder.record(AgentEvent(SUBJECT, EventText(reason, ""), "n"))
            await cluster.until(lambda: [event["reason"] for event in events(cluster)] == ["First", "Second"])

        recording(scenario)

    def test_a_refused_event_does_not_block_the_next(self) -> None:
        async def scenario(cluster: FakeCluster, recorder: AgentEventQueue) -> None:
            recorder.record(AgentEvent(SUBJECT, EventText("Known", ""), "n", name="same"))
            recorder.record(AgentEvent(SUBJECT, EventText("Refused", ""), "n", name="same"))
            recorder.record(AgentEvent(SUBJECT, EventText("Heard", ""), "n"))
            await cluster.until(lambda: [event["reason"] for event in events(cluster)] == ["Known", "Heard"])

        recording(scenario)


def recording(
    scenario: Callable[[FakeCluster, AgentEventQueue], Awaitable[None]], now: Callable[[], float] = lambda: 0.0
) -> None:
    async def whole() -> None:
        cluster = FakeCluster()
        recorder = AgentEventQueue(cluster, now=now)
        recorder.start()
        try:
            await scenario(cluster, recorder)
        finally:
            await recorder.close()

    asyncio.run(whole())


class TestSources:
    def test_concurrent_reads_of_one_object_are_one_request(self) -> None:
        async def scenario() -> None:
            cluster = Counting()
            await cluster.create(Ref(CONFIG_MAPS, "default"), {"metadata": {"name": "c"}, "data": {"k": "v"}})
            library = ConfigReader(cluster)
            held = await asyncio.gather(*(library.fetch("default", [config_map("c")]) for _ in range(50)))
            assert held == [{config_map("c"): {"k": b"v"}}] * 50
            assert cluster.asked == 1
            await library.fetch("default", [config_map("c")])
            assert cluster.asked == 2, "who asks later is told what holds then"

        asyncio.run(scenario())

    def test_the_last_data_is_used_while_the_api_is_unreachable(self) -> None:
        async def scenario() -> None:
            cluster = Counting()
            await cluster.create(Ref(CONFIG_MAPS, "default"), {"metadata": {"name": "c"}, "data": {"k": "v"}})
            library = ConfigReader(cluster)
            await library.fetch("default", [config_map("c")])
            cluster.reachable = False
            assert await library.fetch("default", [config_map("c")]) == {config_map("c"): {"k": b"v"}}
            with pytest.raises(Unreachable):
                await library.fetch("default", [config_map("other")])

        asyncio.run(scenario())


class Counting(FakeCluster):
    asked = 0

    async def get(self, ref: Ref) -> bytes:
        self.asked += 1
        await asyncio.sleep(0)
        return await super().get(ref)
