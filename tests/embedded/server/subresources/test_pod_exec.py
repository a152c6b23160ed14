"""Commands in containers, over a WebSocket."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.embedded.server.in_process_server import PODS, STRATEGIC, Server, pod, server
from tests.embedded.server.terminal import terminal
from understudy.embedded import agent_protocol
from understudy.embedded.agent_protocol import (
    CONTROL,
    STDERR,
    STDIN,
    STDOUT,
    Accepted,
    CloseStdin,
    Denied,
    Ended,
    Resize,
)

Agent = Callable[["Door"], Awaitable[None]]


class Door:
    """The agent's end of one command."""

    def __init__(
        self, request: agent_protocol.AgentRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.request = request
        self.reader = reader
        self.writer = writer

    async def say(self, control: agent_protocol.ControlMessage) -> None:
        await agent_protocol.write_frame(self.writer, CONTROL, msgspec.json.encode(control))

    async def write(self, channel: int, data: bytes) -> None:
        await agent_protocol.write_frame(self.writer, channel, data)

    async def read(self) -> tuple[int, Any]:
        channel, data = await agent_protocol.read_frame(self.reader)
        return channel, msgspec.json.decode(data, type=agent_protocol.ControlMessage) if channel == CONTROL else data


@contextlib.asynccontextmanager
async def serve_door(path: Path, behave: Agent) -> AsyncIterator[None]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, data = await agent_protocol.read_frame(reader)
        with contextlib.suppress(agent_protocol.AgentRefused):
            await behave(Door(agent_protocol.decode_request(data), reader, writer))
        writer.close()

    with agent_protocol.socket_address(path) as where:
        listening = await asyncio.start_unix_server(answer, where)
    async with listening:
        yield


def agent(ask: Server, behave: Agent) -> contextlib.AbstractAsyncContextManager[None]:
    return serve_door(ask.state.folder.agent_socket, behave)


async def cat(door: Door) -> None:
    """Gives back what it is given, and ends when that ends."""
    await door.say(Accepted())
    while True:
        match await door.read():
            case (0, data):
                await door.write(STDOUT, data)
            case (_, Resize(width, height)):
                await door.write(STDERR, f"{width}x{height}".encode())
            case (_, CloseStdin()):
                await door.say(Ended(0))
                return


def test_the_output_and_the_exit_code_of_a_command_are_sent(tmp_path: Path) -> None:
    asked: list[agent_protocol.AgentRequest] = []

    async def fail(door: Door) -> None:
        asked.append(door.request)
        await door.say(Accepted())
        await door.write(STDOUT, b"out")
        await door.write(STDERR, b"err")
        await door.say(Ended(3))

    async def scenario() -> None:
        async with server(tmp_path) as ask, agent(ask, fail):
            made = await ask.post(PODS, pod("one"))
            async with terminal(ask, "command=sh&command=-c&command=exit%203&stdout=true") as talk:
                assert await talk.next() == {"type": "websocket.accept", "subprotocol": "v5.channel.k8s.io"}
                assert await talk.read() == (STDOUT, b"out")
                assert await talk.read() == (STDERR, b"err")
                channel, data = await talk.read()
                status = msgspec.json.decode(data)
                assert (channel, status["status"], status["reason"]) == (3, "Failure", "NonZeroExitCode")
                assert status["details"]["causes"] == [{"reason": "ExitCode", "message": "3"}]
                assert await talk.next() == {"type": "websocket.close", "code": 1000}
            assert asked == [
                agent_protocol.ExecRequest(
                    pod_uid=made["metadata"]["uid"], container="main", command=("sh", "-c", "exit 3")
                )
            ]

    asyncio.run(scenario())


def test_input_sizes_and_the_end_of_input_are_passed_on(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask, agent(ask, cat):
            await ask.post(PODS, pod("one"))
            async with terminal(ask, "command=cat&stdin=true&tty=true") as talk:
                await talk.next()
                talk.type(STDIN, b"hello")
                assert await talk.read() == (STDOUT, b"hello")
                talk.type(4, b'{"Width":80,"Height":24}')
                assert await talk.read() == (STDERR, b"80x24")
                talk.type(4, b"nonsense")
                talk.type(9, b"nonsense")
                talk.type(255, b"\x00")
                channel, data = await talk.read()
                assert (channel, msgspec.json.decode(data)["status"]) == (3, "Success")

    asyncio.run(scenario())


def test_a_client_that_disconnects_ends_the_command(tmp_path: Path) -> None:
    ended = asyncio.Event()

    async def wait(door: Door) -> None:
        await door.say(Accepted())
        try:
            await door.read()
        finally:
            ended.set()

    async def scenario() -> None:
        async with server(tmp_path) as ask, agent(ask, wait):
            await ask.post(PODS, pod("one"))
            async with terminal(ask, "command=sleep&stdin=true", protocols=("x", "v4.channel.k8s.io")) as talk:
                assert (await talk.next())["subprotocol"] == "v4.channel.k8s.io"
            await asyncio.wait_for(ended.wait(), 10)

    asyncio.run(scenario())


def test_a_stopping_server_ends_the_session(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask, agent(ask, cat):
            await ask.post(PODS, pod("one"))
            async with terminal(ask, "command=cat&stdin=true") as talk:
                await talk.next()
                ask.state.close()
                assert (await talk.next())["type"] == "websocket.close"

    asyncio.run(scenario())


def test_failures_of_the_agent_are_sent_on_the_error_channel(tmp_path: Path) -> None:
    async def deny(door: Door) -> None:
        await door.say(Denied("container main is not running"))

    async def vanish(door: Door) -> None:
        await door.say(Accepted())

    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(PODS, pod("one"))
            async with terminal(ask, "command=ls") as talk:
                await talk.next()
                assert "the agent cannot be reached" in msgspec.json.decode((await talk.read())[1])["message"]
            for behave, said in ((deny, "not running"), (vanish, "closed")):
                async with agent(ask, behave), terminal(ask, "command=ls") as talk:
                    await talk.next()
                    channel, data = await talk.read()
                    assert channel == 3
                    assert said in msgspec.json.decode(data)["message"]
                ask.state.folder.agent_socket.unlink(missing_ok=True)

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"path": f"{PODS}/none/exec"}, 404),
        ({"path": PODS}, 400),
        ({"path": "/version"}, 404),
        ({"query": "stdin=true"}, 400),
        ({"query": "command=ls&container=none"}, 400),
        ({"query": "command=" + "x" * 200_000}, 400),
        ({"protocols": ("v1.channel.k8s.io",)}, 400),
        ({"token": "wrong"}, 401),
    ],
)
def test_a_wrong_exec_request_is_refused_before_the_upgrade(tmp_path: Path, changes: dict[str, Any], code: int) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(PODS, pod("one"))
            async with terminal(ask, **{"query": "command=ls", **changes}) as talk:
                status, body = await talk.refusal()
                assert (status, body["code"]) == (code, code)

    asyncio.run(scenario())


def test_a_pod_that_has_ended_runs_no_command(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(PODS, pod("one"))
            await ask.patch(f"{PODS}/one/status", {"status": {"phase": "Failed"}}, STRATEGIC)
            async with terminal(ask, "command=ls") as talk:
                assert "completed pod" in (await talk.refusal())[1]["message"]

    asyncio.run(scenario())


def test_a_request_without_an_upgrade_is_told_to_use_websockets(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(PODS, pod("one"))
            for method in ("GET", "POST"):
                status = await ask.refused(400, "BadRequest", method, f"{PODS}/one/exec?command=ls")
                assert "WebSockets only" in status["message"]
            await ask.refused(404, "NotFound", "POST", f"{PODS}/none/exec?command=ls")

    asyncio.run(scenario())
