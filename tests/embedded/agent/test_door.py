"""Commands run in containers from outside, through the agent's socket."""

import asyncio
import os
import signal
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.embedded.agent.worlds import NODE, World, node, play, state
from understudy.embedded import doorway
from understudy.embedded.doorway import STDERR, STDOUT, DoorClosed, ExecRequest, FailNode, RecoverNode
from understudy.objects.resources import LEASES


def request(uid: str, *command: str, **more: Any) -> ExecRequest:
    return ExecRequest(pod_uid=uid, container="main", command=command, **more)


async def outcome(world: World, request: ExecRequest) -> tuple[dict[int, str], int | None]:
    said = {STDOUT: b"", STDERR: b""}
    async with await doorway.open_exec(world.folder.agent_socket, request) as session:
        async for channel, data in session:
            said[channel] += data
        return {channel: data.decode() for channel, data in said.items()}, session.exit_code


async def sleeper(world: World) -> str:
    main = {
        "name": "main",
        "command": ["sleep", "1000"],
        "env": [{"name": "COLOUR", "value": "blue"}],
        "volumeMounts": [{"name": "v", "mountPath": "/understudy-door"}],
        "workingDir": "/understudy-door",
    }
    uid = await world.create_pod("sleeper", {"containers": [main], "volumes": [{"name": "v", "emptyDir": {}}]})
    await world.phase("sleeper", "Running")
    return uid


def test_a_command_sees_what_the_container_sees(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        uid = await sleeper(world)
        script = "echo $COLOUR; pwd; hostname; echo oops >&2; exit 4"
        said, code = await outcome(world, request(uid, "sh", "-c", script))
        assert said == {STDOUT: "blue\n/understudy-door\nsleeper\n", STDERR: "oops\n"}
        assert code == 4

    play(tmp_path, scene)


def test_input_reaches_the_command_and_its_end_is_seen(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        uid = await sleeper(world)
        payload = os.urandom(300_000).hex().encode()
        async with await doorway.open_exec(world.folder.agent_socket, request(uid, "cat", stdin=True)) as session:
            sending = asyncio.create_task(session.send(payload))
            received = b""
            async for _, data in session:
                received += data
                if len(received) == len(payload):
                    await sending
                    await session.close_stdin()
            assert received == payload
            assert session.exit_code == 0

    play(tmp_path, scene)


def test_a_terminal_has_a_size_and_echoes(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        uid = await sleeper(world)
        asked = request(uid, "sh", "-c", "stty size; read line; stty size; test -t 0", tty=True, width=90, height=30)
        async with await doorway.open_exec(world.folder.agent_socket, asked) as session:
            seen = b""
            async for channel, data in session:
                assert channel == STDOUT
                seen += data
                if seen == b"30 90\r\n":
                    await session.resize(100, 40)
                    await session.send(b"go\n")
            assert seen == b"30 90\r\ngo\r\n40 100\r\n"
            assert session.exit_code == 0

    play(tmp_path, scene)


def test_a_command_that_nobody_listens_to_any_more_is_killed(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        uid = await sleeper(world)
        session = await doorway.open_exec(
            world.folder.agent_socket, request(uid, "sh", "-c", "(setsid sleep 999 &) ; echo $$; exec sleep 999")
        )
        _, data = await anext(aiter(session))
        pid = int(data)
        await session.close()
        while Path(f"/proc/{pid}/cwd").exists():
            await asyncio.sleep(0.01)

    play(tmp_path, scene)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("nonesuch",), 'exec: "nonesuch": executable file not found in $PATH'),
        (("x" * 200_000,), "the command is too long"),
    ],
)
def test_commands_that_cannot_run_say_why(tmp_path: Path, command: tuple[str, ...], words: str) -> None:
    async def scene(world: World) -> None:
        uid = await sleeper(world)
        with pytest.raises(DoorClosed) as caught:
            await outcome(world, request(uid, *command))
        assert str(caught.value) == words

    play(tmp_path, scene)


def test_containers_that_are_not_there_cannot_be_entered(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        uid = await world.run_pod("short", "exit 0")
        await world.phase("short", "Succeeded")
        for wrong in (request(uid, "true"), request("nobody", "true")):
            with pytest.raises(DoorClosed, match=r"not on this machine|not running"):
                await outcome(world, wrong)

    play(tmp_path, scene)


def test_only_its_owner_may_knock(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        await sleeper(world)
        assert stat.S_IMODE(world.folder.agent_socket.stat().st_mode) == 0o600

    play(tmp_path, scene)


def test_a_socket_far_down_in_the_folders_can_be_reached(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100)
    deep.mkdir()

    async def scene(world: World) -> None:
        uid = await sleeper(world)
        assert (await outcome(world, request(uid, "true")))[1] == 0

    play(deep, scene)


def test_a_node_that_fails_falls_silent_and_takes_its_processes_along(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        uid = await world.run_pod("victim", "sleep 1000", restartPolicy="Always")
        other = await world.create_pod(
            "other", {"containers": [{"name": "main", "command": ["sleep", "1000"]}], "nodeName": "node-1"}
        )
        for name in ("victim", "other"):
            await world.phase(name, "Running")
        exit_file = world.folder.pods / uid / "containers" / "main" / "0" / "exit.json"
        await doorway.ask(world.folder.agent_socket, FailNode(NODE))
        while not exit_file.exists():
            await asyncio.sleep(0.01)
        assert state(world.cluster.pod("victim"))["state"].keys() == {"running"}, "nobody was told"
        lease = world.cluster.objects[LEASES.key, "kube-node-lease", NODE]["spec"]["renewTime"]
        late = await world.run_pod("late", "exit 0")
        alive = world.cluster.objects[LEASES.key, "kube-node-lease", "node-1"]["spec"]["renewTime"]
        await world.cluster.until(
            lambda: world.cluster.objects[LEASES.key, "kube-node-lease", "node-1"]["spec"]["renewTime"] != alive
        )
        assert world.cluster.objects[LEASES.key, "kube-node-lease", NODE]["spec"]["renewTime"] == lease
        assert not (world.folder.pods / late).exists()
        assert (world.folder.pods / other).exists()

        await doorway.ask(world.folder.agent_socket, RecoverNode(NODE))
        await world.phase("late", "Succeeded")
        await world.cluster.until(lambda: state(world.cluster.pod("victim"))["restartCount"] == 1)
        assert world.cluster.objects[LEASES.key, "kube-node-lease", NODE]["spec"]["renewTime"] != lease

    play(tmp_path, scene, nodes=(node(), node("node-1")))


def test_nodes_of_others_cannot_be_made_to_fail(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        await sleeper(world)
        with pytest.raises(DoorClosed, match="node 'elsewhere' is not one of this machine"):
            await doorway.ask(world.folder.agent_socket, FailNode("elsewhere"))

    play(tmp_path, scene)


def test_no_agent_no_door(tmp_path: Path) -> None:
    with pytest.raises(DoorClosed, match="the agent cannot be reached"):
        asyncio.run(doorway.ask(tmp_path / "agent.sock", FailNode(NODE)))


def test_a_command_whose_keeper_is_killed_has_ended(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        uid = await sleeper(world)
        session = await doorway.open_exec(
            world.folder.agent_socket, request(uid, "sh", "-c", "echo $PPID; exec sleep 999")
        )
        talk = aiter(session)
        _, data = await anext(talk)
        os.kill(int(data), signal.SIGKILL)
        with pytest.raises(DoorClosed, match="the command was killed"):
            await anext(talk)
        await session.close()

    play(tmp_path, scene)
