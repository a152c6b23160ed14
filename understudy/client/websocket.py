"""A WebSocket to the API server: whole messages in both directions; a refusal raises like that of any other request."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import Self

from wsproto import WSConnection
from wsproto.connection import ConnectionState, ConnectionType
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Ping,
    RejectConnection,
    RejectData,
    Request,
    TextMessage,
)
from wsproto.utilities import LocalProtocolError, RemoteProtocolError

from understudy.client.errors import error_from
from understudy.client.pool import ConnectionPool
from understudy.ports import Unreachable

CHUNK = 64 * 1024


async def open_websocket(pool: ConnectionPool, path: str, protocols: Sequence[str]) -> "WebSocket":
    address = await pool.address(path)
    reader, writer = await pool.dial()
    socket = WebSocket(reader, writer)
    try:
        await socket.shake_hands(address, protocols)
    except BaseException:
        writer.close()
        raise
    return socket


class WebSocket:
    """Use it with `async with`. Iterating yields the server's messages until it closes the socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._speech = WSConnection(ConnectionType.CLIENT)
        self.protocol = ""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def shake_hands(self, address: tuple[str, str, list[tuple[str, str]]], protocols: Sequence[str]) -> None:
        host, target, said = address
        headers = [(name.lower().encode(), value.encode()) for name, value in said]
        request = Request(host=host, target=target, subprotocols=list(protocols), extra_headers=headers)
        await self._send(request)
        status, words = 0, b""
        async for event in self._events():
            if isinstance(event, AcceptConnection):
                self.protocol = event.subprotocol or ""
                return
            if isinstance(event, RejectConnection):
                status = event.status_code
                if not event.has_body:
                    raise error_from(status, words)
            elif isinstance(event, RejectData):
                words += event.data
                if event.body_finished:
                    raise error_from(status, words)
        raise error_from(status, words) if status else Unreachable("the connection was lost")

    async def send(self, data: bytes) -> None:
        try:
            await self._send(BytesMessage(data=data))
        except LocalProtocolError:  # the server has closed it in the meantime
            raise Unreachable("the connection is closed") from None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        begun: list[bytes] = []
        async for event in self._events():
            if isinstance(event, BytesMessage | TextMessage):
                begun.append(event.data.encode() if isinstance(event.data, str) else bytes(event.data))
                if event.message_finished:
                    yield b"".join(begun)
                    begun = []
            elif isinstance(event, CloseConnection):
                return

    async def close(self) -> None:
        with contextlib.suppress(OSError, LocalProtocolError):
            if self._speech.state is ConnectionState.OPEN:
                await self._send(CloseConnection(code=1000))
        self._writer.close()
        with contextlib.suppress(OSError):  # the server closed it first
            await self._writer.wait_closed()

    async def _events(self) -> AsyncIterator[Event]:
        """Answers pings as they arrive."""
        while True:
            for event in self._speech.events():
                if isinstance(event, Ping):
                    await self._send(event.response())
                yield event
            try:
                data = await self._reader.read(CHUNK)
                self._speech.receive_data(data or None)
            except (OSError, RemoteProtocolError) as error:
                raise Unreachable(f"the connection was lost: {error}") from None
            if not data:
                for event in self._speech.events():
                    yield event
                return

    async def _send(self, event: Event) -> None:
        self._writer.write(self._speech.send(event))
        await self._writer.drain()
