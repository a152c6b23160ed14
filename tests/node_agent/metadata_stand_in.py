"""A metadata server that answers as each cloud documents it, and as badly as a test wants."""

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncIterator
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

AZURE_EVENTS = "/metadata/scheduledevents"
AWS_TOKEN = "/latest/api/token"
AWS_ACTION = "/latest/meta-data/spot/instance-action"
AWS_REBALANCE = "/latest/meta-data/events/recommendations/rebalance"
AWS_LIFECYCLE = "/latest/meta-data/autoscaling/target-lifecycle-state"
GCP_PREEMPTED = "/computeMetadata/v1/instance/preempted"
GCP_MAINTENANCE = "/computeMetadata/v1/instance/maintenance-event"
HUGE = b"x" * (3 << 20)


class Request(NamedTuple):
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]


class Reply(NamedTuple):
    status: int
    body: bytes = b""
    etag: str = ""


class StandIn:
    """`values` are what it announces, by path; `fault` is how it fails, by path: hang, garbage, huge, missing, error,
    cut, not-http."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {GCP_PREEMPTED: "FALSE", GCP_MAINTENANCE: "NONE"}
        self.fault: dict[str, str] = {}
        self.asked: list[Request] = []
        self.tokens: set[str] = set()
        self.address = ""
        self._numbers = itertools.count(1)
        self._versions = dict.fromkeys(self.values, 1)
        self._changed = asyncio.Event()
        self._hanging: set[asyncio.Task[None]] = set()

    # What a test does

    def announce(self, path: str, value: object) -> None:
        """None: nothing any more."""
        if value is None:
            self.values.pop(path, None)
        else:
            self.values[path] = value if isinstance(value, str) else json.dumps(value)
        self._versions[path] = next(self._numbers) + 1
        self._changed.set()
        self._changed = asyncio.Event()

    def announce_events(self, *events: dict[str, Any]) -> None:
        """Of Azure."""
        self.announce(AZURE_EVENTS, {"DocumentIncarnation": len(events), "Events": list(events)})

    def count(self, path: str) -> int:
        return sum(one.path == path for one in self.asked)

    # What it serves

    async def _reply(self, request: Request) -> Reply:
        if request.path.startswith("/metadata/"):
            return self._azure(request)
        if request.path.startswith("/latest/"):
            return self._aws(request)
        if request.path.startswith("/computeMetadata/v1/"):
            return await self._gcp(request)
        return Reply(404)

    def _azure(self, request: Request) -> Reply:
        if request.headers.get("metadata") != "true" or "api-version" not in request.query:
            return Reply(400, b'{"error": "Bad request. Required metadata header not specified"}')
        empty = '{"DocumentIncarnation": 1, "Events": []}'
        return Reply(200, self.values.get(request.path, empty).encode())

    def _aws(self, request: Request) -> Reply:
        if request.path == AWS_TOKEN:
            if request.method != "PUT" or not request.headers.get("x-aws-ec2-metadata-token-ttl-seconds", "").isdigit():
                return Reply(400)
            token = f"token-{next(self._numbers)}"
            self.tokens.add(token)
            return Reply(200, token.encode())
        if request.headers.get("x-aws-ec2-metadata-token") not in self.tokens:
            return Reply(401)
        return self._value(request.path)

    async def _gcp(self, request: Request) -> Reply:
        if request.headers.get("metadata-flavor") != "Google":
            return Reply(403, b"Missing Metadata-Flavor:Google header.")
        if request.query.get("wait_for_change") == "true":
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(float(request.query.get("timeout_sec", "3600"))):
                    while request.query.get("last_etag") == self._etag(request.path):
                        await self._changed.wait()
        return self._value(request.path)

    def _value(self, path: str) -> Reply:
        value = self.values.get(path)
        return Reply(404) if value is None else Reply(200, value.encode(), self._etag(path))

    def _etag(self, path: str) -> str:
        return f"e{self._versions.get(path, 0)}"

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._hanging.add(task)
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._answer(reader, writer)
        finally:
            self._hanging.discard(task)
            writer.close()

    async def close(self) -> None:
        for task in tuple(self._hanging):
            task.cancel()
        await asyncio.gather(*self._hanging, return_exceptions=True)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = _parsed(await reader.readuntil(b"\r\n\r\n"))
        self.asked.append(request)
        fault = self.fault.get(request.path, "")
        if fault == "hang":
            await asyncio.Event().wait()
        elif fault == "cut":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{")
        elif fault == "not-http":
            writer.write(b"\x16\x03\x01\x02\x00 what is this\r\n\r\n")
        else:
            faults = {"garbage": Reply(200, b"<html>\xff\x00 out of order"), "huge": Reply(200, HUGE),
                      "missing": Reply(404, b"<html>404"), "error": Reply(500, b"try later")}  # fmt: skip
            writer.write(_encoded(faults.get(fault) or await self._reply(request)))
        with contextlib.suppress(ConnectionError):
            await writer.drain()


def _parsed(head: bytes) -> Request:
    first, *lines = head.decode("latin-1").strip().split("\r\n")
    method, target, _ = first.split(" ")
    parts = urlsplit(target)
    query = {key: values[0] for key, values in parse_qs(parts.query).items()}
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return Request(method, parts.path, query, headers)


def _encoded(reply: Reply) -> bytes:
    etag = f"ETag: {reply.etag}\r\n" if reply.etag else ""
    head = f"HTTP/1.1 {reply.status} X\r\nContent-Length: {len(reply.body)}\r\n{etag}Connection: close\r\n\r\n"
    return head.encode() + reply.body


@contextlib.asynccontextmanager
async def stand_in() -> AsyncIterator[StandIn]:
    found = StandIn()
    server = await asyncio.start_server(found.connected, "127.0.0.1", 0)
    found.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield found
    finally:
        server.close()
        await found.close()
