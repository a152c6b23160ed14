"""GPU conditions as they are written on the node: when they change, and never those of another monitor."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from unittest import mock

from tests.eventually import eventually_async
from tests.node_agent.fake_node_api import FakeNodeApi, unreachable
from understudy.control.view.node_health import DEFAULT_LIMITS, examine_node
from understudy.kinds.decoding import decode
from understudy.model.nodes import Verdict
from understudy.node_agent.gpus import condition_writer
from understudy.node_agent.gpus.condition_writer import ConditionWriter
from understudy.node_agent.gpus.gpu_conditions import CONDITIONS, GpuCondition
from understudy.objects.nodes import Node

LOST = GpuCondition("GPUMissing", "True", "GPULost", "1 of 2 GPUs are there")
FOUND = GpuCondition("GPUMissing", "False", "AllGPUsPresent", "2 GPUs answer")


@contextlib.asynccontextmanager
async def writing(api: FakeNodeApi, now: list[float]) -> AsyncIterator[ConditionWriter]:
    with mock.patch.object(condition_writer, "PAUSE", 0.01), mock.patch.object(condition_writer, "CHECK", 0.05):
        writer = ConditionWriter(api, "a", lambda: now[0])
        task = asyncio.create_task(writer.run())
        try:
            yield writer
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def test_a_condition_is_written_when_it_changes() -> None:
    async def scenario() -> None:
        api, now = FakeNodeApi("a"), [100.0]
        api.failure = unreachable()
        async with writing(api, now) as writer:
            writer.tell([LOST])
            await eventually_async(lambda: not writer._changed.is_set())
            api.failure = None
            await eventually_async(lambda: api.conditions("a"))
            assert api.conditions("a")["GPUMissing"] == {
                "type": "GPUMissing",
                "status": "True",
                "reason": "GPULost",
                "message": "1 of 2 GPUs are there",
                "lastHeartbeatTime": "1970-01-01T00:01:40Z",
                "lastTransitionTime": "1970-01-01T00:01:40Z",
            }
            now[0] = 200.0
            writer.tell([LOST])
            writer.tell([GpuCondition("GPUMissing", "True", "GPULost", "0 of 2 GPUs are there")])
            await eventually_async(lambda: api.conditions("a")["GPUMissing"]["message"].startswith("0 of 2"))
            assert api.conditions("a")["GPUMissing"]["lastTransitionTime"] == "1970-01-01T00:01:40Z"
            writer.tell([FOUND])
            await eventually_async(lambda: api.conditions("a")["GPUMissing"]["status"] == "False")
            assert api.conditions("a")["GPUMissing"]["lastTransitionTime"] == "1970-01-01T00:03:20Z"
            assert api.writes == [("a", "status")] * 3

    asyncio.run(scenario())


def test_a_bad_condition_is_written_again_when_the_node_was_made_anew() -> None:
    async def scenario() -> None:
        api = FakeNodeApi("a")
        async with writing(api, [100.0]) as writer:
            writer.tell([LOST])
            await eventually_async(lambda: api.conditions("a"))
            api.nodes["a"]["status"] = {}
            await eventually_async(lambda: api.conditions("a"))

    asyncio.run(scenario())


def test_a_condition_of_another_monitor_is_left_to_it() -> None:
    async def scenario() -> None:
        api = FakeNodeApi("a")
        theirs = {"type": "GPUMissing", "status": "False", "reason": "NodeProblemDetector"}
        api.nodes["a"]["status"] = {"conditions": [theirs]}
        xid = GpuCondition("XIDErrors", "True", "FatalXIDErrors", "Xid of 0000:3b:00: 79")
        async with writing(api, [100.0]) as writer:
            writer.tell([LOST, xid])
            await eventually_async(lambda: "XIDErrors" in api.conditions("a"))
            assert api.conditions("a")["GPUMissing"] == theirs

    asyncio.run(scenario())


def test_every_condition_takes_the_node_out_of_service() -> None:
    for kind in CONDITIONS:
        document = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "a"},
            "status": {"conditions": [{"type": kind, "status": "True", "reason": "r"}]},
        }
        node = decode(document)
        assert isinstance(node, Node)
        assert examine_node(node, None, 0.0, DEFAULT_LIMITS).health.verdict is Verdict.LOST
