"""Requests to the agent over its socket: run a command in a container, fail a node, recover it, read what is used.

Both sides send frames: one byte for the channel, four for the length, then the data.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

import msgspec

MARK = (
    "UNDERSTUDY_CONTAINER"  # environment variable that identifies the processes of a container: uid/container/attempt
)
MOUNTS = "UNDERSTUDY_MOUNTS"  # where its mounts are, as JSON, on machines that do not allow private mounts
GOING = "is on its way out"  # the reason why no command can be run in a pod that is being deleted
STDIN, STDOUT, STDERR, CONTROL = 0, 1, 2, 3
LARGEST_FRAME = 1 << 20
_HEADER = 5
_CONTAINERS_IN_FRAME = 2_000
_LONGEST_ADDRESS = 100  # Linux limits the address of a socket to 108 bytes


class AgentRefused(Exception):
    """The agent refused a request or did not answer; the message says why."""


class ExecRequest(msgspec.Struct, frozen=True, kw_only=True, tag_field="verb", tag="exec"):
    pod_uid: str
    container: str
    command: tuple[str, ...]
    stdin: bool = False
    tty: bool = False
    width: int = 0
    height: int = 0
    neighbour: str = ""  # run in the pod of this name in the same namespace instead; an empty container means its first


Failure = Literal["kill", "freeze", "unplug"]


class FailNode(msgspec.Struct, frozen=True, tag_field="verb", tag="fail-node"):
    """`kill` ends the processes of the node and its pods, as a power cut would; `freeze` stops them, as on a machine
    that hangs; with `unplug` they run on, and the node reports nothing."""

    node: str
    how: Failure = "kill"


class RecoverNode(msgspec.Struct, frozen=True, tag_field="verb", tag="recover-node"):
    node: str


class ReadUsage(msgspec.Struct, frozen=True, tag_field="verb", tag="read-usage"):
    """What all running containers of this machine use."""


AgentRequest = ExecRequest | FailNode | RecoverNode | ReadUsage


class ContainerUsage(msgspec.Struct, frozen=True, gc=False, array_like=True):
    pod_uid: str
    container: str
    cpu: int  # billionths of one CPU
    memory: int  # bytes


class UsageReport(msgspec.Struct, frozen=True):
    window: float  # seconds over which the CPU was measured
    containers: list[ContainerUsage]


class Resize(msgspec.Struct, frozen=True, tag="resize"):
    width: int
    height: int


class CloseStdin(msgspec.Struct, frozen=True, tag="close-stdin"):
    pass


class Accepted(msgspec.Struct, frozen=True, tag="accepted"):
    pass


class Ended(msgspec.Struct, frozen=True, tag="ended"):
    exit_code: int


class Denied(msgspec.Struct, frozen=True, tag="denied"):
    why: str


ControlMessage = Resize | CloseStdin | Accepted | Ended | Denied


class ExecSession:
    """The client's side of one command in a container. Iterating yields (channel, data) until the command ends."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.exit_code: int | None = None

    async def send(self, data: bytes) -> None:
        for start in range(0, len(data), LARGEST_FRAME):
            await write_frame(self._writer, STDIN, data[start : start + LARGEST_FRAME])

    async def close_stdin(self) -> None:
        await write_frame(self._writer, CONTROL, msgspec.json.encode(CloseStdin()))

    async def resize(self, width: int, height: int) -> None:
        await write_frame(self._writer, CONTROL, msgspec.json.encode(Resize(width, height)))

    async def __aiter__(self) -> AsyncIterator[tuple[int, bytes]]:
        while True:
            channel, data = await read_frame(self._reader)
            if channel != CONTROL:
                yield channel, data
                continue
            match msgspec.json.decode(data, type=ControlMessage):
                case Ended(exit_code):
                    self.exit_code = exit_code
                    return
                case Denied(why):
                    raise AgentRefused(why)
                case other:
                    raise AgentRefused(f"the agent answered with {other!r}")

    async def close(self) -> None:
        """Closes the connection; the agent kills a command that is still running."""
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


async def open_exec(socket: Path, request: ExecRequest) -> ExecSession:
    """Raises AgentRefused if the command cannot run: no such container, container not running, no agent."""
    reader, writer = await _asked(socket, request)
    return ExecSession(reader, writer)


async def ask_agent(socket: Path, request: FailNode | RecoverNode) -> None:
    """Returns when the agent has done it. Raises AgentRefused."""
    _, writer = await _asked(socket, request)
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


async def read_usage(socket: Path) -> UsageReport:
    """Raises AgentRefused."""
    reader, writer = await _asked(socket, ReadUsage())
    try:
        report = UsageReport(0.0, [])
        while True:  # a report may take more than one frame
            channel, data = await read_frame(reader)
            if channel == CONTROL:
                return report
            part = msgspec.json.decode(data, type=UsageReport)
            report = UsageReport(part.window, [*report.containers, *part.containers])
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def send_usage(writer: asyncio.StreamWriter, report: UsageReport) -> None:
    """The answer to ReadUsage, after Accepted."""
    for start in range(0, max(1, len(report.containers)), _CONTAINERS_IN_FRAME):
        part = UsageReport(report.window, report.containers[start : start + _CONTAINERS_IN_FRAME])
        await write_frame(writer, STDOUT, msgspec.json.encode(part))
    await write_frame(writer, CONTROL, msgspec.json.encode(Ended(0)))


async def _asked(socket: Path, request: AgentRequest) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    try:
        with socket_address(socket) as where:
            reader, writer = await asyncio.open_unix_connection(where)
    except OSError as problem:
        raise AgentRefused(f"the agent cannot be reached: {problem.strerror or problem}") from problem
    try:
        await write_frame(writer, CONTROL, msgspec.json.encode(request))
        _, data = await read_frame(reader)
        answer: ControlMessage = msgspec.json.decode(data, type=ControlMessage)
    except BaseException:
        writer.close()
        raise
    if isinstance(answer, Accepted):
        return reader, writer
    writer.close()
    raise AgentRefused(answer.why if isinstance(answer, Denied) else f"the agent answered with {answer!r}")


async def write_frame(writer: asyncio.StreamWriter, channel: int, data: bytes) -> None:
    try:
        writer.write(bytes([channel]) + len(data).to_bytes(4, "big") + data)
        await writer.drain()
    except ConnectionError as problem:
        raise AgentRefused("the connection was closed") from problem


async def read_frame(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    try:
        header = await reader.readexactly(_HEADER)
        length = int.from_bytes(header[1:], "big")
        if length > LARGEST_FRAME:
            raise AgentRefused(f"a frame of {length} bytes is too large")
        return header[0], await reader.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError) as problem:
        raise AgentRefused("the connection was closed") from problem


def decode_request(data: bytes) -> AgentRequest:
    request: AgentRequest = msgspec.json.decode(data, type=AgentRequest)
    return request


@contextlib.contextmanager
def socket_address(socket: Path) -> Iterator[str]:
    """Yields a path that is short enough to be the address of a socket."""
    if len(os.fsencode(socket)) <= _LONGEST_ADDRESS:
        yield str(socket)
        return
    folder = os.open(socket.parent, os.O_PATH)
    try:
        yield f"/proc/self/fd/{folder}/{socket.name}"
    finally:
        os.close(folder)
