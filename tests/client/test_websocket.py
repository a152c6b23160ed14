"""WebSockets: messages both ways, and refusals that are told like those of any other request."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from wsproto import WSConnection
from wsproto.connection import ConnectionType
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Ping,
    RejectConnection,
    RejectData,
    Request,
)

from understudy.client import Config, connect
from understudy.ports import Refused, Unreachable

Behaviour = Callable[["Peer"], Awaitable[None]]


class Peer:
    """The server's end of one WebSocket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.speech = WSConnection(ConnectionType.SERVER)

    async def heard(self) -> Event:
        while (event := next(iter(self.speech.events()), None)) is None:
            self.speech.receive_data(await self.reader.read(4096) or None)
        return event

    async def says(self, *events: Event) -> None:
        self.writer.write(b"".join(self.speech.send(event) for event in events))
        await self.writer.drain()


@contextlib.asynccontextmanager
async def serving(behave: Behaviour) -> AsyncIterator[Config]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await behave(Peer(reader, writer))
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield Config(server=f"http://127.0.0.1:{port}/prefix", token="secret")


def test_messages_go_both_ways_and_pings_are_answered() -> None:
    seen: list[object] = []

    async def behave(peer: Peer) -> None:
        request = await peer.heard()
        assert isinstance(request, Request)
        seen.extend([request.target, request.subprotocols, dict(request.extra_headers)[b"authorization"]])
        await peer.says(AcceptConnection(subprotocol="b"), Ping(payload=b"there?"))
        await peer.says(BytesMessage(b"\x01one", message_finished=False), BytesMessage(b" two"))
        seen.extend([type(await peer.heard()).__name__, (await peer.heard())])
        await peer.says(CloseConnection(code=1000))

    async def talk() -> list[bytes]:
        async with (
            serving(behave) as config,
            connect(config) as client,
            await client.socket("/exec?command=ls", ["a", "b"]) as socket,
        ):
            assert socket.protocol == "b"
            messages = socket.__aiter__()
            said = [await anext(messages)]
            await socket.send(b"\x00hello")
            return said + [message async for message in messages]

    assert asyncio.run(talk()) == [b"\x01one two"]
    assert seen[:4] == ["/prefix/exec?command=ls", ["a", "b"], b"Bearer secret", "Pong"]
    assert isinstance(seen[4], BytesMessage)
    assert bytes(seen[4].data) == b"\x00hello"


def test_a_refusal_is_the_server_s_own_words() -> None:
    body = b'{"kind":"Status","code":404,"reason":"NotFound","message":"no such pod"}'

    async def behave(peer: Peer) -> None:
        await peer.heard()
        await peer.says(RejectConnection(status_code=404, has_body=True), RejectData(data=body, body_finished=True))

    async def talk() -> None:
        async with serving(behave) as config, connect(config) as client:
            await client.socket("/exec", ["a"])

    with pytest.raises(Refused, match="no such pod"):
        asyncio.run(talk())


def test_no_listener_and_a_lost_connection_differ_from_a_refusal() -> None:
    async def behave(peer: Peer) -> None:
        await peer.heard()

    async def talk(config: Config) -> None:
        async with connect(config) as client:
            await client.socket("/exec", ["a"])

    async def hung_up() -> None:
        async with serving(behave) as config:
            await talk(config)

    with pytest.raises(Unreachable, match="lost"):
        asyncio.run(hung_up())
    with pytest.raises(Unreachable, match="refused"):
        asyncio.run(talk(Config(server="http://127.0.0.1:1")))
