"""The least an HTTPS client can do, so that what is timed is the server: prepared bytes out, whole answers in."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import msgspec

from understudy.client.tls import context_for


class Target(msgspec.Struct, frozen=True):
    """The address of an API server, and the credentials for it."""

    host: str
    port: int
    authority: str  # path of the CA's certificate
    token: str = ""
    certificate: str = ""  # paths of a client's certificate and key, for servers that want one
    key: str = ""

    def tls(self) -> ssl.SSLContext:
        context = context_for(Path(self.authority).read_text())
        if self.certificate:
            context.load_cert_chain(self.certificate, self.key)
        return context

    def request(self, method: str, path: str, body: bytes = b"", headers: str = "") -> bytes:
        token = f"Authorization: Bearer {self.token}\r\n" if self.token else ""
        content = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
        head = f"{method} {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n{token}{content}{headers}\r\n"
        return head.encode() + body


class Answer(msgspec.Struct, frozen=True, gc=False):
    status: int
    body: bytes


class Line(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._answer: asyncio.Future[Answer] | None = None
        self._transport: asyncio.Transport | None = None
        self._lost = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are none by descent

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost.set()
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(exc or ConnectionError("the server closed the connection"))

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if self._answer is None or (answer := _parsed(self._buffer)) is None:
            return
        self._buffer.clear()
        waiting, self._answer = self._answer, None
        waiting.set_result(answer)

    def ask(self, request: bytes) -> asyncio.Future[Answer]:
        assert self._transport is not None
        assert self._answer is None
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._answer

    async def close(self) -> None:
        assert self._transport is not None
        self._transport.close()
        await self._lost.wait()


def _parsed(buffer: bytearray) -> Answer | None:
    """A complete response, or None while part of it is missing."""
    end = buffer.find(b"\r\n\r\n")
    if end < 0:
        return None
    head = bytes(buffer[:end]).lower()
    status = int(head[9:12])
    start = end + 4
    if (at := head.find(b"content-length:")) >= 0:
        length = int(head[at + 15 :].split(b"\r\n", 1)[0])
        return Answer(status, bytes(buffer[start : start + length])) if len(buffer) >= start + length else None
    if not buffer.endswith(b"0\r\n\r\n"):
        return None
    return Answer(status, _unchunked(bytes(buffer[start:])))


def _unchunked(body: bytes) -> bytes:
    parts = []
    while body:
        size, _, rest = body.partition(b"\r\n")
        length = int(size, 16)
        parts.append(rest[:length])
        body = rest[length + 2 :]
    return b"".join(parts)


@contextlib.asynccontextmanager
async def lines_to(target: Target, count: int) -> AsyncIterator[list[Line]]:
    """Opens so many connections, and closes them at the end."""
    context, loop = target.tls(), asyncio.get_running_loop()
    lines: list[Line] = []
    try:
        for _ in range(count):
            _, line = await loop.create_connection(Line, target.host, target.port, ssl=context)
            lines.append(line)
        yield lines
    finally:
        await asyncio.gather(*(line.close() for line in lines))


async def watch_lines(target: Target, path: str) -> Any:
    """A reader of the JSON lines of a watch, once the server has begun to answer; it ends when the watch does."""
    reader, writer = await asyncio.open_connection(target.host, target.port, ssl=target.tls(), limit=1 << 24)
    writer.write(target.request("GET", path, headers="Connection: close\r\n"))
    head = await reader.readuntil(b"\r\n\r\n")
    if b" 200 " not in head.split(b"\r\n", 1)[0]:
        raise ConnectionError(f"the watch was refused: {head[:60]!r}")
    return reader, writer


def saved(target: Target, path: Path) -> Path:
    path.write_bytes(msgspec.json.encode(target))
    path.chmod(0o600)
    return path


def loaded(path: str) -> Target:
    return msgspec.json.decode(Path(path).read_bytes(), type=Target)
