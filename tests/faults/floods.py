"""Many requests in a short time: prepared bytes out on many connections, several at once on each; codes come back."""

import asyncio
import resource
import ssl
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, cast
from urllib.parse import urlsplit

import httptools

from understudy.client import Config

OUTSTANDING = 16  # requests on their way, by connection


class _Line(asyncio.Protocol):
    """One connection. Every answer makes room for another request, until there are none left."""

    def __init__(self, requests: Iterator[bytes], codes: Counter[int]) -> None:
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._requests = requests
        self._codes = codes
        self._waiting = 0
        self._transport: asyncio.Transport | None = None
        self._parser: Any = httptools.HttpResponseParser(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        for _ in range(OUTSTANDING):
            self._send()

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        self._codes[self._parser.get_status_code()] += 1
        self._waiting -= 1
        self._send()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(error or ConnectionError("the server hung up"))

    def _send(self) -> None:
        request = next(self._requests, None)
        if request is not None and self._transport is not None:
            self._transport.write(request)
            self._waiting += 1
        elif not self._waiting and not self.done.done():
            self.done.set_result(None)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()


def request(config: Config, method: str, path: str, body: bytes = b"") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {config.token}\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


async def flood(config: Config, requests: Iterable[bytes], connections: int = 8) -> Counter[int]:
    """How often each code was the answer."""
    codes: Counter[int] = Counter()
    supply = iter(requests)
    lines = [await _connected(config, _Line(supply, codes)) for _ in range(connections)]
    try:
        await asyncio.gather(*(line.done for line in lines))
    finally:
        for line in lines:
            line.close()
    return codes


async def _connected(config: Config, line: _Line) -> _Line:
    url = urlsplit(config.server)
    context = ssl.create_default_context(cadata=config.authority)
    await asyncio.get_running_loop().create_connection(lambda: line, url.hostname or "", url.port or 0, ssl=context)
    return line


def allow_many_files() -> None:
    """As many as this process may have."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
