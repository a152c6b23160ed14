"""Ports of a pod, reached over a WebSocket as client libraries and as kubectl do it."""

import asyncio
import contextlib
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from tests.embedded.server.in_process_server import MERGE, PODS, Server, pod, server
from tests.embedded.server.terminal import Terminal, terminal
from understudy.embedded.server.http.spdy import DICTIONARY, FrameReader, FrameWriter, StreamData, StreamOpened
from understudy.embedded.server.subresources.pod_port_forward import CHANNELS, TUNNEL

WHERE = f"{PODS}/one/portforward"


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Sends back what it reads, and ends when that ends."""
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()
    writer.close()


@contextlib.asynccontextmanager
async def running(ask: Server) -> AsyncIterator[int]:
    """A running pod that echoes on the port."""
    listening = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with listening:
        await ask.post(PODS, pod("one"))
        status = {"status": {"phase": "Running", "podIP": "127.0.0.1"}}
        await ask("PATCH", f"{PODS}/one/status", status, content_type=MERGE)
        yield listening.sockets[0].getsockname()[1]


async def closed_port() -> int:
    listening = await asyncio.start_server(echo, "127.0.0.1", 0)
    port: int = listening.sockets[0].getsockname()[1]
    listening.close()
    await listening.wait_closed()
    return port


def with_pod(path: Path, scenario: Callable[[Server, int], Awaitable[None]]) -> None:
    async def run() -> None:
        async with server(path) as ask, running(ask) as port:
            await scenario(ask, port)

    asyncio.run(run())


def test_a_library_sends_and_receives_on_the_channels_of_a_port(tmp_path: Path) -> None:
    async def scenario(ask: Server, port: int) -> None:
        async with terminal(ask, f"ports={port}", path=WHERE, protocols=(CHANNELS,)) as client:
            assert (await client.next())["subprotocol"] == CHANNELS
            written = port.to_bytes(2, "little")
            assert [await client.read(), await client.read()] == [(0, written), (1, written)]
            client.type(0, b"hello")
            assert await client.read() == (0, b"hello")

    with_pod(tmp_path, scenario)


def test_a_library_need_not_name_a_protocol(tmp_path: Path) -> None:
    async def scenario(ask: Server, port: int) -> None:
        async with terminal(ask, f"ports={port}", path=WHERE, protocols=()) as client:
            assert (await client.next())["subprotocol"] is None
            for _ in range(2):
                await client.read()
            client.type(0, b"hello")
            assert await client.read() == (0, b"hello")

    with_pod(tmp_path, scenario)


def test_a_port_on_which_the_pod_does_not_listen_is_reported_on_its_error_channel(tmp_path: Path) -> None:
    async def scenario(ask: Server, port: int) -> None:
        wrong = await closed_port()
        async with terminal(ask, f"ports={port},{wrong}", path=WHERE, protocols=(CHANNELS,)) as client:
            for _ in range(5):
                await client.next()
            client.type(0, b"x" * 100_000)
            received = b""
            problem = b""
            while len(received) < 100_000 or not problem:
                channel, data = await client.read()
                assert channel in (0, 3)
                received, problem = (received + data, problem) if channel == 0 else (received, data)
            assert f"error forwarding port {wrong} to pod one".encode() in problem

    with_pod(tmp_path, scenario)


class Kubectl:
    """kubectl's end of a tunnel."""

    def __init__(self, client: Terminal) -> None:
        self.client = client
        self.writer, self.reader = FrameWriter(), FrameReader()
        self.received: dict[int, bytes] = {}
        self.ended: set[int] = set()

    def send(self, frame: bytes) -> None:
        for piece in (frame[:5], frame[5:]):  # frames come in pieces
            self.client.inward.put_nowait({"type": "websocket.receive", "bytes": piece})

    def connect(self, request: int, port: int) -> int:
        """Returns the data stream."""
        error, data = 4 * request + 1, 4 * request + 3
        headers = {"port": str(port), "requestID": str(request)}
        self.send(self.writer.open(error, {"streamType": "error", **headers}))
        self.send(self.writer.data(error, ends=True))
        self.send(self.writer.open(data, {"streamType": "data", **headers}))
        return data

    async def until(self, is_done: Callable[[], bool]) -> None:
        while not is_done():
            for frame in self.reader.feed((await self.client.next())["bytes"]):
                if isinstance(frame, StreamData):
                    self.received[frame.stream] = self.received.get(frame.stream, b"") + frame.data
                    self.ended |= {frame.stream} if frame.ends else set()


