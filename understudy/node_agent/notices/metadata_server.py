"""Requests to the metadata server of a cloud: plain HTTP, one connection a request, never through a proxy."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from urllib.parse import urlsplit

import msgspec

from understudy.client.connection import Connection
from understudy.ports import Unreachable

LARGEST = 1 << 20  # bytes of an answer; metadata servers send a few hundred

Headers = Iterable[tuple[str, str]]


class NoAnswer(Exception):
    """The metadata server gave no answer that says anything; what it said before still holds."""


class BadAddress(ValueError):
    """An address that cannot be one of a metadata server."""


class Answer(msgspec.Struct, frozen=True):
    status: int
    body: bytes = b""
    etag: str = ""  # names this state of the value, where the server waits for changes


Ask = Callable[[str, Headers], Awaitable[Answer]]  # a path with its query, and headers


class MetadataServer:
    """`address` is http://HOST[:PORT][/PATH]. Requests have no time limit of their own; callers set one."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._host, self._port, self._path = _parts(address)

    async def get(self, path: str, headers: Headers = ()) -> Answer:
        return await self.send("GET", path, headers)

    async def send(self, method: str, path: str, headers: Headers = ()) -> Answer:
        host = f"[{self._host}]" if ":" in self._host else self._host
        lines = [
            f"{method} {self._path}{path} HTTP/1.1",
            f"Host: {host}:{self._port}",
            "Connection: close",
            *(["Content-Length: 0"] if method != "GET" else []),
            *(f"{name}: {value}" for name, value in headers),
        ]
        try:
            return await self._exchange("\r\n".join([*lines, "", ""]).encode())
        except (OSError, Unreachable) as error:
            raise NoAnswer(str(error) or type(error).__name__) from None

    async def _exchange(self, request: bytes) -> Answer:
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(_Connection, self._host, self._port)
        try:
            await connection.open(request)
            body = bytearray()
            async for piece in connection.pieces():
                body += piece
                if len(body) > LARGEST:
                    raise NoAnswer(f"an answer of more than {LARGEST} bytes")
            return Answer(connection.status, bytes(body), connection.etag)
        finally:
            connection.close()


class _Connection(Connection):
    def __init__(self) -> None:
        super().__init__()
        self.etag = ""

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        if name.lower() == b"etag":
            self.etag = value.decode("latin-1")


def _parts(address: str) -> tuple[str, int, str]:
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port or 80
    except ValueError:
        host, port = None, 0
    if host is None or parts.scheme != "http" or parts.query or parts.fragment:
        raise BadAddress(f"{address!r} is no address of a metadata server; write http://HOST:PORT")
    return host, port, parts.path.rstrip("/")
