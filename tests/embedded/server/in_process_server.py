"""The API server without a network: its application called as a coroutine, on a store of its own."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec

from understudy.embedded.api.builtin_resources import BUILTIN
from understudy.embedded.api.served_resources import ServedResources
from understudy.embedded.cluster_folder import ClusterFolder
from understudy.embedded.server.application import Application
from understudy.embedded.server.authentication.authenticator import TokenFile, User
from understudy.embedded.server.bootstrap_objects import create_bootstrap_objects
from understudy.embedded.server.registry.custom_resources import CustomResources
from understudy.embedded.server.registry.state import ServerState
from understudy.embedded.store.records import Limits
from understudy.embedded.store.store import Store

TOKEN = "of-the-admin"
STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
PODS = "/api/v1/namespaces/default/pods"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
Json = Any


class Clock:
    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Reply(msgspec.Struct, frozen=True):
    code: int
    headers: list[tuple[bytes, bytes]]
    body: bytes

    @property
    def json(self) -> Json:
        return msgspec.json.decode(self.body)

    @property
    def warnings(self) -> list[str]:
        return [value.decode() for name, value in self.headers if name == b"warning"]

    def header(self, name: str) -> str:
        return next(value.decode() for found, value in self.headers if found == name.encode())


class Server:
    """What a test talks to."""

    def __init__(self, state: ServerState, clock: Clock) -> None:
        self.state = state
        self.clock = clock
        self.application = Application(state)

    async def __call__(
        self,
        method: str,
        url: str,
        body: Json = None,
        *,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
        token: str | None = TOKEN,
    ) -> Reply:
        exchange = Exchange(_bytes(body))
        sent = {"content-type": content_type} if body is not None else {}
        await self.application(_scope(method, url, {**sent, **(headers or {})}, token), exchange.receive, exchange.send)
        return exchange.reply

    async def get(self, url: str, **headers: str) -> Json:
        return await self.ask("GET", url, headers=headers)

    async def post(self, url: str, body: Json, code: int = 201) -> Json:
        return await self.ask("POST", url, body, code=code)

    async def put(self, url: str, body: Json) -> Json:
        return await self.ask("PUT", url, body)

    async def delete(self, url: str, body: Json = None) -> Json:
        return await self.ask("DELETE", url, body)

    async def patch(self, url: str, body: Json, content_type: str = MERGE) -> Json:
        reply = await self("PATCH", url, body, content_type=content_type)
        assert reply.code in (200, 201), reply.body
        return reply.json

    async def ask(
        self, method: str, url: str, body: Json = None, *, code: int = 200, headers: Mapping[str, str] | None = None
    ) -> Json:
        """What must go well."""
        reply = await self(method, url, body, headers=headers)
        assert reply.code == code, (method, url, reply.code, reply.body)
        return reply.json

    async def refused(self, code: int, reason: str, method: str, url: str, body: Json = None, **more: Any) -> Json:
        """What must be refused, with a Status that says so."""
        reply = await self(method, url, body, **more)
        assert (reply.code, reply.json["reason"]) == (code, reason), reply.body
        assert (reply.json["kind"], reply.json["status"], reply.json["code"]) == ("Status", "Failure", code)
        return reply.json

    @contextlib.asynccontextmanager
    async def watch(self, url: str, **headers: str) -> AsyncIterator["Watch"]:
        exchange = Exchange(b"")
        joint = "&" if "?" in url else "?"
        scope = _scope("GET", f"{url}{joint}watch=true", headers, TOKEN)
        task = asyncio.create_task(self.application(scope, exchange.receive, exchange.send))
        try:
            yield Watch(exchange, task)
        finally:
            exchange.gone.set()
            await task


class Exchange:
    """One request and its answer."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self.gone = asyncio.Event()
        self.flowing = asyncio.Event()  # cleared: the peer has stopped reading
        self.flowing.set()
        self.pieces: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.started: dict[str, Any] = {}
        self._whole: list[bytes] = []

    async def receive(self) -> dict[str, Any]:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        await self.flowing.wait()
        if message["type"] == "http.response.start":
            self.started = message
            return
        self._whole.append(message["body"])
        self.pieces.put_nowait(message["body"])
        if not message.get("more_body"):
            self.pieces.put_nowait(None)

    @property
    def reply(self) -> Reply:
        return Reply(self.started["status"], self.started["headers"], b"".join(self._whole))


class Watch:
    """The events of a watch, one by one."""

    def __init__(self, exchange: Exchange, task: asyncio.Task[None]) -> None:
        self.exchange = exchange
        self.task = task
        self._lines: list[bytes] = []
        self._rest = b""

    async def next(self) -> Json:
        """None at the end."""
        while not self._lines:
            piece = await asyncio.wait_for(self.exchange.pieces.get(), 10)
            if piece is None:
                assert not self._rest
                return None
            *whole, self._rest = (self._rest + piece).split(b"\n")
            self._lines += whole
        return msgspec.json.decode(self._lines.pop(0))

    async def told(self, count: int) -> list[tuple[str, str]]:
        """Types and names of the next events."""
        events = [await self.next() for _ in range(count)]
        return [(event["type"], event["object"]["metadata"]["name"]) for event in events]


@contextlib.asynccontextmanager
async def server(path: Path, *, now: float = 1_700_000_000.0, limits: Limits | None = None) -> AsyncIterator[Server]:
    clock = Clock(now)
    store = Store.open(path / "objects.sqlite", limits or Limits())
    try:
        tokens = TokenFile([(TOKEN, User("admin", ("system:masters",)))])
        state = ServerState(store, ServedResources(BUILTIN), tokens, ClusterFolder(path), clock)
        await create_bootstrap_objects(state, 6443)
        async with CustomResources.following(state):
            yield Server(state, clock)
        state.close()
    finally:
        await store.close()


def pod(name: str = "", *, labels: Mapping[str, str] | None = None, **spec: Any) -> Json:
    meta: dict[str, Any] = {"name": name} if name else {"generateName": "pod-"}
    if labels:
        meta["labels"] = dict(labels)
    containers = [{"name": "main", "image": "busybox", "command": ["sleep", "60"]}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": containers, **spec}}


def config_map(name: str, **data: str) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def _bytes(body: Json) -> bytes:
    match body:
        case None:
            return b""
        case bytes():
            return body
        case _:
            return msgspec.json.encode(body)


def _scope(method: str, url: str, headers: Mapping[str, str], token: str | None) -> dict[str, Any]:
    parts = urlsplit(url)
    sent = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    if token is not None:
        sent.append((b"authorization", f"Bearer {token}".encode()))
    return {
        "type": "http",
        "method": method,
        "path": parts.path,
        "raw_path": quote(parts.path).encode(),
        "query_string": quote(parts.query, safe="=&,!()%/:").encode(),
        "headers": sent,
    }
