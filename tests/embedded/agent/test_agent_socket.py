"""Commands run in containers from outside, through the agent's socket."""

import asyncio
import contextlib
import json
import os
import signal
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.embedded.agent.agent_world import NODE, AgentWorld, node, run_scenario, state
from tests.eventually import eventually_async
from understudy.embedded import agent_protocol
from understudy.embedded.agent_protocol import STDERR, STDOUT, AgentRefused, ExecRequest, FailNode, RecoverNode
from understudy.embedded.shim import linux
from understudy.objects.resources import LEASES, PODS
from understudy.ports import Ref


def request(uid: str, *command: str, **more: Any) -> ExecRequest:
    return ExecRequest(pod_uid=uid, container="main", command=command, **more)


async def outcome(world: AgentWorld, request: ExecRequest) -> tuple[dict[int, str], int | None]:
    said = {STDOUT: b"", STDERR: b""}
    async with await agent_protocol.open_exec(world.folder.agent_socket, request) as session:
        async for channel, data in session:
            said[channel] += data
        return {channel: data.decode() for channel, data in said.items()}, session.exit_code


async def sleeper(world: AgentWorld) -> str:
    main = {
        "name": "main",
        "command": ["sleep", "1000"],
        "env": [{"name": "COLOUR", "value": "blue"}],
        "volumeMounts": [{"name": "v", "mountPath": "/understudy-socket"}],
        "workingDir": "/understudy-socket",
    }
    uid = await world.create_pod("sleeper", {"containers": [main], "volumes": [{"name": "v", "emptyDir": {}}]})
    await world.phase("sleeper", "Running")
    return uid


