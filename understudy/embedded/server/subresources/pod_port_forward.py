"""GET pods/{name}/portforward: connections to ports of a pod over a WebSocket, in the two forms that clients speak.

Client libraries open one WebSocket for each connection, with two channels for each port. kubectl opens one WebSocket
and speaks SPDY inside it, with two streams for each connection.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from understudy.embedded.schema.errors import bad_request
from understudy.embedded.schema.types.pods import Pod
from understudy.embedded.server.http.request import Request
from understudy.embedded.server.http.request_target import Target
from understudy.embedded.server.http.response import Response
from understudy.embedded.server.http.spdy import (
    Frame,
    FrameReader,
    FrameWriter,
    GoAway,
    Malformed,
    Ping,
    StreamData,
    StreamOpened,
    StreamReset,
)
from understudy.embedded.server.http.websocket import WebSocket
from understudy.embedded.server.registry.state import ServerState
from understudy.embedded.server.registry.update import find_record

CHANNELS = "v4.channel.k8s.io"
TUNNEL = "SPDY/3.1+portforward.k8s.io"
_MOST_PORTS = 128
_MOST_STREAMS = 1_000  # of one kubectl at a time
_BLOCK = 1 << 16
_PROTOCOL_ERROR, _REFUSED_STREAM = 1, 3  # of a SPDY reset

Write = Callable[[bytes], Awaitable[None]]


class PodAddress(msgspec.Struct, frozen=True):
    pod: str
    uid: str
    address: str


async def serve_port_forward(state: ServerState, request: Request, target: Target, socket: WebSocket) -> None:
    """A wrong request is refused before the upgrade. A port that cannot be reached is reported on its error channel."""
    pod = _running_pod(state, target)
    if TUNNEL in socket.subprotocols:
        await socket.accept(TUNNEL)
        await _until_closing(state, _SpdyTunnel(pod, socket).serve())
    elif CHANNELS in socket.subprotocols or not socket.subprotocols:  # as kubelets, which take none for the channels
        ports = _ports(request)
        await socket.accept(CHANNELS if socket.subprotocols else None)
        await _until_closing(state, _ChannelForward(pod, socket, ports).serve())
    else:
        raise bad_request(f"unable to upgrade: neither of the subprotocols {CHANNELS}, {TUNNEL} was offered")
    with contextlib.suppress(OSError):
        await socket.close()


async def port_forward_without_upgrade(state: ServerState, _: Request, target: Target) -> Response:
    """Raises what is wrong with the request, else that a WebSocket is needed."""
    _running_pod(state, target)
    raise bad_request(
        "port-forward works over WebSockets only: use kubectl 1.31 or newer, or 1.30 with "
        "KUBECTL_PORT_FORWARD_WEBSOCKETS=true"
    )


def _running_pod(state: ServerState, target: Target) -> PodAddress:
    pod = target.served.form.load(find_record(state, target).body)
    assert isinstance(pod, Pod)
    address = pod.status.pod_ip
    if pod.status.phase != "Running" or not address:
        raise bad_request(f"unable to forward port because pod is not running. Current status={pod.status.phase}")
    return PodAddress(target.name, str(pod.metadata.uid), address)


def _ports(request: Request) -> list[int]:
    given = [text for value in request.values("ports") for text in value.split(",")]
    if not 0 < len(given) <= _MOST_PORTS:
        raise bad_request(f'query parameter "ports" is required: between 1 and {_MOST_PORTS} of them')
    return [_port(text) for text in given]


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 1 << 16):
        raise bad_request(f'ports: Invalid value: "{text[:20]}": give numbers from 1 to 65535')
    return int(text)


async def _until_closing(state: ServerState, work: Awaitable[None]) -> None:
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task, state.closing}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class PodConnection:
    """One TCP connection to a port of the pod. Data that comes before it stands is kept."""

    def __init__(self, pod: PodAddress, port: int) -> None:
        self._pod = pod
        self._port = port
        self._inward: asyncio.Queue[bytes | None] = asyncio.Queue(maxsize=64)

    async def send(self, data: bytes) -> None:
        """Waits while the pod reads more slowly than the client sends."""
        await self._inward.put(data)

    async def end_input(self) -> None:
        await self._inward.put(None)

    async def relay(self, write: Write) -> str:
        """Until the pod has closed its side. What went wrong, in words; '' where nothing did."""
        try:
            reader, writer = await asyncio.open_connection(self._pod.address, self._port)
        except OSError as problem:
            return (
                f"error forwarding port {self._port} to pod {self._pod.pod}, uid {self._pod.uid}: "
                f"{self._pod.address}:{self._port}: {problem.strerror or problem}"
            )
        feeding = asyncio.ensure_future(self._feed(writer))
        try:
            while block := await reader.read(_BLOCK):
                await write(block)
        except ConnectionError as problem:
            return f"error forwarding port {self._port} to pod {self._pod.pod}: {problem.strerror or problem}"
        finally:
            feeding.cancel()
            await asyncio.gather(feeding, return_exceptions=True)
            writer.close()
        return ""

    async def _feed(self, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while (data := await self._inward.get()) is not None:
                writer.write(data)
                await writer.drain()
            writer.write_eof()


class _ChannelForward:
    """Channel 2i has the data of the i-th port, channel 2i+1 what went wrong. Each begins with its port."""

    def __init__(self, pod: PodAddress, socket: WebSocket, ports: Sequence[int]) -> None:
        self._socket = socket
        self._connections = [PodConnection(pod, port) for port in ports]
        self._ports = ports

    async def serve(self) -> None:
        for channel in range(2 * len(self._ports)):
            await self._socket.send(bytes([channel]) + self._ports[channel // 2].to_bytes(2, "little"))
        relays = [asyncio.ensure_future(self._relay(number)) for number in range(len(self._ports))]
        inward = asyncio.ensure_future(self._read())
        done = asyncio.gather(*relays)
        try:
            waited: set[asyncio.Future[Any]] = {inward, done}
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (inward, *relays):
                task.cancel()
            await asyncio.gather(inward, *relays, done, return_exceptions=True)

    async def _relay(self, number: int) -> None:
        async def write(data: bytes) -> None:
            await self._socket.send(bytes([2 * number]) + data)

        if problem := await self._connections[number].relay(write):
            await self._socket.send(bytes([2 * number + 1]) + problem.encode())

    async def _read(self) -> None:
        async for message in self._socket:
            if len(message) > 1 and message[0] % 2 == 0 and message[0] // 2 < len(self._connections):
                await self._connections[message[0] // 2].send(message[1:])


class _SpdyTunnel:
    """For each connection the client opens an error stream and then a data stream, joined by their request ID."""

    def __init__(self, pod: PodAddress, socket: WebSocket) -> None:
        self._pod = pod
        self._socket = socket
        self._reader, self._writer = FrameReader(), FrameWriter()
        self._errors: dict[str, int] = {}  # request ID -> error stream, until the data stream comes
        self._connections: dict[int, PodConnection] = {}  # by data stream
        self._relays: dict[int, asyncio.Task[None]] = {}

    async def serve(self) -> None:
        try:
            async for message in self._socket:
                for frame in self._reader.feed(message):
                    if not await self._take(frame):
                        return
        except Malformed:
            await self._socket.send(self._writer.go_away())
        finally:
            for relay in self._relays.values():
                relay.cancel()
            await asyncio.gather(*self._relays.values(), return_exceptions=True)

    async def _take(self, frame: Frame) -> bool:
        """False where the client is done."""
        match frame:
            case StreamOpened():
                await self._open(frame)
            case StreamData(stream=stream, data=data, ends=ends) if stream in self._connections:
                if data:
                    await self._connections[stream].send(data)
                if ends:
                    await self._connections[stream].end_input()
            case StreamReset(stream=stream) if stream in self._relays:
                self._relays[stream].cancel()
            case Ping(number=number):
                await self._socket.send(self._writer.pong(number))
            case GoAway():
                return bool(self._relays)
        return True

    async def _open(self, opened: StreamOpened) -> None:
        kind, request_id = opened.headers.get("streamtype"), opened.headers.get("requestid", "")
        port = opened.headers.get("port", "")
        if len(self._relays) + len(self._errors) >= _MOST_STREAMS:
            await self._socket.send(self._writer.reset(opened.stream, _REFUSED_STREAM))
        elif kind == "error":
            self._errors[request_id] = opened.stream
            await self._socket.send(self._writer.accept(opened.stream))
        elif kind == "data" and request_id in self._errors and port.isdigit() and 0 < int(port) < 1 << 16:
            await self._socket.send(self._writer.accept(opened.stream))
            self._forward(opened.stream, self._errors.pop(request_id), int(port))
        else:
            await self._socket.send(self._writer.reset(opened.stream, _PROTOCOL_ERROR))

    def _forward(self, stream: int, error_stream: int, port: int) -> None:
        connection = self._connections[stream] = PodConnection(self._pod, port)
        self._relays[stream] = asyncio.ensure_future(self._relay(stream, error_stream, connection))

    async def _relay(self, stream: int, error_stream: int, connection: PodConnection) -> None:
        async def write(data: bytes) -> None:
            await self._socket.send(self._writer.data(stream, data))

        try:
            problem = await connection.relay(write)
            await self._socket.send(self._writer.data(error_stream, problem.encode(), ends=True))
            await self._socket.send(self._writer.data(stream, ends=True))
        finally:
            self._connections.pop(stream, None)
            self._relays.pop(stream, None)
