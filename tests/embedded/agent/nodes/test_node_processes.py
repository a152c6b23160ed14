"""Node processes: how they die, hang and come back, and what happens to their pods."""

import contextlib
import os
import signal
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.embedded.agent.agent_world import NODE, AgentWorld, node, run_scenario, state
from tests.eventually import eventually_async
from understudy.embedded import agent_protocol
from understudy.embedded.agent.nodes import node_processes
from understudy.embedded.agent_protocol import AgentRefused, ExecRequest, FailNode, RecoverNode
from understudy.embedded.shim import container_files, linux, node_pid_files
from understudy.embedded.shim.container_files import ShimState
from understudy.embedded.shim.pod_folders import pod_folder
from understudy.objects.resources import LEASES, NODES, PODS
from understudy.ports import Ref

OTHER = "node-1"
TWO = (node(), node(OTHER))
FAMILY = "setsid sh -c 'echo $$$$; exec sleep 1000' & exec sleep 1000"  # and a child in a session of its own


async def body_of(world: AgentWorld, name: str = NODE) -> int:
    await eventually_async(lambda: name in node_pid_files.running_nodes(world.folder.nodes))
    return node_pid_files.running_nodes(world.folder.nodes)[name].pid


def container(world: AgentWorld, uid: str, attempt: int = 0) -> ShimState:
    found = container_files.read(pod_folder(world.folder.pods, uid).attempt("main", attempt).state, ShimState)
    assert found is not None
    return found


def ready(world: AgentWorld, name: str = NODE) -> dict[str, Any]:
    conditions = world.cluster.objects[NODES.key, "", name]["status"]["conditions"]
    found: dict[str, Any] = next(one for one in conditions if one["type"] == "Ready")
    return found


def renewed(world: AgentWorld, name: str = NODE) -> float:
    text = world.cluster.objects[LEASES.key, "kube-node-lease", name]["spec"]["renewTime"]
    return datetime.fromisoformat(text).timestamp()


async def family(world: AgentWorld, name: str, **spec: Any) -> tuple[str, list[int]]:
    """Starts a pod; returns its uid and its processes, the shim first."""
    uid = await world.run_pod(name, FAMILY, restartPolicy="Always", **spec)
    child = int((await world.logged(uid, "\n")).strip())
    await world.phase(name, "Running")
    found = container(world, uid)
    return uid, [found.shim, found.pid, child]


def dead(processes: list[int]) -> bool:
    return not any(map(linux.start_ticks, processes))


async def several_beats(world: AgentWorld, name: str = OTHER) -> None:
    """Waits for heartbeats of one node, in the time of which another would have been received, too."""
    began = renewed(world, name)
    await world.cluster.until(lambda: renewed(world, name) > began + 2.5)


@pytest.mark.parametrize("struck", ["the node's process", "all processes", "all but what got away"])
def test_the_death_of_a_node_is_reported_at_once_and_none_of_its_processes_lives_on(
    tmp_path: Path, struck: str
) -> None:
    async def scenario(world: AgentWorld) -> None:
        _, processes = await family(world, "victim")
        _, others = await family(world, "other", nodeName=OTHER)
        victims = {"the node's process": [], "all processes": processes, "all but what got away": processes[:2]}[struck]
        for process in (await body_of(world), *victims):
            with contextlib.suppress(ProcessLookupError):  # the children of a shim may die with it
                os.kill(process, signal.SIGKILL)
        await world.cluster.until(lambda: ready(world)["status"] == "Unknown")
        assert ready(world)["reason"] == "AgentGone"
        assert datetime.fromisoformat(ready(world)["lastTransitionTime"]).microsecond
        await eventually_async(lambda: dead(processes))
        assert state(world.cluster.pod("victim"))["state"].keys() == {"running"}, "the dead tell nothing"
        assert not dead(others)
        assert ready(world, OTHER)["status"] == "True"

        await agent_protocol.ask_agent(world.folder.agent_socket, RecoverNode(NODE))
        await world.cluster.until(lambda: ready(world)["status"] == "True")
        await world.cluster.until(lambda: state(world.cluster.pod("victim"))["restartCount"] == 1)
        await body_of(world)

    run_scenario(tmp_path, scenario, nodes=TWO)


