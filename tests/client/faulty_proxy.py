"""A proxy in front of an API server that misbehaves as it is told, request by request, while it runs.

The first rule that fits a request strikes; a request that none fits goes through. It speaks TLS with a certificate of
its own; tokens go through, and a client certificate of the upstream's configuration is used for all clients.
"""

import asyncio
import base64
import contextlib
import dataclasses
import datetime
import json
import re
import ssl
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import msgspec

from understudy.client import Config
from understudy.client.tls import context_of
from understudy.embedded.clusters.certificates import Identity, identity
from understudy.embedded.clusters.credentials import LOCAL

CHUNK = 64 * 1024


@dataclasses.dataclass(frozen=True)
class Delay:
    """The request goes on its way so much later."""

    seconds: float


@dataclasses.dataclass(frozen=True)
class Say:
    """The proxy answers, and the server never hears of it."""

    code: int
    retry_after: int | None = None
    body: bytes = b"the proxy says no"
    content_type: str = "text/plain"


@dataclasses.dataclass(frozen=True)
class BlackHole:
    """The request is taken and never answered; the server never hears of it."""


@dataclasses.dataclass(frozen=True)
class HangUp:
    """The connection is cut before the server hears of the request."""


@dataclasses.dataclass(frozen=True)
class LoseAnswer:
    """The server does what it is asked; the connection is cut as it begins to answer."""


@dataclasses.dataclass(frozen=True)
class CutAnswer:
    """The connection is cut after so many bytes of the answer, its head included."""

    after: int


Fault = Delay | Say | BlackHole | HangUp | LoseAnswer | CutAnswer


@dataclasses.dataclass
class Rule:
    fault: Fault
    method: str = ""  # '': any
    path: str = ""  # a pattern searched for in the path and its query
    times: int | None = None  # how often it strikes; None: always
    struck: int = 0

    def fits(self, method: str, path: str) -> bool:
        spent = self.times is not None and self.struck >= self.times
        return not spent and self.method in ("", method) and re.search(self.path, path) is not None

    def stop(self) -> None:
        self.times = self.struck


