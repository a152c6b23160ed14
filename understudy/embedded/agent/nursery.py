"""The agent's side of the nursery: keeps one alive, sends it orders, passes on what it and the shims say."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from understudy.embedded.agent.pidfds import Watched, watch
from understudy.embedded.shim import talk

_PACKETS_PER_WAKE = 64
_TOO_LONG, _KILLED = 126, 137
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 5.0


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


class Nursery:
    def __init__(self, home: Path) -> None:
        """`home` is an empty folder for it alone."""
        self.on_news: Callable[[ShimNews], None] = lambda _: None
        self.on_return: Callable[[], None] = lambda: None  # a new one is there; orders may have been lost with the old
        self._home = home
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._watched: Watched | None = None
        self._waiting: list[tuple[bytes, Sequence[int]]] = []
        self._hello: asyncio.Future[talk.Hello] = asyncio.get_running_loop().create_future()
        self._beside: dict[int, Beside] = {}
        self._sessions = 0
        self._pause = _FIRST_PAUSE
        self._closed = False

    async def start(self) -> talk.Hello:
        """Says what this machine permits, once the nursery can take orders."""
        self._spawn()
        return await asyncio.shield(self._hello)

    def launch(self, folder: Path) -> None:
        self._send(talk.LaunchOrder(str(folder)))

    def enter(self, folder: Path, argv: Sequence[str], streams: Sequence[int], *, tty: bool) -> Beside:
        """`streams` are stdin, stdout and stderr; they are closed here as soon as they have been passed on."""
        self._sessions += 1
        order = talk.EnterOrder(self._sessions, str(folder), tuple(argv), tty)
        beside = Beside()
        if len(talk.encode(order)) > talk.LARGEST_ORDER:
            _close(streams)
            beside.left(Finished(_TOO_LONG, "the command is too long"))
        else:
            self._beside[self._sessions] = beside
            self._send(order, streams)
        return beside

    def close(self) -> None:
        """Ends the nursery; what it has started goes on."""
        self._closed = True
        self._drop_connection()
        if self._process is not None:
            self._process.wait()

    def _spawn(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "understudy.embedded.shim.nursery", str(theirs.fileno()), str(self._home)],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        self._socket = ours
        self._watched = watch(self._process.pid, self._died)
        asyncio.get_running_loop().add_reader(ours, self._read)

    def _died(self) -> None:
        """Its shims live on, and go on talking through the old socket; but nobody else hears new orders."""
        if self._closed or self._process is None:
            return
        self._process.wait()
        self._read()
        self._drop_connection()
        for session in list(self._beside):
            self._left(session, Finished(1, "the nursery was killed"))
        asyncio.get_running_loop().call_later(self._pause, self._respawn)
        self._pause = min(self._pause * 2, _LONGEST_PAUSE)

    def _respawn(self) -> None:
        if not self._closed:
            self._hello = asyncio.get_running_loop().create_future()
            self._hello.add_done_callback(lambda _: self.on_return())
            self._spawn()

    def _drop_connection(self) -> None:
        if self._watched is not None:
            self._watched.close()
            self._watched = None
        if self._socket is not None:
            loop = asyncio.get_running_loop()
            loop.remove_reader(self._socket)
            loop.remove_writer(self._socket)
            self._socket.close()
            self._socket = None
        for _, streams in self._waiting:
            _close(streams)
        self._waiting.clear()

    def _send(self, order: talk.Order, streams: Sequence[int] = ()) -> None:
        self._waiting.append((talk.encode(order), streams))
        self._flush()

    def _flush(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting and self._socket is not None:
            packet, streams = self._waiting[0]
            try:
                socket.send_fds(self._socket, [packet], streams)
            except BlockingIOError:
                loop.add_writer(self._socket, self._flush)
                return
            except OSError:
                return  # it is gone; its death is on its way to us
            self._waiting.pop(0)
            _close(streams)
        if self._socket is not None:
            loop.remove_writer(self._socket)

    def _read(self) -> None:
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

    def _heard(self, news: talk.News) -> None:
        match news:
            case talk.Hello():
                self._pause = _FIRST_PAUSE
                self._flush()
                if not self._hello.done():
                    self._hello.set_result(news)
            case talk.Entered(session, pid):
                if session in self._beside:
                    self._beside[session].entered(pid, watch(pid, lambda: self._shim_ended(session)))
            case talk.Left(session, exit_code, problem):
                self._left(session, Finished(exit_code, problem))
            case _:
                self.on_news(news)

    def _shim_ended(self, session: int) -> None:
        """What it said last may still be on its way; if it said nothing, it was killed."""
        self._read()
        self._left(session, Finished(_KILLED, "the command was killed"))

    def _left(self, session: int, how: Finished) -> None:
        beside = self._beside.pop(session, None)
        if beside is not None:
            beside.left(how)


def _close(streams: Sequence[int]) -> None:
    for stream in set(streams):
        os.close(stream)