def test_the_death_of_a_node_is_reported_until_the_api_has_it(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        _, processes = await family(world, "victim")
        await world.cluster.until(lambda: ready(world)["status"] == "True")
        world.cluster.reachable = False
        os.kill(await body_of(world), signal.SIGKILL)
        await eventually_async(lambda: dead(processes))
        await world.cluster.knocked.wait()
        world.cluster.reachable = True
        await world.cluster.until(lambda: ready(world)["reason"] == "AgentGone")

    run_scenario(tmp_path, scenario)


def test_a_node_that_was_stopped_goes_on(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        uid, processes = await family(world, "sleeper")
        everything = [await body_of(world), *processes]
        for process in everything:
            os.kill(process, signal.SIGSTOP)
        last = time.time()
        await several_beats(world)
        assert renewed(world) <= last
        with pytest.raises(AgentRefused, match="does not answer"):
            await agent_protocol.open_exec(
                world.folder.agent_socket, ExecRequest(pod_uid=uid, container="", command=("true",))
            )
        for process in everything:
            os.kill(process, signal.SIGCONT)
        await world.cluster.until(lambda: renewed(world) > last)
        assert not any(linux.start_ticks(process) is None for process in everything)
        assert state(world.cluster.pod("sleeper"))["restartCount"] == 0
        await world.delete("sleeper", grace=0)
        await eventually_async(lambda: dead(processes))

    run_scenario(tmp_path, scenario, nodes=TWO)


@pytest.mark.parametrize("how", ["freeze", "unplug"])
def test_no_pod_starts_while_a_process_of_its_name_lives(tmp_path: Path, how: agent_protocol.Failure) -> None:
    """The replacement checks whether any of the processes that it replaces is still alive."""

    async def scenario(world: AgentWorld) -> None:
        uid, processes = await family(world, "rank")
        await agent_protocol.ask_agent(world.folder.agent_socket, FailNode(NODE, how))
        await world.cluster.erase(Ref(PODS, "default", "rank"))
        look = " ".join(f"/proc/{process}/exe" for process in processes)
        await world.run_pod("rank", f"ls -L {look} 2>/dev/null | wc -l", nodeName=OTHER)
        again = await world.phase("rank", "Succeeded")
        assert (await world.log(again["metadata"]["uid"])).strip() == "0"
        assert dead(processes)
        await eventually_async(lambda: not (world.folder.pods / uid).exists())
        await agent_protocol.ask_agent(world.folder.agent_socket, RecoverNode(NODE))
        await world.run_pod("next", "exit 0")
        await world.phase("next", "Succeeded")

    run_scenario(tmp_path, scenario, nodes=TWO)


SHOW_DEVICE = "echo device $$CUDA_VISIBLE_DEVICES."


def one_device(script: str) -> dict[str, Any]:
    limits = {"limits": {"nvidia.com/gpu": "1"}}
    return {"containers": [{"name": "main", "command": ["sh", "-c", script], "resources": limits}]}


@pytest.mark.parametrize("how", ["freeze", "kill"])
def test_a_pod_that_starts_again_on_a_recovered_node_still_has_its_device_to_itself(
    tmp_path: Path, how: agent_protocol.Failure
) -> None:
    async def scenario(world: AgentWorld) -> None:
        first = await world.run_pod("first", **one_device(f"{SHOW_DEVICE}; exec sleep 1000"), restartPolicy="Always")
        assert "device 0." in await world.logged(first, "\n")
        await agent_protocol.ask_agent(world.folder.agent_socket, FailNode(NODE, how))
        await agent_protocol.ask_agent(world.folder.agent_socket, RecoverNode(NODE))
        await world.cluster.until(lambda: state(world.cluster.pod("first"))["restartCount"] == 1)
        await world.cluster.until(lambda: "running" in state(world.cluster.pod("first"))["state"])
        second = await world.run_pod("second", **one_device(SHOW_DEVICE))
        await world.phase("second", "Succeeded")
        assert "device 1." in await world.log(second)

    run_scenario(tmp_path, scenario, nodes=(node(**{"nvidia.com/gpu": "2"}),))


@pytest.mark.parametrize("ending", ["fails", "is failed by a controller", "is deleted"])
def test_the_device_of_a_pod_that_ended_with_its_node_is_free_when_the_node_is_back(
    tmp_path: Path, ending: str
) -> None:
    async def scenario(world: AgentWorld) -> None:
        uid = await world.run_pod("first", **one_device("exec sleep 1000"))
        await world.phase("first", "Running")
        shim = container(world, uid).shim
        await agent_protocol.ask_agent(world.folder.agent_socket, FailNode(NODE, "kill"))
        if ending == "is deleted":
            await world.cluster.erase(Ref(PODS, "default", "first"))
        elif ending == "is failed by a controller":
            await eventually_async(lambda: dead([shim]))
            await world.run_pod("other", nodeName=OTHER)
            await several_beats(world)  # the agent has put away what it may by now
            await world.cluster.patch(Ref(PODS, "default", "first"), {"status": {"phase": "Failed"}}, sub="status")
        await agent_protocol.ask_agent(world.folder.agent_socket, RecoverNode(NODE))
        second = await world.run_pod("second", **one_device(SHOW_DEVICE))
        await world.phase("second", "Succeeded")
        assert "device 0." in await world.log(second)

    run_scenario(tmp_path, scenario, nodes=(node(**{"nvidia.com/gpu": "1"}), node(OTHER)))


def test_an_unplugged_node_renews_no_lease_and_its_processes_run_on(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        _, processes = await family(world, "runs")
        ends = await world.run_pod("ends", "until test -e now; do sleep 0.01; done; exit 5")
        await world.phase("ends", "Running")
        body = await body_of(world)
        await agent_protocol.ask_agent(world.folder.agent_socket, FailNode(NODE, "unplug"))
        last = time.time()
        (world.folder.pods / ends / "root" / "now").touch()
        await several_beats(world)
        assert renewed(world) <= last
        assert world.cluster.pod("ends")["status"]["phase"] == "Running", "the death is not reported yet"
        assert not dead(processes)
        await agent_protocol.ask_agent(world.folder.agent_socket, RecoverNode(NODE))
        await world.phase("ends", "Failed")
        await world.cluster.until(lambda: renewed(world) > last)
        assert not dead(processes)
        assert await body_of(world) == body
        assert state(world.cluster.pod("runs"))["restartCount"] == 0

    run_scenario(tmp_path, scenario, nodes=TWO)


def test_a_new_agent_has_new_processes_for_its_nodes_and_the_pods_it_finds(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        _, processes = await family(world, "runs")
        before = await body_of(world)
        await world.stop_agent()
        assert linux.start_ticks(before) is None
        await world.start_agent()
        after = await body_of(world)
        assert not dead(processes)
        os.kill(after, signal.SIGKILL)
        await world.cluster.until(lambda: ready(world)["status"] == "Unknown")
        await eventually_async(lambda: dead(processes))

    run_scenario(tmp_path, scenario)


def test_of_many_nodes_only_those_with_pods_have_processes(tmp_path: Path) -> None:
    """Also where the fork server was killed just before."""

    async def scenario(world: AgentWorld) -> None:
        await world.run_pod("first", "sleep 1000")
        await world.phase("first", "Running")
        assert node_pid_files.running_nodes(world.folder.nodes).keys() == {NODE}
        [root] = [int(path.name) for path in Path("/proc").glob("[0-9]*") if _is_root(path, world)]
        os.kill(root, signal.SIGKILL)
        await world.run_pod("second", "sleep 1000", nodeName=OTHER)
        await world.phase("second", "Running")
        assert node_pid_files.running_nodes(world.folder.nodes).keys() == {NODE, OTHER}

    run_scenario(
        tmp_path, scenario, nodes=tuple(node(f"node-{number}") for number in range(node_processes.EAGER_NODES + 1))
    )


def _is_root(process: Path, world: AgentWorld) -> bool:
    try:
        mine = os.fsencode(world.folder.path / "fork-server") in (process / "cmdline").read_bytes()
        return mine and (process / "comm").read_text().strip() == "understudy-fork"
    except OSError:
        return False