class FaultyProxy:
    """To be used with `async with`, or with `with proxy.in_thread()`.

    lost = proxy.rule(LoseAnswer(), method="POST", path=r"/binding$", times=1)
    async with connect(proxy.config) as client: ...
    assert lost.struck == 1
    """

    def __init__(self, upstream: Config) -> None:
        url = urlsplit(upstream.server)
        self._upstream = upstream
        self._host, self._port = url.hostname or "", url.port or 443
        self._ssl = context_of(upstream, upstream.certificate, upstream.key) if url.scheme == "https" else None
        self._own = identity("proxy", LOCAL, datetime.datetime.now(datetime.UTC))
        self._rules: list[Rule] = []
        self._lines: set[_Line] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._frozen = ""
        self._listener: asyncio.Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0
        self.port = 0

    # What a test says

    def rule(self, fault: Fault, method: str = "", path: str = "", times: int | None = None) -> Rule:
        made = Rule(fault, method, path, times)
        self._rules.append(made)
        return made

    def clear(self) -> None:
        for rule in self._rules:
            rule.stop()

    def cut(self) -> None:
        """Every connection is lost at once; new ones are taken."""
        self._soon(self._cut)

    def freeze(self, path: str = "") -> None:
        """Nothing the server sends comes through any more, without an error: a network that is down. With a `path`,
        nothing it says to those who asked for such a one."""
        self._frozen = path
        self._soon(self._flowing.clear)

    def thaw(self) -> None:
        self._soon(self._flowing.set)

    def _cut(self) -> None:
        for line in list(self._lines):
            line.cut()

    def _soon(self, change: Callable[[], object]) -> None:
        """At once in its own thread; in that of the proxy, as soon as it gets there."""
        assert self._loop is not None
        if threading.get_ident() == self._thread:
            change()
        else:
            self._loop.call_soon_threadsafe(change)

    @property
    def config(self) -> Config:
        authority = self._own.authority.decode()
        return msgspec.structs.replace(
            self._upstream,
            server=f"https://127.0.0.1:{self.port}{urlsplit(self._upstream.server).path}",
            authority=authority,
            certificate="",
            key="",
            insecure=False,
            server_name="",
            proxy="",
        )

    def kubeconfig(self, path: Path) -> Path:
        """The same as a file, for clients that read $KUBECONFIG."""
        authority = base64.b64encode(self._own.authority).decode()
        token = self._upstream.token or (
            Path(self._upstream.token_file).read_text() if self._upstream.token_file else ""
        )
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "proxy",
            "clusters": [
                {"name": "proxy", "cluster": {"server": self.config.server, "certificate-authority-data": authority}}
            ],
            "users": [{"name": "proxy", "user": {"token": token.strip()} if token else {}}],
            "contexts": [
                {
                    "name": "proxy",
                    "context": {"cluster": "proxy", "user": "proxy", "namespace": self._upstream.namespace},
                }
            ],
        }
        path.write_text(json.dumps(document))
        return path

    # How it runs

    async def __aenter__(self) -> Self:
        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()
        self._listener = await asyncio.start_server(self._serve, "127.0.0.1", self.port, ssl=_server_context(self._own))
        self.port = self._listener.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._listener is not None
        self._listener.close()
        tasks = [line.task for line in self._lines]
        self.cut()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @contextlib.contextmanager
    def in_thread(self) -> Iterator[Self]:
        """For tests whose own loop is busy, or that have none."""
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, name="faulty-proxy", daemon=True)
        thread.start()
        asyncio.run_coroutine_threadsafe(self.__aenter__(), loop).result(20)
        try:
            yield self
        finally:
            asyncio.run_coroutine_threadsafe(self.__aexit__(None, None, None), loop).result(20)
            loop.call_soon_threadsafe(loop.stop)
            thread.join(20)
            loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = _Line(reader, writer, self)
        self._lines.add(line)
        try:
            await line.run()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # one of the two has gone
        finally:
            self._lines.discard(line)
            line.cut()

    async def dial(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        name = (self._upstream.server_name or self._host) if self._ssl else None
        return await asyncio.open_connection(self._host, self._port, ssl=self._ssl, server_hostname=name)

    async def flows(self, path: str) -> None:
        while not self._flowing.is_set() and re.search(self._frozen, path):
            await self._flowing.wait()

    def strike(self, method: str, path: str) -> Fault | None:
        for rule in self._rules:
            if rule.fits(method, path):
                rule.struck += 1
                return rule.fault
        return None


class _Line:
    """One client's connection, and the one to the server that its requests go on over."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, proxy: FaultyProxy) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.task = task
        self._reader, self._writer, self._proxy = reader, writer, proxy
        self._there: asyncio.StreamWriter | None = None
        self._back: asyncio.Task[None] | None = None
        self._path = ""  # that was asked for last
        self._left: int | None = None  # bytes of the answer that still come through; None: all

    def cut(self) -> None:
        self._writer.transport.abort()
        if self._there is not None:
            self._there.transport.abort()
        if self._back is not None:
            self._back.cancel()

    async def run(self) -> None:
        while True:
            head = await self._reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
            body = await self._reader.readexactly(int(length[1]) if length else 0)
            method, path = head.split(b" ", 2)[:2]
            self._left, self._path = None, path.decode()
            match self._proxy.strike(method.decode(), self._path):
                case Say() as said:
                    await self._say(said)
                    continue
                case HangUp():
                    return
                case BlackHole():
                    await asyncio.Event().wait()
                case Delay(seconds):
                    await asyncio.sleep(seconds)
                case LoseAnswer():
                    self._left = 0
                case CutAnswer(after):
                    self._left = after
            await self._forward(head + body)

    async def _say(self, said: Say) -> None:
        asked = f"Retry-After: {said.retry_after}\r\n" if said.retry_after is not None else ""
        head = f"HTTP/1.1 {said.code} Said\r\n{asked}Content-Type: {said.content_type}\r\n"
        self._writer.write(f"{head}Content-Length: {len(said.body)}\r\n\r\n".encode() + said.body)
        await self._writer.drain()

    async def _forward(self, request: bytes) -> None:
        if self._there is None:
            reader, self._there = await self._proxy.dial()
            self._back = asyncio.create_task(self._pour(reader))
        self._there.write(request)
        await self._there.drain()

    async def _pour(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(CHUNK):
                await self._proxy.flows(self._path)
                if self._left is not None:
                    data, self._left = data[: self._left], max(self._left - len(data), 0)
                self._writer.write(data)
                await self._writer.drain()
                if self._left == 0:
                    await asyncio.sleep(0.01)  # so that what did come through is seen before the end
                    break
        self.task.cancel()


def _server_context(own: Identity) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as file:
        file.write(own.certificate + own.key)
        file.flush()
        context.load_cert_chain(file.name)
    return context
