"""A command in a container, joined to this terminal or to whatever stdin and stdout are, over Kubernetes' channels."""

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import termios
import threading
import tty
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import msgspec

from understudy.cli.jobs.instances import Instance
from understudy.cli.jobs.summaries import JobSummary
from understudy.cli.target import FAILED
from understudy.objects.resources import PODS
from understudy.ports import Ref, Unreachable

if TYPE_CHECKING:
    from understudy.client import KubeClient
    from understudy.client.websocket import WebSocket

PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
STDIN, STDOUT, STDERR, ERROR, RESIZE = b"\x00", b"\x01", b"\x02", b"\x03", b"\x04"
END_OF_STDIN = b"\xff\x00"  # since v5
CHUNK = 32 * 1024


class Errand(msgspec.Struct, frozen=True):
    namespace: str
    pod: str
    container: str
    command: tuple[str, ...]

    def path(self, *, terminal: bool) -> str:
        flags = [("stdin", "true"), ("stdout", "true"), ("stderr", "false" if terminal else "true")]
        given = [*flags, ("tty", "true" if terminal else "false"), ("container", self.container)]
        query = urlencode([*given, *(("command", word) for word in self.command)])
        return f"{Ref(PODS, self.namespace, self.pod).path('exec')}?{query}"


def nobody_there(job: JobSummary, instance: Instance | None) -> int:
    name, word = (instance.name, instance.status) if instance else (job.name, job.status)
    why = instance.waits if instance else job.reason
    print(f"understudy: {name} does not run, it is {word}{f': {why}' if why else ''}", file=sys.stderr)
    return FAILED


async def carried_out(client: "KubeClient", errand: Errand) -> int:
    """The exit code of the command."""
    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    async with await client.socket(errand.path(terminal=terminal), PROTOCOLS) as socket:
        with _raw(terminal), _resizing(socket, terminal):
            reading = asyncio.create_task(_pass_in(socket))
            try:
                return await _pass_out(socket)
            finally:
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)


async def _pass_out(socket: "WebSocket") -> int:
    async for message in socket:
        channel, data = message[:1], message[1:]
        if channel in (STDOUT, STDERR):
            stream = (sys.stdout if channel == STDOUT else sys.stderr).buffer
            stream.write(data)
            stream.flush()
        elif channel == ERROR:
            return exit_code(data)
    raise Unreachable("the connection was lost before the command had ended")


def exit_code(status: bytes) -> int:
    told: dict[str, Any] = msgspec.json.decode(status)
    if told.get("status") == "Success":
        return 0
    for cause in (told.get("details") or {}).get("causes") or ():
        if cause.get("reason") == "ExitCode":
            return int(cause["message"])
    print(f"understudy: {told.get('message', 'the command could not be run')}", file=sys.stderr)
    return FAILED


async def _pass_in(socket: "WebSocket") -> None:
    pieces: asyncio.Queue[bytes] = asyncio.Queue()
    _read_in_background(pieces, asyncio.get_running_loop())
    while piece := await pieces.get():
        await socket.send(STDIN + piece)
    if socket.protocol == PROTOCOLS[0]:
        await socket.send(END_OF_STDIN)


def _read_in_background(pieces: asyncio.Queue[bytes], loop: asyncio.AbstractEventLoop) -> None:
    """A thread, since stdin may be a file, which no event loop waits for; it is left behind when the command ends."""

    def read() -> None:
        data = b"more"
        while data:
            try:
                data = os.read(sys.stdin.fileno(), CHUNK)
            except (OSError, ValueError):  # there is no stdin
                data = b""
            with contextlib.suppress(RuntimeError):  # nobody waits for it any more
                loop.call_soon_threadsafe(pieces.put_nowait, data)

    threading.Thread(target=read, daemon=True).start()


@contextlib.contextmanager
def _raw(terminal: bool) -> Iterator[None]:
    """Every key goes to the command, Ctrl-C too."""
    if not terminal:
        yield
        return
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setraw(descriptor)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


@contextlib.contextmanager
def _resizing(socket: "WebSocket", terminal: bool) -> Iterator[None]:
    if not terminal:
        yield
        return
    loop, sending = asyncio.get_running_loop(), set[asyncio.Task[None]]()

    def tell() -> None:
        size = shutil.get_terminal_size()
        data = msgspec.json.encode({"Width": size.columns, "Height": size.lines})
        task = loop.create_task(socket.send(RESIZE + data))
        sending.add(task)
        task.add_done_callback(sending.discard)

    loop.add_signal_handler(signal.SIGWINCH, tell)
    tell()
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGWINCH)
