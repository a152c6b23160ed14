"""One HTTP connection to a server: sends a request, and returns the response whole, in pieces or in lines."""

import asyncio
import socket
from collections import deque
from collections.abc import AsyncIterator
from typing import Any, cast

import httptools

from understudy.ports import Unreachable

PAUSE_ABOVE = 1 << 20  # bytes; reading pauses when a slow reader has this many waiting
_KEEPALIVE = (
    ("TCP_KEEPIDLE", 15),
    ("TCP_KEEPINTVL", 5),
    ("TCP_KEEPCNT", 3),
)  # half a minute for a silent peer


class Connection(asyncio.Protocol):
    """Carries one request at a time. `reusable` says whether it may carry another."""

    def __init__(self) -> None:
        self.reusable = False
        self.answered = False  # whether any byte of the response to the current request has arrived
        self.status = 0
        self.retry_after = 0.0  # seconds that the server asks the client to wait
        self.idle_since = 0.0
        self.heard_at = 0.0  # when data last arrived, by the clock of the event loop
        self._loop = asyncio.get_running_loop()
        self.closed: asyncio.Future[None] = self._loop.create_future()
        self._transport: asyncio.Transport | None = None
        self._parser: Any = httptools.HttpResponseParser(self)
        self._pieces: deque[bytes] = deque()
        self._held = 0  # bytes in _pieces
        self._streaming = False
        self._paused = False
        self._complete = True  # no request is under way
        self._framed = False  # the response states its length; otherwise it ends with the connection
        self._failure: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None

    async def fetch(self, request: bytes) -> bytes:
        """The body of the response; `status` has its code."""
        self._begin(request, streaming=False)
        while not self._complete:
            await self._news()
        body = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        return body

    async def open(self, request: bytes) -> None:
        """Sends the request and returns once `status` is known. `pieces` then yields the body as it arrives."""
        self._begin(request, streaming=True)
        while not self.status:
            await self._news()

    async def pieces(self) -> AsyncIterator[bytes]:
        while True:
            while self._pieces:
                piece = self._pieces.popleft()
                self._held -= len(piece)
                yield piece
            if self._complete:
                return
            self._resume()
            await self._news()

    def close(self, why: Unreachable | None = None) -> None:
        """A reader that is waiting gets the reason as an exception."""
        self.reusable = False
        if why is not None and self._failure is None:
            self._failure = why
        if self._transport is not None:
            self._transport.abort()

    def _resume(self) -> None:
        if self._paused and self._transport is not None:
            self._transport.resume_reading()
            self._paused = False

    def _begin(self, request: bytes, *, streaming: bool) -> None:
        self.reusable = self.answered = self._complete = self._framed = False
        self.status = self._held = 0
        self.retry_after = 0.0
        self._pieces.clear()
        self._streaming = streaming
        if self._transport is None or self._failure is not None:
            raise self._failure or Unreachable("the connection is closed")
        self._transport.write(request)

    async def _news(self) -> None:
        """Returns when more data has arrived; raises if the connection has failed."""
        if self._failure is not None:
            raise self._failure
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail(self, why: str) -> None:
        self.reusable = False
        if self._failure is None:
            self._failure = Unreachable(why)
        self._wake()

    # What the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are not derived from it
        self.reusable = True
        _keep_alive(transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        self.answered = True
        self.heard_at = self._loop.time()
        if self._complete or self._parser is None:
            self._fail("the server sent data without a request")
            return self.close()
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(f"the server's answer is not HTTP: {error}")
            return self.close()
        if self._streaming or self._complete:
            self._wake()
        if self._streaming and self._held > PAUSE_ABOVE and self._transport is not None:
            self._transport.pause_reading()
            self._paused = True
        return None

    def eof_received(self) -> bool:
        if self.status and not self._framed:
            self._complete = True
        return False

    def connection_lost(self, error: Exception | None) -> None:
        self._fail(f"the connection was lost{f': {error}' if error else ''}")
        self._transport = self._parser = None  # the parser refers back to this object
        if not self.closed.done():
            self.closed.set_result(None)

    # What the parser calls

    def on_message_begin(self) -> None:
        if self._complete:
            raise ValueError("more than one answer to one request")

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(name) in (14, 17) and name.lower() in (b"content-length", b"transfer-encoding"):
            self._framed = True
        elif len(name) == 11 and name.lower() == b"retry-after" and value.isdigit():  # not the form with a date
            self.retry_after = float(value)

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status >= 200:  # 1xx responses precede the actual one
            self.status = status

    def on_body(self, body: bytes) -> None:
        self._pieces.append(body)
        self._held += len(body)

    def on_message_complete(self) -> None:
        if self.status:
            self._complete = True
            self.reusable = self._parser.should_keep_alive()


def _keep_alive(sock: socket.socket | None) -> None:
    if sock is None or sock.family not in (socket.AF_INET, socket.AF_INET6):
        return
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE:
        if (option := getattr(socket, name, None)) is not None:
            sock.setsockopt(socket.IPPROTO_TCP, option, value)


async def split_lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Lines without their ends, empty ones left out. What follows the last line end is not a line."""
    begun: list[bytes] = []  # joined once, at the line's end: a long line costs no more than its length
    async for piece in pieces:
        if b"\n" not in piece:
            begun.append(piece)
            continue
        first, *rest = piece.split(b"\n")
        if begun:
            first = b"".join([*begun, first])
        begun = [rest.pop()]
        if first:
            yield first
        for line in rest:
            if line:
                yield line
