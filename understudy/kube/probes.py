"""What kubelets and Prometheus ask for, over plain HTTP: GET of a handful of paths, and nothing else."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from typing import NamedTuple

LONGEST_HEAD = 8192  # bytes of a request
PATIENCE = 5.0  # seconds in which a request has to be there
TEXT = "text/plain; charset=utf-8"
_PHRASES = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    500: "Internal Server Error",
    503: "Service Unavailable",
}

_log = logging.getLogger(__name__)


class Reply(NamedTuple):
    status: int
    body: str
    form: str = TEXT


Pages = Mapping[str, Callable[[], Reply]]  # path -> what it says now


@contextlib.asynccontextmanager
async def served(pages: Pages, host: str, port: int) -> AsyncIterator[int]:
    """The port it listens on: the given one, or for 0 any that is free."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(PATIENCE):
                writer.write(_encoded(await _asked(reader, pages)))
                await writer.drain()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    server = await asyncio.start_server(answer, host, port, limit=LONGEST_HEAD)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def _asked(reader: asyncio.StreamReader, pages: Pages) -> Reply:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return Reply(400, "expected the head of a request\n")
    parts = head.partition(b"\r\n")[0].decode("latin-1").split(" ")
    if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
        return Reply(400, "expected HTTP/1.1\n")
    if parts[0] not in ("GET", "HEAD"):
        return Reply(405, "only GET\n")
    page = pages.get(parts[1].partition("?")[0])
    if page is None:
        return Reply(404, f"there are {', '.join(sorted(pages))}\n")
    try:
        found = page()
    except Exception:
        _log.exception("%s cannot be answered", parts[1])
        found = Reply(503, "internal error; the log has it\n")
    return found if parts[0] == "GET" else found._replace(body="")


def _encoded(reply: Reply) -> bytes:
    body = reply.body.encode()
    head = (
        f"HTTP/1.1 {reply.status} {_PHRASES[reply.status]}\r\nContent-Type: {reply.form}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
