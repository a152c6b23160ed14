"""Through a proxy: requests and watches reach a server that is behind one, and a proxy that says no is named."""

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator

import pytest

from tests.client.scripted_server import Reply, Request, serving
from understudy.client import connect
from understudy.ports import Unreachable


class Proxy:
    def __init__(self, answer: bytes = b"HTTP/1.1 200 Connection established\r\n\r\n") -> None:
        self.answer = answer
        self.heads: list[str] = []
        self.url = ""

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(head)
        writer.write(self.answer)
        if b" 200 " in self.answer:
            host, _, port = head.split(" ")[1].rpartition(":")
            there, back = await asyncio.open_connection(host, int(port))
            await asyncio.gather(_pour(reader, back), _pour(there, writer))
        writer.close()


async def _pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
    writer.close()


@contextlib.asynccontextmanager
async def proxying(proxy: Proxy) -> AsyncIterator[Proxy]:
    server = await asyncio.start_server(proxy, "127.0.0.1", 0)
    async with server:
        proxy.url = f"http://me:p%40ss@127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield proxy


async def yes(_: Request, reply: Reply) -> None:
    await reply.json({})


def test_requests_and_streams_go_through() -> None:
    async def run() -> None:
        async with proxying(Proxy()) as proxy, serving(yes) as server:
            async with connect(server.config(proxy=proxy.url)) as client:
                assert await client.request("GET", "/") == b"{}"
                assert [piece async for piece in client.stream("/log")] == [b"{}"]
            assert len(proxy.heads) == 2
            assert proxy.heads[0].startswith(f"CONNECT 127.0.0.1:{server.port} HTTP/1.1\r\n")
            assert base64.b64encode(b"me:p@ss").decode() in proxy.heads[0]

    asyncio.run(run())


def test_a_proxy_that_does_not_let_us_through_is_named() -> None:
    async def run() -> None:
        async with (
            proxying(Proxy(b"HTTP/1.1 407 Who are you\r\n\r\n")) as proxy,
            serving(yes) as server,
            connect(server.config(proxy=proxy.url)) as client,
        ):
            with pytest.raises(Unreachable, match=r"the proxy 127\.0\.0\.1:\d+ answered HTTP/1\.1 407"):
                await client.request("GET", "/")

    asyncio.run(run())
