"""The agent's socket: serves requests to run commands in containers, and to let nodes fail and recover."""

import asyncio
import contextlib
import fcntl
import os
import pty
import struct
import termios
from pathlib import Path
from typing import Protocol

import msgspec

from understudy.embedded import agent_protocol
from understudy.embedded.agent.pods.pod_containers import NotRunning
from understudy.embedded.agent.processes.fork_server_connection import ExecProcess
from understudy.embedded.agent_protocol import (
    CONTROL,
    STDERR,
    STDIN,
    STDOUT,
    Accepted,
    AgentRefused,
    CloseStdin,
    ControlMessage,
    Denied,
    Ended,
    ExecRequest,
    FailNode,
    Failure,
    ReadUsage,
    RecoverNode,
    Resize,
    UsageReport,
)

_BLOCK = 1 << 15
_END_OF_INPUT = b"\x04"  # Ctrl-D, which a terminal takes for the end of the input


class AgentRequests(Protocol):
    """What the socket serves. All methods raise LookupError or NotRunning, whose text is the answer."""

    def enter(self, request: ExecRequest, streams: tuple[int, int, int]) -> ExecProcess: ...

    async def fail_node(self, name: str, how: Failure) -> None: ...

    async def recover_node(self, name: str) -> None: ...

    async def usage(self) -> UsageReport: ...


class AgentSocket:
    def __init__(self, path: Path, requests: AgentRequests) -> None:
        self._path = path
        self._requests = requests
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        self._path.unlink(missing_ok=True)
        mask = os.umask(0o177)
        try:
            with agent_protocol.socket_address(self._path) as address:
                self._server = await asyncio.start_unix_server(self._connected, address)
        finally:
            os.umask(mask)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        self._path.unlink(missing_ok=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            _, data = await agent_protocol.read_frame(reader)
            match agent_protocol.decode_request(data):
                case ExecRequest() as request:
                    await ExecStream(reader, writer, request).run(self._requests)
                case FailNode(node, how):
                    await self._requests.fail_node(node, how)
                    await _send(writer, Accepted())
                case RecoverNode(node):
                    await self._requests.recover_node(node)
                    await _send(writer, Accepted())
                case ReadUsage():
                    report = await self._requests.usage()
                    await _send(writer, Accepted())
                    await agent_protocol.send_usage(writer, report)
        except (LookupError, NotRunning, OSError, msgspec.DecodeError) as problem:
            with contextlib.suppress(AgentRefused):
                await _send(writer, Denied(str(problem)))
        except AgentRefused:
            pass
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


async def _send(writer: asyncio.StreamWriter, message: ControlMessage) -> None:
    await agent_protocol.write_frame(writer, CONTROL, msgspec.json.encode(message))


class ExecStream:
    """One command in a container, with its streams copied to and from the client of the socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: ExecRequest) -> None:
        self._reader = reader
        self._writer = writer
        self._request = request
        self._outputs: list[tuple[int, int]] = []  # pairs of a channel and the descriptor whose data goes there
        self._input: int | None = None
        self._terminal: int | None = None

    async def run(self, requests: AgentRequests) -> None:
        streams = self._open_terminal() if self._request.tty else self._open_pipes()
        try:
            exec_process = requests.enter(self._request, streams)
        except BaseException:
            for file in (*streams, *self._own_descriptors()):
                os.close(file)
            raise
        await _send(self._writer, Accepted())
        copies = [asyncio.create_task(self._copy(channel, file)) for channel, file in self._outputs]
        inward = asyncio.create_task(self._copy_input())
        inward.add_done_callback(lambda task: _hang_up_if_gone(task, exec_process))
        try:
            how = await asyncio.shield(exec_process.finished)
            if not how.problem:  # after a problem, the output may never end
                await asyncio.gather(*copies)
            await _send(self._writer, Denied(how.problem) if how.problem else Ended(how.exit_code))
        finally:
            exec_process.kill()
            for task in (inward, *copies):
                task.cancel()
            await asyncio.gather(inward, *copies, return_exceptions=True)

    def _own_descriptors(self) -> list[int]:
        others = (self._input, self._terminal)
        return [file for _, file in self._outputs] + [file for file in others if file is not None]

    def _open_pipes(self) -> tuple[int, int, int]:
        out_read, out_write = os.pipe2(os.O_CLOEXEC)
        err_read, err_write = os.pipe2(os.O_CLOEXEC)
        self._outputs = [(STDOUT, out_read), (STDERR, err_read)]
        if self._request.stdin:
            in_read, self._input = os.pipe2(os.O_CLOEXEC)
        else:
            in_read = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        return in_read, out_write, err_write

    def _open_terminal(self) -> tuple[int, int, int]:
        ours, theirs = pty.openpty()
        self._outputs = [(STDOUT, ours)]
        self._input, self._terminal = os.dup(ours), os.dup(ours)
        self._resize(self._request.width, self._request.height)
        return theirs, os.dup(theirs), os.dup(theirs)

    def _resize(self, width: int, height: int) -> None:
        if self._terminal is not None and width and height:
            with contextlib.suppress(OSError, struct.error):
                fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    async def _copy(self, channel: int, file: int) -> None:
        reader = asyncio.StreamReader(limit=_BLOCK)
        pipe = os.fdopen(file, "rb", buffering=0)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
        try:
            while block := await reader.read(_BLOCK):
                await agent_protocol.write_frame(self._writer, channel, block)
        except OSError:
            pass  # a terminal whose other side is closed raises an error at its end
        finally:
            transport.close()

    async def _copy_input(self) -> None:
        """Copies input until the client closes the connection."""
        try:
            while True:
                channel, data = await agent_protocol.read_frame(self._reader)
                if channel == STDIN:
                    await self._write(data)
                elif channel == CONTROL:
                    await self._control(msgspec.json.decode(data, type=ControlMessage))
        finally:
            self._close_input()
            if self._terminal is not None:
                os.close(self._terminal)
                self._terminal = None

    async def _control(self, message: ControlMessage) -> None:
        match message:
            case Resize(width, height):
                self._resize(width, height)
            case CloseStdin() if self._request.tty:
                await self._write(_END_OF_INPUT)
            case CloseStdin():
                self._close_input()

    async def _write(self, data: bytes) -> None:
        if self._input is None:
            return
        os.set_blocking(self._input, False)
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._input, view) :]
            except BlockingIOError:
                await _writable(self._input)
            except OSError:
                self._close_input()  # the command has closed its input
                return

    def _close_input(self) -> None:
        if self._input is not None:
            os.close(self._input)
            self._input = None


async def _writable(file: int) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_writer(file, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_writer(file)


def _hang_up_if_gone(task: "asyncio.Task[None]", exec_process: ExecProcess) -> None:
    """Kills the command when the client has closed the connection or has sent an invalid message."""
    if not task.cancelled():
        task.exception()
        exec_process.kill()
