"""Controllers at work on a cluster in memory, as tests want them."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import msgspec

from tests.embedded.controllers.fake_cluster import FakeClock, FakeCluster, quiet
from understudy.control.apply.record_writer import RecordWriter
from understudy.control.record.event_recorder import EventRecorder
from understudy.embedded.controllers.child_writer import ChildWriter
from understudy.embedded.controllers.garbage_collector import GarbageCollector
from understudy.embedded.controllers.job_kinds import JobKindController
from understudy.embedded.controllers.namespace_lifecycle import NamespaceLifecycleController
from understudy.embedded.controllers.runtime.controller import Controller, run_controller
from understudy.embedded.controllers.runtime.event_aggregator import EventAggregator
from understudy.embedded.controllers.runtime.object_graph import ObjectGraph
from understudy.embedded.controllers.runtime.shared_cluster import SharedCluster
from understudy.embedded.controllers.workload_controllers import WORKLOADS
from understudy.kinds.registry import CONTROLLERS

Made = Callable[["ControllerParts"], Controller]


class ControllerParts(msgspec.Struct):
    """All a controller is made of."""

    api: FakeCluster
    clock: FakeClock
    cluster: SharedCluster
    recorder: EventAggregator
    graph: ObjectGraph


def housekeeping() -> tuple[Made, Made]:
    return (
        lambda parts: GarbageCollector(parts.graph, parts.cluster, parts.clock),
        lambda parts: NamespaceLifecycleController(parts.graph, parts.cluster, parts.clock, parts.api.replace),
    )


def job_kind_controller(kind: str) -> Made:
    def made(parts: ControllerParts) -> Controller:
        found = next(each for each in (*CONTROLLERS, *WORKLOADS) if each.resource.kind == kind)
        writer = ChildWriter(parts.cluster, parts.clock, parts.recorder, random.Random(len(parts.api.requests)))
        return JobKindController(found, writer, parts.clock)

    return made


@contextlib.asynccontextmanager
async def running_controllers(api: FakeCluster, *makers: Made) -> AsyncIterator[ControllerParts]:
    """Controllers on this cluster; leaving it is a kill -9 to them."""
    async with SharedCluster(api, api.clock) as cluster:
        recorder = EventRecorder(cluster, RecordWriter(cluster), api.clock)
        parts = ControllerParts(api, api.clock, cluster, EventAggregator(recorder), ObjectGraph(cluster, api.clock))
        work: list[Coroutine[Any, Any, None]] = [run_controller(made(parts), cluster) for made in makers]
        tasks = [
            asyncio.create_task(each)
            for each in (recorder.run(), cluster.verify_unconfirmed(), parts.graph.run(), *work)
        ]
        try:
            await quiet()
            yield parts
            for task in tasks:
                if task.done():
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def run_scenario(scenario: Callable[[FakeCluster], Coroutine[Any, Any, None]]) -> None:
    """Runs a test in an event loop of its own, on an empty cluster."""

    async def told() -> None:
        await scenario(FakeCluster(FakeClock()))

    asyncio.run(told())
