"""Streams to their readers: piece by piece, until they end, the reader goes, the time is up or the server stops."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from understudy.embedded.server.answers import Stream
from understudy.embedded.server.calls import Receive, Send

_LAST_WORDS_SECONDS = 1.0


async def send_stream(stream: Stream, receive: Receive, send: Send, closing: asyncio.Future[None]) -> None:
    headers = [(b"content-type", stream.content_type), (b"cache-control", b"no-cache, private")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"", "more_body": True})
    pump = asyncio.ensure_future(_pump(stream.pieces, send))
    peer = asyncio.ensure_future(_until_gone(receive))
    try:
        await asyncio.wait({pump, peer, closing}, timeout=stream.seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone = peer.done()
        await _ended(pump, peer)
    if not gone:
        # A reader that stopped reading is not waited for.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_WORDS_SECONDS):
                await send({"type": "http.response.body", "body": b""})


async def _pump(pieces: AsyncIterator[bytes], send: Send) -> None:
    try:
        async for piece in pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    finally:
        if (close := getattr(pieces, "aclose", None)) is not None:
            await close()


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _ended(*tasks: asyncio.Future[None]) -> None:
    for task in tasks:
        task.cancel()
    for result in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(result, Exception):
            raise result
