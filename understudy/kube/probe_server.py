"""The HTTP server for kubelet probes and Prometheus: it answers GET for /healthz, /readyz and /metrics."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import NamedTuple

from understudy.kube.liveness import LONGEST_TURN, Heartbeat
from understudy.kube.prometheus import Metric, exposition
from understudy.kube.replica import Replica

LONGEST_HEAD = 8192  # bytes of a request
PATIENCE = 5.0  # seconds in which a request must be complete
TEXT = "text/plain; charset=utf-8"
_log = logging.getLogger(__name__)


class Reply(NamedTuple):
    status: HTTPStatus
    body: str
    form: str = TEXT


Endpoints = Mapping[str, Callable[[], Reply]]  # path -> its current reply


@contextlib.asynccontextmanager
async def served(pages: Endpoints, host: str, port: int) -> AsyncIterator[int]:
    """Yields the port it listens on: the given one, or a free one for 0."""

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


async def _asked(reader: asyncio.StreamReader, pages: Endpoints) -> Reply:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return Reply(HTTPStatus.BAD_REQUEST, "expected the head of a request\n")
    parts = head.partition(b"\r\n")[0].decode("latin-1").split(" ")
    if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
        return Reply(HTTPStatus.BAD_REQUEST, "expected HTTP/1.1\n")
    if parts[0] not in ("GET", "HEAD"):
        return Reply(HTTPStatus.METHOD_NOT_ALLOWED, "only GET\n")
    page = pages.get(parts[1].partition("?")[0])
    if page is None:
        return Reply(HTTPStatus.NOT_FOUND, f"there are {', '.join(sorted(pages))}\n")
    try:
        found = page()
    except Exception:
        _log.exception("%s cannot be answered", parts[1])
        found = Reply(HTTPStatus.SERVICE_UNAVAILABLE, "internal error; the log has it\n")
    return found if parts[0] == "GET" else found._replace(body="")


def _encoded(reply: Reply) -> bytes:
    body = reply.body.encode()
    head = (
        f"HTTP/1.1 {reply.status.value} {reply.status.phrase}\r\nContent-Type: {reply.form}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


def endpoints_of(replica: Replica, figures: Sequence[Metric], max_view_age: float, heartbeat: Heartbeat) -> Endpoints:
    """The endpoints run in another thread than the replica, so they only read."""

    def healthz() -> Reply:
        """A part that fails ends the process. A process that hangs is restarted by the kubelet."""
        if not heartbeat.alive:
            return Reply(
                HTTPStatus.INTERNAL_SERVER_ERROR,
                f"the main loop has shown no sign of life for {heartbeat.silence:.0f} s\n",
            )
        if (lasts := replica.status.turn_lasts) > LONGEST_TURN:
            return Reply(
                HTTPStatus.INTERNAL_SERVER_ERROR, f"the scheduling loop has been at one turn for {lasts:.0f} s\n"
            )
        return Reply(HTTPStatus.OK, "ok\n")

    def readyz() -> Reply:
        """A standby is ready as soon as it could lead."""
        if not replica.status.synced:
            unseen = ", ".join(replica.status.unseen) or "what earlier replicas wrote"
            return Reply(HTTPStatus.SERVICE_UNAVAILABLE, f"not seen yet: {unseen}\n")
        if replica.view_age > max_view_age:
            return Reply(HTTPStatus.SERVICE_UNAVAILABLE, f"the view is {replica.view_age:.0f} s old\n")
        return Reply(HTTPStatus.OK, "leading\n" if replica.leadership.leads else "standing by\n")

    def metrics() -> Reply:
        return Reply(HTTPStatus.OK, exposition(figures), PROMETHEUS)

    return {"/healthz": healthz, "/readyz": readyz, "/metrics": metrics}
