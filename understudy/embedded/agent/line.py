"""A line to a nursery: turns orders into packets, and packets into news; keeps who runs beside a container."""

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from understudy.embedded.agent.pidfds import Watched, watch
from understudy.embedded.shim import talk

_PACKETS_PER_WAKE = 64
_TOO_LONG, _KILLED = 126, 137

ShimNews = talk.Forked | talk.Started | talk.Ended


class Finished(msgspec.Struct, frozen=True):
    """How a command beside a container went; `problem` where it did not run at all."""

    exit_code: int
    problem: str = ""


class Beside:
    """A command running beside a container."""

    def __init__(self) -> None:
        self.finished: asyncio.Future[Finished] = asyncio.get_running_loop().create_future()
        self._shim: int | None = None
        self._watched: Watched | None = None
        self._hung_up = False

    def entered(self, shim: int, watched: Watched) -> None:
        self._shim, self._watched = shim, watched
        if self._hung_up:
            self.hang_up()

    def hang_up(self) -> None:
        """Kills it with all it started."""
        self._hung_up = True
        if self._shim is not None and not self.finished.done():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._shim, signal.SIGTERM)

    def left(self, how: Finished) -> None:
        if self._watched is not None:
            self._watched.close()
        if not self.finished.done():
            self.finished.set_result(how)


class Line:
    def __init__(self, connection: socket.socket, on_news: Callable[[talk.News], None]) -> None:
        """Orders wait until the other side has said hello: before that, nobody knows of it should this agent end."""
        self._socket: socket.socket | None = None
        self._on_news = on_news
        self._greeted = False
        self._waiting: list[tuple[bytes, Sequence[int]]] = []
        self._beside: dict[int, Beside] = {}
        self._sessions = 0
        self.connect(connection)

    def connect(self, connection: socket.socket) -> None:
        """Instead of a connection that nobody has answered; orders that are waiting go on waiting."""
        self._hang_up()
        connection.setblocking(False)
        self._socket = connection
        asyncio.get_running_loop().add_reader(connection, self.read)

    def send(self, order: talk.Order, files: Sequence[int] = ()) -> None:
        """The files are closed here as soon as they have been passed on."""
        self._waiting.append((talk.encode(order), files))
        if self._socket is None:
            self._drop_orders()
        elif self._greeted:
            self._flush()

    def enter(self, folder: Path, argv: Sequence[str], streams: Sequence[int], *, tty: bool) -> Beside:
        """`streams` are stdin, stdout and stderr."""
        self._sessions += 1
        order = talk.EnterOrder(self._sessions, str(folder), tuple(argv), tty)
        beside = Beside()
        if len(talk.encode(order)) > talk.LARGEST_ORDER:
            _close(streams)
            beside.left(Finished(_TOO_LONG, "the command is too long"))
        else:
            self._beside[self._sessions] = beside
            self.send(order, streams)
        return beside

    def close(self, why: str) -> None:
        """`why` is what those are told who run beside containers."""
        self._hang_up()
        self._drop_orders()
        for session in list(self._beside):
            self._left(session, Finished(1, why))

    def _hang_up(self) -> None:
        if self._socket is not None:
            loop = asyncio.get_running_loop()
            loop.remove_reader(self._socket)
            loop.remove_writer(self._socket)
            self._socket.close()
            self._socket = None

    def read(self) -> None:
        for _ in range(_PACKETS_PER_WAKE):
            try:
                packet = self._socket.recv(talk.LARGEST_PACKET) if self._socket is not None else b""
            except BlockingIOError:
                return
            except OSError:
                packet = b""
            if not packet:
                if self._socket is not None:
                    asyncio.get_running_loop().remove_reader(self._socket)
                return
            self._heard(talk.decode_news(packet))

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
                return  # it is gone; its death is on its way to us
            self._waiting.pop(0)
            _close(files)
        if self._socket is not None:
            loop.remove_writer(self._socket)

    def _drop_orders(self) -> None:
        for _, files in self._waiting:
            _close(files)
        self._waiting.clear()

    def _heard(self, news: talk.News) -> None:
        match news:
            case talk.Entered(session, pid):
                if session in self._beside:
                    self._beside[session].entered(pid, watch(pid, lambda: self._shim_ended(session)))
            case talk.Left(session, exit_code, problem):
                self._left(session, Finished(exit_code, problem))
            case talk.Hello():
                self._greeted = True
                self._on_news(news)
                self._flush()
            case _:
                self._on_news(news)

    def _shim_ended(self, session: int) -> None:
        """What it said last may still be on its way; if it said nothing, it was killed."""
        self.read()
        self._left(session, Finished(_KILLED, "the command was killed"))

    def _left(self, session: int, how: Finished) -> None:
        beside = self._beside.pop(session, None)
        if beside is not None:
            beside.left(how)


def _close(files: Sequence[int]) -> None:
    for file in set(files):
        os.close(file)