def test_a_command_sees_what_the_container_sees(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        uid = await sleeper(world)
        script = "echo $COLOUR; pwd; hostname; echo oops >&2; exit 4"
        said, code = await outcome(world, request(uid, "sh", "-c", script))
        assert said == {STDOUT: "blue\n/understudy-socket\nsleeper\n", STDERR: "oops\n"}
        assert code == 4

    run_scenario(tmp_path, scenario)


def test_input_reaches_the_command_and_its_end_is_seen(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        uid = await sleeper(world)
        payload = os.urandom(300_000).hex().encode()
        async with await agent_protocol.open_exec(
            world.folder.agent_socket, request(uid, "cat", stdin=True)
        ) as session:
            sending = asyncio.create_task(session.send(payload))
            received = b""
            async for _, data in session:
                received += data
                if len(received) == len(payload):
                    await sending
                    await session.close_stdin()
            assert received == payload
            assert session.exit_code == 0

    run_scenario(tmp_path, scenario)


def test_a_terminal_has_a_size_and_echoes(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        uid = await sleeper(world)
        asked = request(uid, "sh", "-c", "stty size; read line; stty size; test -t 0", tty=True, width=90, height=30)
        async with await agent_protocol.open_exec(world.folder.agent_socket, asked) as session:
            seen = b""
            async for channel, data in session:
                assert channel == STDOUT
                seen += data
                if seen == b"30 90\r\n":
                    await session.resize(100, 40)
                    await session.send(b"go\n")
            assert seen == b"30 90\r\ngo\r\n40 100\r\n"
            assert session.exit_code == 0

    run_scenario(tmp_path, scenario)


def test_a_command_whose_client_disconnects_is_killed(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        uid = await sleeper(world)
        session = await agent_protocol.open_exec(
            world.folder.agent_socket, request(uid, "sh", "-c", "(setsid sleep 999 &) ; echo $$; exec sleep 999")
        )
        _, data = await anext(aiter(session))
        pid = int(data)
        await session.close()
        await eventually_async(lambda: not Path(f"/proc/{pid}/cwd").exists())

    run_scenario(tmp_path, scenario)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("nonesuch",), 'exec: "nonesuch": executable file not found in $PATH'),
        (("x" * 200_000,), "the command is too long"),
    ],
)
def test_commands_that_cannot_run_say_why(tmp_path: Path, command: tuple[str, ...], words: str) -> None:
    async def scenario(world: AgentWorld) -> None:
        uid = await sleeper(world)
        with pytest.raises(AgentRefused) as caught:
            await outcome(world, request(uid, *command))
        assert str(caught.value) == words

    run_scenario(tmp_path, scenario)


def test_unknown_containers_cannot_be_entered(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        uid = await world.run_pod("short", "exit 0")
        await world.phase("short", "Succeeded")
        for wrong in (request(uid, "true"), request("unknown", "true")):
            with pytest.raises(AgentRefused, match=r"not on this machine|not running"):
                await outcome(world, wrong)

    run_scenario(tmp_path, scenario)


def test_only_its_owner_may_use_the_socket(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        await sleeper(world)
        assert stat.S_IMODE(world.folder.agent_socket.stat().st_mode) == 0o600

    run_scenario(tmp_path, scenario)


def test_a_socket_with_a_long_path_can_be_reached(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100)
    deep.mkdir()

    async def scenario(world: AgentWorld) -> None:
        uid = await sleeper(world)
        assert (await outcome(world, request(uid, "true")))[1] == 0

    run_scenario(deep, scenario)


def test_a_failed_node_renews_no_lease_and_its_processes_are_killed(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        uid = await world.run_pod("victim", "sleep 1000", restartPolicy="Always")
        other = await world.create_pod(
            "other", {"containers": [{"name": "main", "command": ["sleep", "1000"]}], "nodeName": "node-1"}
        )
        for name in ("victim", "other"):
            await world.phase(name, "Running")
        exit_file = world.folder.pods / uid / "containers" / "main" / "0" / "exit.json"
        await agent_protocol.ask_agent(world.folder.agent_socket, FailNode(NODE))
        await eventually_async(lambda: exit_file.exists())
        assert state(world.cluster.pod("victim"))["state"].keys() == {"running"}, "the death is not reported yet"
        lease = world.cluster.objects[LEASES.key, "kube-node-lease", NODE]["spec"]["renewTime"]
        late = await world.run_pod("late", "exit 0")
        alive = world.cluster.objects[LEASES.key, "kube-node-lease", "node-1"]["spec"]["renewTime"]
        await world.cluster.until(
            lambda: world.cluster.objects[LEASES.key, "kube-node-lease", "node-1"]["spec"]["renewTime"] != alive
        )
        assert world.cluster.objects[LEASES.key, "kube-node-lease", NODE]["spec"]["renewTime"] == lease
        assert not (world.folder.pods / late).exists()
        assert (world.folder.pods / other).exists()

        await agent_protocol.ask_agent(world.folder.agent_socket, RecoverNode(NODE))
        await world.phase("late", "Succeeded")
        await world.cluster.until(lambda: state(world.cluster.pod("victim"))["restartCount"] == 1)
        assert world.cluster.objects[LEASES.key, "kube-node-lease", NODE]["spec"]["renewTime"] != lease

    run_scenario(tmp_path, scenario, nodes=(node(), node("node-1")))


def standing_still(process: int) -> bool:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def process_of(world: AgentWorld, uid: str) -> int:
    state_file = world.folder.pods / uid / "containers" / "main" / "0" / "state.json"
    return int(json.loads(state_file.read_bytes())["pid"])


def test_stopped_processes_never_run_again_beside_their_replacement(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        uids = {name: await world.run_pod(name, "sleep 1000 & wait", restartPolicy="Always") for name in ("a", "b")}
        for name in uids:
            await world.phase(name, "Running")
        processes = {name: process_of(world, uid) for name, uid in uids.items()}
        await agent_protocol.ask_agent(world.folder.agent_socket, FailNode(NODE, "freeze"))
        await eventually_async(lambda: all(map(standing_still, processes.values())))
        await world.cluster.erase(Ref(PODS, "default", "a"))
        await world.run_pod("late", "exit 0")
        await eventually_async(lambda: not (world.folder.pods / uids["a"]).exists())
        assert linux.start_ticks(processes["a"]) is None, "another may have taken its place"
        assert standing_still(processes["b"]), "it is left alone"
        assert state(world.cluster.pod("b"))["state"].keys() == {"running"}, "the death is not reported yet"

        await agent_protocol.ask_agent(world.folder.agent_socket, RecoverNode(NODE))
        assert not any(map(linux.start_ticks, processes.values()))
        await world.phase("late", "Succeeded")
        await world.cluster.until(lambda: state(world.cluster.pod("b"))["restartCount"] == 1)

    run_scenario(tmp_path, scenario, nodes=(node(), node("node-1")))


def test_the_next_agent_also_kills_processes_that_were_stopped(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        uid = await world.run_pod("a", "sleep 1000 & wait", restartPolicy="Always")
        await world.phase("a", "Running")
        process = process_of(world, uid)
        await agent_protocol.ask_agent(world.folder.agent_socket, FailNode(NODE, "freeze"))
        await world.stop_agent()
        await world.start_agent()
        await world.run_pod("monitor", "exit 0", nodeName="node-1")
        await world.phase("monitor", "Succeeded")
        await eventually_async(lambda: standing_still(process))
        await agent_protocol.ask_agent(world.folder.agent_socket, RecoverNode(NODE))
        assert linux.start_ticks(process) is None
        await world.cluster.until(lambda: state(world.cluster.pod("a"))["restartCount"] == 1)

    run_scenario(tmp_path, scenario, nodes=(node(), node("node-1")))


@pytest.mark.parametrize("asked", [RecoverNode(NODE), FailNode(NODE)])
def test_failures_of_nodes_wait_for_the_initial_list_of_pods(tmp_path: Path, asked: RecoverNode | FailNode) -> None:
    """Else it would leave processes as they are: stopped for ever, or alive on a failed node."""

    async def scenario(world: AgentWorld) -> None:
        uid = await world.run_pod("a", "sleep 1000 & wait", restartPolicy="Always")
        await world.phase("a", "Running")
        process = process_of(world, uid)
        if isinstance(asked, RecoverNode):
            await agent_protocol.ask_agent(world.folder.agent_socket, FailNode(NODE, "freeze"))
        await world.stop_agent()
        world.cluster.lists.clear()
        await world.start_agent()
        await eventually_async(world.folder.agent_socket.exists)
        asking = asyncio.create_task(agent_protocol.ask_agent(world.folder.agent_socket, asked))
        await asyncio.wait([asking], timeout=0.2)
        world.cluster.lists.set()
        await asking
        await eventually_async(lambda: linux.start_ticks(process) is None)

    run_scenario(tmp_path, scenario)


def test_unknown_nodes_cannot_be_made_to_fail(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        await sleeper(world)
        with pytest.raises(AgentRefused, match="node 'elsewhere' is not one of this machine"):
            await agent_protocol.ask_agent(world.folder.agent_socket, FailNode("elsewhere"))

    run_scenario(tmp_path, scenario)


def test_without_an_agent_there_is_no_socket(tmp_path: Path) -> None:
    with pytest.raises(AgentRefused, match="the agent cannot be reached"):
        asyncio.run(agent_protocol.ask_agent(tmp_path / "agent.sock", FailNode(NODE)))


def test_a_command_whose_shim_is_killed_has_ended(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        uid = await sleeper(world)
        session = await agent_protocol.open_exec(
            world.folder.agent_socket, request(uid, "sh", "-c", "echo $PPID; exec sleep 999")
        )
        talk = aiter(session)
        _, data = await anext(talk)
        os.kill(int(data), signal.SIGKILL)
        with pytest.raises(AgentRefused, match="the command was killed"):
            await anext(talk)
        await session.close()

    run_scenario(tmp_path, scenario)


# Neighbours, as mpirun enters them


async def neighbours(world: AgentWorld) -> str:
    """Starts two pods; the first enters the second."""
    for name in ("asker", "peer"):
        await world.create_pod(name, {"containers": [{"name": "first", "command": ["sleep", "1000"]}]})
        await world.phase(name, "Running")
    return str(world.cluster.pod("asker")["metadata"]["uid"])


def to_neighbour(uid: str, name: str, *command: str) -> ExecRequest:
    return ExecRequest(pod_uid=uid, neighbour=name, container="", command=command)


def test_a_neighbour_is_entered_by_its_name(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        uid = await neighbours(world)
        said, code = await outcome(world, to_neighbour(uid, "peer", "hostname"))
        assert (said[STDOUT], code) == ("peer\n", 0)

    run_scenario(tmp_path, scenario)


def test_a_pod_of_another_namespace_is_no_neighbour(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        uid = await neighbours(world)
        spec = {"containers": [{"name": "first", "command": ["sleep", "1000"]}]}
        await world.create_pod("stranger", spec, namespace="elsewhere")
        for name in ("stranger", "unknown"):
            with pytest.raises(AgentRefused, match="is not on this machine"):
                await outcome(world, to_neighbour(uid, name, "hostname"))

    run_scenario(tmp_path, scenario)


def test_a_pod_that_is_being_deleted_may_enter_no_neighbour(tmp_path: Path) -> None:
    async def scenario(world: AgentWorld) -> None:
        uid = await neighbours(world)
        mark = {"type": "DisruptionTarget", "status": "True"}
        patch = {"status": {"conditions": [mark]}}
        await world.cluster.patch(Ref(PODS, "default", "asker"), patch, sub="status")
        with contextlib.suppress(AgentRefused):
            async with asyncio.timeout(60):
                while True:  # until the agent has received the change
                    await outcome(world, to_neighbour(uid, "peer", "true"))
        with pytest.raises(AgentRefused, match='pod "asker" is on its way out'):
            await outcome(world, to_neighbour(uid, "peer", "true"))

    run_scenario(tmp_path, scenario)


def test_programs_of_the_agent_come_last(tmp_path: Path) -> None:
    """Also where a container sets its own PATH."""

    async def scenario(world: AgentWorld) -> None:
        own = [{"name": "PATH", "value": "/opt/own:/usr/bin:/bin"}]
        main = {"name": "main", "command": ["sleep", "1000"], "env": own}
        uid = await world.create_pod("sleeper", {"containers": [main]})
        await world.phase("sleeper", "Running")
        said, _ = await outcome(world, request(uid, "sh", "-c", "echo $PATH; command -v understudy-rsh"))
        assert said[STDOUT].splitlines() == [
            f"/opt/own:/usr/bin:/bin:{world.folder.programs}",
            str(world.folder.programs / "understudy-rsh"),
        ]

    run_scenario(tmp_path, scenario)
