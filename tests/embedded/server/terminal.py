"""A client of the sub-resources that are spoken to over a WebSocket."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from tests.embedded.server.in_process_server import PODS, TOKEN, Server


class Terminal:
    """kubectl's end."""

    def __init__(self) -> None:
        self.inward: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.outward: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def send(self, message: Any) -> None:
        self.outward.put_nowait(message)

    def type(self, channel: int, data: bytes) -> None:
        self.inward.put_nowait({"type": "websocket.receive", "bytes": bytes([channel]) + data})

    def hang_up(self) -> None:
        self.inward.put_nowait({"type": "websocket.disconnect", "code": 1006})

    async def next(self) -> dict[str, Any]:
        return await asyncio.wait_for(self.outward.get(), 10)

    async def read(self) -> tuple[int, bytes]:
        data = (await self.next())["bytes"]
        return data[0], data[1:]

    async def refusal(self) -> tuple[int, Any]:
        start, body = await self.next(), await self.next()
        assert start["type"] == "websocket.http.response.start"
        return start["status"], msgspec.json.decode(body["body"])


@contextlib.asynccontextmanager
async def terminal(
    ask: Server,
    query: str,
    *,
    path: str = f"{PODS}/one/exec",
    protocols: tuple[str, ...] = ("v5.channel.k8s.io",),
    token: str = TOKEN,
) -> AsyncIterator[Terminal]:
    talk = Terminal()
    scope = {
        "type": "websocket",
        "path": path,
        "query_string": query.encode(),
        "headers": [(b"authorization", f"Bearer {token}".encode())],
        "subprotocols": list(protocols),
    }
    task = asyncio.create_task(ask.application(scope, talk.inward.get, talk.send))
    try:
        yield talk
    finally:
        talk.hang_up()
        await asyncio.wait_for(task, 10)
