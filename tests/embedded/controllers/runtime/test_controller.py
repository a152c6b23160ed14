"""How every controller runs: it begins when it knows everything, and what fails is tried again."""

import asyncio
from collections.abc import Mapping

import msgspec
import pytest

from tests.embedded.controllers.controller_runner import run_scenario, running_controllers
from tests.embedded.controllers.fake_cluster import FakeCluster, quiet
from tests.objects.documents import node, pod
from understudy.embedded.controllers.pod_gc import PodGarbageCollector
from understudy.embedded.controllers.runtime.controller import ChangeHandler, run_controller
from understudy.embedded.controllers.runtime.object_version import ObjectChange
from understudy.embedded.controllers.runtime.shared_cluster import SharedCluster
from understudy.embedded.controllers.runtime.work_queue import WorkQueue
from understudy.objects.resources import NODES, PODS, Resource
from understudy.ports import Clock, Refused


class Diligent:
    """Notes what it worked on; fails as often as it is told to."""

    name = "diligent"

    def __init__(self, clock: Clock, failures: int = 0, error: Exception | None = None) -> None:
        self.queue: WorkQueue[str] = WorkQueue(clock)
        self.nodes = 0
        self.reconciled: list[tuple[str, int]] = []
        self._failures = failures
        self._error = error or Refused(500, "InternalError", "not today")

    def watches(self) -> Mapping[Resource, ChangeHandler]:
        return {PODS: self._on_pod, NODES: self._on_node}

    def _on_pod(self, change: ObjectChange) -> None:
        self.queue.add(msgspec.json.decode(change.raw)["metadata"]["name"])

    def _on_node(self, _: ObjectChange) -> None:
        self.nodes += 1

    async def reconcile(self, key: str) -> float | None:
        if self._failures:
            self._failures -= 1
            raise self._error
        self.reconciled.append((key, self.nodes))
        return None


def test_nothing_is_worked_on_before_all_there_is_is_known() -> None:
    async def scenario(api: FakeCluster) -> None:
        for number in range(50):
            api.put(NODES, node(f"n{number}"))
        api.put(PODS, pod("p"))
        controller = Diligent(api.clock)
        async with running_controllers(api, lambda _: controller):
            await quiet()
            assert controller.reconciled == [("p", 50)]

    run_scenario(scenario)


@pytest.mark.parametrize("error", [Refused(409, "Conflict", "changed"), ValueError("a bug")], ids=["refused", "bug"])
def test_a_failed_key_is_retried_and_does_not_delay_others(error: Exception) -> None:
    async def scenario(api: FakeCluster) -> None:
        controller = Diligent(api.clock, failures=3, error=error)
        async with running_controllers(api, lambda _: controller):
            api.put(PODS, pod("first"))
            await quiet()
            api.put(PODS, pod("second"))
            await api.clock.advance(10)
            assert sorted(key for key, _ in controller.reconciled) == ["first", "second"]

    run_scenario(scenario)


def test_an_object_that_cannot_be_read_is_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(api: FakeCluster) -> None:
        api.put(PODS, pod("odd", meta={"labels": "not a mapping"}))
        api.put(PODS, pod("even", node="nowhere"))
        async with running_controllers(api, lambda parts: PodGarbageCollector(parts.cluster, parts.clock)):
            await api.clock.advance(10)
            assert api.names(PODS) == ["odd"]
            assert "passed over" in caplog.text

    run_scenario(scenario)


def test_it_ends_when_one_of_its_watches_does() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with SharedCluster(api, api.clock) as cluster:
            running = asyncio.create_task(run_controller(Diligent(api.clock), cluster))
            await quiet()
            api.break_watches(NODES)
            await quiet()
            assert running.done()
            assert isinstance(running.exception(), Refused)

    run_scenario(scenario)
