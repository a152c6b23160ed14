"""A server that answers as a test says: over TLS, on one port, killed and started again at will."""

import asyncio
import base64
import contextlib
import datetime
import json
import ssl
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from understudy.client import Config
from understudy.embedded.clusters.certificates import Identity, identity
from understudy.embedded.clusters.credentials import LOCAL

TOKEN = "secret-token"


class Request(NamedTuple):
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    connection: int  # counted from 1 over the life of the server


class Reply:
    """The way back to the client, down to single bytes."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def raw(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def json(self, document: Any, status: int = 200) -> None:
        await self.text(json.dumps(document).encode(), status, "application/json")

    async def text(self, body: bytes, status: int = 200, content_type: str = "text/plain") -> None:
        head = f"HTTP/1.1 {status} Said\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
        await self.raw(head.encode() + body)

    async def refuse(self, code: int, reason: str, message: str = "no") -> None:
        await self.json({"kind": "Status", "code": code, "reason": reason, "message": message}, code)

    async def begin_chunks(self) -> None:
        await self.raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")

    async def chunk(self, data: bytes) -> None:
        await self.raw(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    async def end_chunks(self) -> None:
        await self.raw(b"0\r\n\r\n")

    async def line(self, kind: str, document: Any) -> None:
        await self.chunk(json.dumps({"type": kind, "object": document}).encode() + b"\n")

    def end(self) -> None:
        self._writer.close()

    def reset(self) -> None:
        self._writer.transport.abort()


Answer = Callable[[Request, Reply], Awaitable[None]]


class Server:
    def __init__(self, answer: Answer, *, tls: bool = True, own: Identity | None = None) -> None:
        self.answer = answer
        self.requests: list[Request] = []
        self.port = 0
        self._tls: Identity | None = (own or _IDENTITY) if tls else None
        self._listener: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._connections = 0

    async def start(self) -> None:
        context = _server_context(self._tls) if self._tls else None
        self._listener = await asyncio.start_server(self._serve, "127.0.0.1", self.port, ssl=context)
        self.port = self._listener.sockets[0].getsockname()[1]

    async def kill(self) -> None:
        """As kill -9 would have it: every connection is gone in the middle of what it carried."""
        assert self._listener is not None
        self._listener.close()
        for writer in self._writers:
            writer.transport.abort()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._listener.wait_closed()

    def config(self, **settings: Any) -> Config:
        scheme, authority = ("https", self._tls.authority.decode()) if self._tls else ("http", "")
        values = {"server": f"{scheme}://127.0.0.1:{self.port}", "authority": authority, "token": TOKEN, **settings}
        return Config(**values)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._writers.add(writer)
        self._tasks.add(task)
        self._connections += 1
        number = self._connections
        try:
            while (request := await _read(reader, number)) is not None:
                self.requests.append(request)
                await self.answer(request, Reply(writer))
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client has gone, or this server was killed
        finally:
            self._writers.discard(writer)
            self._tasks.discard(task)
            writer.transport.abort()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


async def _read(reader: asyncio.StreamReader, connection: int) -> Request | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = head.rstrip().split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    url = urlsplit(target)
    return Request(method, url.path, dict(parse_qsl(url.query)), headers, body, connection)


@contextlib.asynccontextmanager
async def serving(answer: Answer, *, tls: bool = True, own: Identity | None = None) -> AsyncIterator[Server]:
    server = Server(answer, tls=tls, own=own)
    await server.start()
    try:
        yield server
    finally:
        await server.kill()


def write_kubeconfig(path: Path, cluster: dict[str, Any], user: dict[str, Any], **context: Any) -> Path:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", **context}}],
    }
    path.write_text(json.dumps(document))
    return path


def encoded(pem: bytes) -> str:
    return base64.b64encode(pem).decode()


def _server_context(made: Identity) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as file:
        file.write(made.certificate + made.key)
        file.flush()
        context.load_cert_chain(file.name)
    return context


_IDENTITY = identity("test", LOCAL, datetime.datetime.now(datetime.UTC))
