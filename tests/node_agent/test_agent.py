"""The node agent as a whole, on a stand-in of a metadata server and one of nvidia-smi."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.eventually import eventually_async
from tests.node_agent.fake_node_api import FakeNodeApi, unreachable
from tests.node_agent.metadata_stand_in import AWS_ACTION, AWS_TOKEN, AZURE_EVENTS, StandIn, stand_in
from tests.node_agent.nvidia_smi import TWO_GPUS, TWO_ROWS, NvidiaSmi
from understudy.node_agent import agent as module
from understudy.node_agent.agent import AgentOptions, NodeAgent, NoSuchNode
from understudy.ports import Refused

COMPUTE = "azure:///subscriptions/1/resourceGroups/g/providers/Microsoft.Compute"
VMSS = f"{COMPUTE}/virtualMachineScaleSets/spot/virtualMachines/0"
PREEMPT = {"EventId": "1", "EventStatus": "Scheduled", "EventType": "Preempt", "Resources": ["spot_0"],
           "NotBefore": "Mon, 19 Jan 2037 00:00:00 GMT"}  # fmt: skip


@contextlib.asynccontextmanager
async def running(api: FakeNodeApi, metadata: StandIn, **options: Any) -> AsyncIterator[NodeAgent]:
    given = {"node": "spot-0", "endpoint": metadata.address, "gpus": "none", **options}
    agent, stopped = NodeAgent(api, AgentOptions(**given)), asyncio.Event()
    task = asyncio.create_task(agent.run(stopped))
    try:
        yield agent
    finally:
        stopped.set()
        await task


def test_the_cloud_is_known_by_the_provider_id_and_the_machine_by_its_name_there() -> None:
    async def scenario() -> None:
        api = FakeNodeApi("spot-0", "spot-1", provider_id=VMSS)
        async with stand_in() as metadata, running(api, metadata):
            metadata.announce_events(PREEMPT, {**PREEMPT, "EventType": "Reboot", "Resources": ["spot_1"]})
            await eventually_async(lambda: api.annotation("spot-0"))
            begin = "deadline=2037-01-19T00:00:00Z,source=azure,cause=Preempt,at="
            assert str(api.annotation("spot-0")).startswith(begin)
            metadata.announce_events()
            await eventually_async(lambda: api.annotation("spot-0") is None)
            assert {node for node, _ in api.writes} == {"spot-0"}, "no other node is written"

    asyncio.run(scenario())


def test_a_cloud_that_is_named_goes_before_the_provider_id() -> None:
    async def scenario() -> None:
        api = FakeNodeApi("spot-0", provider_id=VMSS)
        async with stand_in() as metadata, running(api, metadata, cloud="aws"):
            metadata.announce(AWS_ACTION, {"action": "stop", "time": "2037-01-19T00:00:00Z"})
            await eventually_async(lambda: "source=aws,cause=spot-stop" in str(api.annotation("spot-0")))
            assert metadata.count(AZURE_EVENTS) == 0

    asyncio.run(scenario())


@pytest.mark.parametrize("provider_id", ["", "kind://docker/kind/kind-worker", "aws"])
def test_without_a_known_cloud_nothing_is_asked(provider_id: str) -> None:
    async def scenario() -> None:
        api = FakeNodeApi("spot-0", provider_id=provider_id)
        async with stand_in() as metadata, running(api, metadata) as agent:
            await eventually_async(lambda: agent.ready)
            assert metadata.asked == []

    asyncio.run(scenario())


def test_a_provider_id_that_comes_later_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_LOOK", 0.01)

    async def scenario() -> None:
        api = FakeNodeApi("spot-0")
        async with stand_in() as metadata, running(api, metadata) as agent:
            await eventually_async(lambda: agent.ready)
            api.nodes["spot-0"]["spec"]["providerID"] = VMSS
            await eventually_async(lambda: metadata.count(AZURE_EVENTS) >= 1)

    asyncio.run(scenario())


def test_a_notice_that_an_earlier_agent_left_is_withdrawn_when_every_endpoint_says_so() -> None:
    async def scenario() -> None:
        api = FakeNodeApi("spot-0", provider_id="aws:///eu-west-1a/i-0123")
        api.annotate("spot-0", "deadline=2037-01-19T00:00:00Z,source=aws,cause=spot-terminate")
        async with stand_in() as metadata:
            metadata.fault[AWS_TOKEN] = "error"
            async with running(api, metadata):
                await eventually_async(lambda: metadata.count(AWS_TOKEN) >= 3)
                assert api.annotation("spot-0") is not None
                metadata.fault.clear()
                await eventually_async(lambda: api.annotation("spot-0") is None)

    asyncio.run(scenario())


def test_gpu_health_is_written_and_heals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    smi, log = NvidiaSmi(tmp_path), tmp_path / "kmsg"
    log.write_text("")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("understudy.node_agent.gpus.gpu_monitor.TOOL_INTERVAL", 0.0)
    monkeypatch.setattr(module, "pci_gpus", lambda: 2)

    async def scenario() -> None:
        api = FakeNodeApi("spot-0")

        def status() -> dict[str, str]:
            return {kind: one["status"] for kind, one in api.conditions("spot-0").items()}

        healthy = {"GPUMissing": "False", "GPUUnhealthy": "False", "XIDErrors": "False"}
        async with stand_in() as metadata, running(api, metadata, gpus="auto", kernel_log=log):
            await eventually_async(lambda: status() == healthy)
            smi.says("00000000:3B:00.0, 3\n", TWO_ROWS)
            with log.open("a") as file:
                file.write("4,1,2,-;NVRM: Xid (PCI:0000:86:00): 79, GPU has fallen off the bus.\n")
            await eventually_async(lambda: set(status().values()) == {"True"})
            smi.says(TWO_GPUS, TWO_ROWS)
            with log.open("a") as file:
                file.write("4,1,2,-;NVRM: loading NVIDIA UNIX x86_64 Kernel Module\n")
            await eventually_async(lambda: status() == healthy)

    asyncio.run(scenario())


def test_a_kernel_log_that_may_not_be_read_costs_only_the_xid_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    NvidiaSmi(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))

    async def scenario() -> None:
        api = FakeNodeApi("spot-0")
        async with stand_in() as metadata, running(api, metadata, gpus="auto", kernel_log=tmp_path / "none"):
            await eventually_async(lambda: set(api.conditions("spot-0")) == {"GPUMissing", "GPUUnhealthy"})

    asyncio.run(scenario())


def test_an_agent_waits_for_the_api_and_ends_where_it_has_no_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE", 0.01)

    async def scenario() -> None:
        api = FakeNodeApi("spot-0")
        api.failure = unreachable()
        async with stand_in() as metadata, running(api, metadata) as agent:
            assert not agent.ready
            api.failure = None
            await eventually_async(lambda: agent.ready)
            with pytest.raises(NoSuchNode, match="no node 'spot-7'"):
                await NodeAgent(api, AgentOptions(node="spot-7")).run(asyncio.Event())
            api.failure = Refused(403, "Forbidden", "no")
            with pytest.raises(Refused):
                await NodeAgent(api, AgentOptions(node="spot-0")).run(asyncio.Event())

    asyncio.run(scenario())
