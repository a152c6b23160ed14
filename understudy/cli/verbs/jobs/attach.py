"""`understudy attach`: a shell, or a command, inside an instance of a job."""

import argparse
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
from typing import Any
from urllib.parse import urlencode

import msgspec

from understudy.cli.options import VerbParser, add_cluster_options, add_type
from understudy.cli.queries.instance_choice import choose_container, choose_instance, kubelet_errors
from understudy.cli.queries.instances import Instance
from understudy.cli.queries.jobs import JobSummary, read_job
from understudy.cli.session import FAILED, Session, run_in_session
from understudy.client import KubeClient
from understudy.client.websocket import WebSocket
from understudy.objects.resources import PODS
from understudy.ports import Ref, Unreachable

ABOUT = """\
Run a command beside an instance of a job, in its surroundings: its first instance (launcher or master, else the
one with index 0), or the one that -i names. Without a command: a shell. On a terminal the command gets one, too."""
EXAMPLES = """\
examples:
  understudy attach medium
  understudy attach medium -i worker-0 -- nvidia-smi
  echo 'ls /data' | understudy attach medium -- sh

The exit code is that of the command."""
SHELL = ("sh", "-c", "command -v bash >/dev/null && exec bash; exec sh")


def add_flags(parser: VerbParser) -> None:
    parser.usage = "understudy attach JOB [-i NAME] [-c NAME] [-T TYPE] [which cluster] [-- COMMAND ...]"
    parser.takes_command = True
    parser.add_argument("job", metavar="JOB")
    parser.add_argument("-i", "--instance", metavar="NAME", help="an instance, as `understudy get` lists them")
    parser.add_argument("-c", "--container", metavar="NAME", help="a container of the instance (default: its first)")
    add_type(parser)
    add_cluster_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    async def work(session: Session) -> int:
        job = await read_job(session, options.job, options.type)
        instance = choose_instance(job, options.instance)
        if instance is None or instance.status != "RUNNING":
            return not_running(job, instance)
        container = choose_container(instance, options.container)
        command = tuple(options.command) or SHELL
        with kubelet_errors(instance):
            return await run_command(session.client, ExecRequest(job.namespace, instance.name, container, command))

    return run_in_session(options, work)


PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
STDIN, STDOUT, STDERR, ERROR, RESIZE = b"\x00", b"\x01", b"\x02", b"\x03", b"\x04"
END_OF_STDIN = b"\xff\x00"  # since v5
CHUNK = 32 * 1024


class ExecRequest(msgspec.Struct, frozen=True):
    namespace: str
    pod: str
    container: str
    command: tuple[str, ...]

    def path(self, *, terminal: bool) -> str:
        flags = [("stdin", "true"), ("stdout", "true"), ("stderr", "false" if terminal else "true")]
        given = [*flags, ("tty", "true" if terminal else "false"), ("container", self.container)]
        query = urlencode([*given, *(("command", word) for word in self.command)])
        return f"{Ref(PODS, self.namespace, self.pod).path('exec')}?{query}"


def not_running(job: JobSummary, instance: Instance | None) -> int:
    name, word = (instance.name, instance.status) if instance else (job.name, job.status)
    why = instance.waits if instance else job.reason
    print(f"understudy: {name} does not run, it is {word}{f': {why}' if why else ''}", file=sys.stderr)
    return FAILED


async def run_command(client: KubeClient, errand: ExecRequest) -> int:
    """Runs the command in the pod. Returns its exit code."""
    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    async with await client.socket(errand.path(terminal=terminal), PROTOCOLS) as socket:
        with _raw(terminal), _resizing(socket, terminal):
            reading = asyncio.create_task(_pass_in(socket))
            try:
                return await _pass_out(socket)
            finally:
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)


async def _pass_out(socket: WebSocket) -> int:
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
    answer: dict[str, Any] = msgspec.json.decode(status)
    if answer.get("status") == "Success":
        return 0
    for cause in (answer.get("details") or {}).get("causes") or ():
        if cause.get("reason") == "ExitCode":
            return int(cause["message"])
    print(f"understudy: {answer.get('message', 'the command could not be run')}", file=sys.stderr)
    return FAILED


async def _pass_in(socket: WebSocket) -> None:
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
            with contextlib.suppress(RuntimeError):  # the event loop has ended
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
def _resizing(socket: WebSocket, terminal: bool) -> Iterator[None]:
    if not terminal:
        yield
        return
    loop, sending = asyncio.get_running_loop(), set[asyncio.Task[None]]()

    def send_size() -> None:
        size = shutil.get_terminal_size()
        data = msgspec.json.encode({"Width": size.columns, "Height": size.lines})
        task = loop.create_task(socket.send(RESIZE + data))
        sending.add(task)
        task.add_done_callback(sending.discard)

    loop.add_signal_handler(signal.SIGWINCH, send_size)
    send_size()
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGWINCH)
