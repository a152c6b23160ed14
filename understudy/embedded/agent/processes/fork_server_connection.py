"""The connection to a fork server: sends orders, receives messages, and keeps the commands run in containers."""

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from understudy.embedded.agent.processes.process_watch import ProcessWatch, watch_process
from understudy.embedded.shim import messages

_PACKETS_PER_WAKE = 64
_TOO_LONG, _KILLED = 126, 137

ShimMessage = messages.ShimForked | messages.ContainerStarted | messages.ContainerEnded


class ExecResult(msgspec.Struct, frozen=True):
    """How a command in a container ended; `problem` says why it did not run."""

    exit_code: int
    problem: str = ""


class ExecProcess:
    """A command that runs in a container."""

    def __init__(self) -> None:
        self.finished: asyncio.Future[ExecResult] = asyncio.get_running_loop().create_future()
        self._shim: int | None = None
        self._watched: ProcessWatch | None = None
        self._hung_up = False

    def entered(self, shim: int, watched: ProcessWatch) -> None:
        self._shim, self._watched = shim, watched
        if self._hung_up:
            self.kill()

    def kill(self) -> None:
        """Kills the command and all processes that it has started."""
        self._hung_up = True
        if self._shim is not None and not self.finished.done():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._shim, signal.SIGTERM)

    def left(self, how: ExecResult) -> None:
        if self._watched is not None:
            self._watched.close()
        if not self.finished.done():
            self.finished.set_result(how)


class ForkServerConnection:
    def __init__(self, connection: socket.socket, on_message: Callable[[messages.ForkServerMessage], None]) -> None:
        """Orders wait for the hello of the fork server: before, it is not on record, should this agent be killed."""
        self._socket: socket.socket | None = None
        self._on_message = on_message
        self._is_ready = False
        self._waiting: list[tuple[bytes, Sequence[int]]] = []
        self._exec_processes: dict[int, ExecProcess] = {}
        self._sessions = 0
        self.connect(connection)

    def connect(self, connection: socket.socket) -> None:
        """Replaces a connection without an answer; waiting orders keep waiting."""
        self._close()
        connection.setblocking(False)
        self._socket = connection
        asyncio.get_running_loop().add_reader(connection, self.read)

    def send(self, order: messages.ForkServerOrder, files: Sequence[int] = ()) -> None:
        """The files are closed here once they have been sent."""
        self._waiting.append((messages.encode(order), files))
        if self._socket is None:
            self._drop_orders()
        elif self._is_ready:
            self._flush()

    def enter(self, folder: Path, argv: Sequence[str], streams: Sequence[int], *, tty: bool) -> ExecProcess:
        """`streams` are stdin, stdout and stderr."""
        self._sessions += 1
        order = messages.ExecOrder(self._sessions, str(folder), tuple(argv), tty)
        exec_process = ExecProcess()
        if len(messages.encode(order)) > messages.LARGEST_ORDER:
            _close(streams)
            exec_process.left(ExecResult(_TOO_LONG, "the command is too long"))
        else:
            self._exec_processes[self._sessions] = exec_process
            self.send(order, streams)
        return exec_process

    def close(self, why: str) -> None:
        """`why` is the problem that the results of running commands report."""
        self._close()
        self._drop_orders()
        for session in list(self._exec_processes):
            self._left(session, ExecResult(1, why))

    def _close(self) -> None:
        if self._socket is not None:
            loop = asyncio.get_running_loop()
            loop.remove_reader(self._socket)
            loop.remove_writer(self._socket)
            self._socket.close()
            self._socket = None

    def read(self) -> None:
        for _ in range(_PACKETS_PER_WAKE):
            try:
                packet = self._socket.recv(messages.LARGEST_PACKET) if self._socket is not None else b""
            except BlockingIOError:
                return
            except OSError:
                packet = b""
            if not packet:
                if self._socket is not None:
                    asyncio.get_running_loop().remove_reader(self._socket)
                return
            self._received(messages.decode_message(packet))

    def _flush(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting and self._socket is not None:
            packet, files = self._waiting[0]
            try:
                socket.send_fds(self._socket, [packet], files)
            except BlockingIOError:
                loop.add_writer(self._socket, self._flush)
                return
            except OSError:
                return  # the process has ended, which its watch is about to report
            self._waiting.pop(0)
            _close(files)
        if self._socket is not None:
            loop.remove_writer(self._socket)

    def _drop_orders(self) -> None:
        for _, files in self._waiting:
            _close(files)
        self._waiting.clear()

    def _received(self, message: messages.ForkServerMessage) -> None:
        match message:
            case messages.ExecStarted(session, pid):
                if session in self._exec_processes:
                    self._exec_processes[session].entered(pid, watch_process(pid, lambda: self._shim_ended(session)))
            case messages.ExecEnded(session, exit_code, problem):
                self._left(session, ExecResult(exit_code, problem))
            case messages.Hello():
                self._is_ready = True
                self._on_message(message)
                self._flush()
            case _:
                self._on_message(message)

    def _shim_ended(self, session: int) -> None:
        """Its last message may still be unread; without one, it was killed."""
        self.read()
        self._left(session, ExecResult(_KILLED, "the command was killed"))

    def _left(self, session: int, how: ExecResult) -> None:
        exec_process = self._exec_processes.pop(session, None)
        if exec_process is not None:
            exec_process.left(how)


def _close(files: Sequence[int]) -> None:
    for file in set(files):
        os.close(file)