@contextlib.asynccontextmanager
async def kubectl(ask: Server) -> AsyncIterator[Kubectl]:
    async with terminal(ask, "", path=WHERE, protocols=(TUNNEL,)) as client:
        assert (await client.next())["subprotocol"] == TUNNEL
        yield Kubectl(client)


def test_kubectl_has_several_connections_in_one_tunnel(tmp_path: Path) -> None:
    async def scenario(ask: Server, port: int) -> None:
        async with kubectl(ask) as end:
            first, second = end.connect(0, port), end.connect(1, port)
            end.send(end.writer.data(first, b"one"))
            end.send(end.writer.data(second, b"two"))
            await end.until(lambda: end.received.get(first) == b"one" and end.received.get(second) == b"two")
            end.send(end.writer.data(first, ends=True))
            await end.until(lambda: {first, first - 2} <= end.ended)
            assert second not in end.ended
            assert end.received[first - 2] == b""

    with_pod(tmp_path, scenario)


def test_kubectl_is_told_that_the_pod_does_not_listen_and_goes_on(tmp_path: Path) -> None:
    async def scenario(ask: Server, port: int) -> None:
        wrong = await closed_port()
        async with kubectl(ask) as end:
            refused = end.connect(0, wrong)
            await end.until(lambda: {refused, refused - 2} <= end.ended)
            assert f"error forwarding port {wrong} to pod one".encode() in end.received[refused - 2]
            later = end.connect(1, port)
            end.send(end.writer.data(later, b"still there"))
            await end.until(lambda: end.received.get(later) == b"still there")

    with_pod(tmp_path, scenario)


@pytest.mark.parametrize(
    "garbage", [b"\x80\x02\x00\x01\x00\x00\x00\x00", b"\x80\x03\x00\x01\x00\xff\xff\xff", b"GET / HT"]
)
def test_a_client_that_does_not_speak_spdy_is_sent_away(tmp_path: Path, garbage: bytes) -> None:
    async def scenario(ask: Server, _: int) -> None:
        async with kubectl(ask) as end:
            end.send(garbage)
            while (message := await end.client.next())["type"] != "websocket.close":
                assert message["bytes"][:4] == b"\x80\x03\x00\x07"

    with_pod(tmp_path, scenario)


def test_a_data_stream_without_an_error_stream_is_reset(tmp_path: Path) -> None:
    async def scenario(ask: Server, port: int) -> None:
        async with kubectl(ask) as end:
            end.send(end.writer.open(3, {"streamType": "data", "port": str(port), "requestID": "0"}))
            assert (await end.client.next())["bytes"][:4] == b"\x80\x03\x00\x03"

    with_pod(tmp_path, scenario)


@pytest.mark.parametrize("ports", ["", "ports=0", "ports=70000", "ports=http", "ports=80,"])
def test_wrong_ports_are_refused_before_the_upgrade(tmp_path: Path, ports: str) -> None:
    async def scenario(ask: Server, _: int) -> None:
        async with terminal(ask, ports, path=WHERE, protocols=(CHANNELS,)) as client:
            code, status = await client.refusal()
            assert code == 400
            assert "ports" in status["message"]

    with_pod(tmp_path, scenario)


def test_a_pod_that_does_not_run_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(PODS, pod("one"))
            async with terminal(ask, "", path=WHERE, protocols=(TUNNEL,)) as client:
                code, status = await client.refusal()
                assert (code, "pod is not running" in status["message"]) == (400, True)
            refused = await ask.refused(400, "BadRequest", "POST", WHERE)
            assert "pod is not running" in refused["message"]

    asyncio.run(scenario())


def test_the_dictionary_is_the_one_of_the_protocol() -> None:
    assert zlib.adler32(DICTIONARY) == 0xE3C6A7C2  # the number by which compressed headers name it


def test_frames_survive_the_way_there_and_back_in_any_pieces() -> None:
    writer, reader = FrameWriter(), FrameReader()
    wire = writer.open(1, {"streamType": "data", "port": "80"}) + writer.data(1, b"text", ends=True)
    wire += writer.open(3, {"streamType": "error", "port": "80"}, ends=True) + writer.pong(7)
    found = [frame for byte in wire for frame in reader.feed(bytes([byte]))]
    assert found[0] == StreamOpened(1, {"streamtype": "data", "port": "80"}, False)
    assert found[1:3] == [StreamData(1, b"text", True), StreamOpened(3, {"streamtype": "error", "port": "80"}, True)]
    assert len(found) == 4
