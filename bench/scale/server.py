"""Serves a recording as an API server would: lists in pages, watches, bindings. A process of its own.

Leases are renewed all the time. `GET /bench/events?sort=pods&rate=500&seconds=8` has it push others; it answers when
the last one is out. A process that lists anew sees the recording again.
"""

import argparse
import asyncio
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httptools
import msgspec
import uvloop

from bench.scale.recording import Layout, Recording

RENEWED_EVERY = 10.0  # seconds
TICK = 0.02  # seconds between two bursts of events
_VERSIONS = {
    "leases": "coordination.k8s.io/v1", "jobs": "batch/v1", "jobsets": "jobset.x-k8s.io/v1alpha2",
    "priorityclasses": "scheduling.k8s.io/v1",
}  # fmt: skip
_KINDS = {
    "leases": "Lease", "jobs": "Job", "jobsets": "JobSet", "nodes": "Node", "pods": "Pod",
    "persistentvolumeclaims": "PersistentVolumeClaim",
}  # fmt: skip
_EMPTY = ("persistentvolumes", "poddisruptionbudgets", "configmaps")
_REVISION = re.compile(rb'"resourceVersion":"\d+"')
_RENEWED = re.compile(rb'"renewTime":"[^"]+"')
_RESTARTS = re.compile(rb'"restartCount":\d+')
_NOTE = re.compile(rb'"bench/note":"[^"]+"')
_BEAT = re.compile(rb'"lastHeartbeatTime":"[^"]+"')


class Served:
    """The recording, the connections that watch it, and counts of the received requests."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.watches: dict[str, list[asyncio.Transport]] = {}
        self.first_bind: float | None = None
        self.binds = 0
        self.pushed = dict.fromkeys(_CHANGES, 0)  # events by sort
        waiting = recording.lists["pods"]
        self._waiting = {_name(text): text for text in waiting if b'"phase":"Pending"' in text}

    def page(self, plural: str, query: dict[str, str]) -> bytes:
        items = self.recording.lists.get(plural, [])
        if plural == "leases":
            items = [_renewed(text, 0) for text in items]
        start, limit = int(query.get("continue", "0")), int(query.get("limit", "0")) or len(items)
        end = start + limit
        more = f',"continue":"{end}","remainingItemCount":{len(items) - end}' if end < len(items) else ""
        kind, version = _KINDS.get(plural, "Some"), _VERSIONS.get(plural, "v1")
        revision = self.recording.revision
        head = f'{{"kind":"{kind}List","apiVersion":"{version}","metadata":{{"resourceVersion":"{revision}"{more}}}'
        return head.encode() + b',"items":[' + b",".join(items[start:end]) + b"]}"

    def bound(self, path: str, body: bytes) -> None:
        self.first_bind = self.first_bind or time.monotonic()
        self.binds += 1
        name = path.split("/")[-2]
        node = msgspec.json.decode(body)["target"]["name"]
        text = self._waiting.get(name)
        if text is not None:
            self.publish("pods", text.replace(b'"spec":{', f'"spec":{{"nodeName":"{node}",'.encode(), 1))

    def publish(self, plural: str, text: bytes) -> None:
        kind, version, revision = _KINDS[plural], _VERSIONS.get(plural, "v1"), self.recording.next_revision()
        text = _REVISION.sub(f'"resourceVersion":"{revision}"'.encode(), text, count=1)
        line = f'{{"type":"MODIFIED","object":{{"kind":"{kind}","apiVersion":"{version}",'.encode() + text[1:] + b"}\n"
        chunk = f"{len(line):x}\r\n".encode() + line + b"\r\n"
        for transport in self.watches.get(plural, ()):
            transport.write(chunk)
        self.pushed[plural] += 1

    async def push(self, sort: str, rate: float, seconds: float) -> None:
        """Events of one sort, evenly over this time, over all objects in turn."""
        change, items = _CHANGES[sort], self.recording.lists[sort]
        if sort == "pods":
            items = [text for text in items if b'"phase":"Pending"' not in text]
        began, done = time.monotonic(), 0
        while (now := time.monotonic() - began) < seconds:
            for number in range(done, int(now * rate)):
                self.publish(sort, change(items[number % len(items)], number))
            done = int(now * rate)
            await asyncio.sleep(TICK)

    async def renew(self) -> None:
        """Renews the lease of each node every ten seconds, as in every cluster."""
        while True:
            await self.push("leases", self.recording.layout.nodes / RENEWED_EVERY, RENEWED_EVERY)


def _renewed(text: bytes, _: int) -> bytes:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return _RENEWED.sub(f'"renewTime":"{now}"'.encode(), text)


def _restarted(text: bytes, number: int) -> bytes:
    """A part of the status that the scheduler does not read."""
    return _RESTARTS.sub(f'"restartCount":{number}'.encode(), text)


def _heard(text: bytes, _: int) -> bytes:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return _BEAT.sub(f'"lastHeartbeatTime":"{now}"'.encode(), text)


def _noted(text: bytes, number: int) -> bytes:
    return _NOTE.sub(f'"bench/note":"{number}"'.encode(), text)


_CHANGES: dict[str, Callable[[bytes, int], bytes]] = {
    "leases": _renewed, "pods": _restarted, "nodes": _heard, "persistentvolumeclaims": _noted,
}  # fmt: skip


def _name(text: bytes) -> str:
    found = re.search(rb'"name":"([^"]+)"', text)
    assert found is not None
    return found[1].decode()


class Conversation(asyncio.Protocol):
    """One connection; requests come one after the other."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._transport: Any = None
        self._parser: Any = httptools.HttpRequestParser(self)
        self._url, self._body = b"", b""
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def connection_lost(self, _: Exception | None) -> None:
        for watching in self._served.watches.values():
            if self._transport in watching:
                watching.remove(self._transport)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_url(self, url: bytes) -> None:
        self._url, self._body = url, b""

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        method, url = self._parser.get_method().decode(), urlsplit(self._url.decode())
        query = {key: values[-1] for key, values in parse_qs(url.query).items()}
        if url.path.startswith("/bench/"):
            self._tasks.add(asyncio.create_task(self._push_and_answer(query)))
        elif method != "GET":
            self._write(url.path)
        else:
            self._read(url.path, query)

    async def _push_and_answer(self, query: dict[str, str]) -> None:
        served = self._served
        before = dict(served.pushed)
        if "sort" in query:
            await served.push(query["sort"], float(query["rate"]), float(query["seconds"]))
        pushed = {sort: count - before[sort] for sort, count in served.pushed.items()}
        seen = {"first_bind": served.first_bind, "binds": served.binds, "pushed": pushed}
        self._answer(200, msgspec.json.encode(seen))

    def _read(self, path: str, query: dict[str, str]) -> None:
        plural = path.rsplit("/", 1)[1]
        if plural not in self._served.recording.lists and plural not in _EMPTY:
            self._answer(
                404, msgspec.json.encode({"kind": "Status", "code": 404, "reason": "NotFound", "message": path})
            )
        elif query.get("watch") == "true":
            if plural == "pods":
                self._served.first_bind = None
            self._served.watches.setdefault(plural, []).append(self._transport)
            self._transport.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
        else:
            self._answer(200, self._served.page(plural, query))

    def _write(self, path: str) -> None:
        """Bindings are done; whatever else is wanted is only said to be."""
        if path.endswith("/binding"):
            self._served.bound(path, self._body)
            self._answer(201, b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}')
        else:
            self._answer(200, self._body or b"{}")

    def _answer(self, status: int, body: bytes) -> None:
        head = f"HTTP/1.1 {status} OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self._transport.write(head.encode() + body)


async def _serve(nodes: int, pods: int) -> None:
    recording = Recording(Layout(nodes, pods))
    served = Served(recording)
    server = await asyncio.get_running_loop().create_server(lambda: Conversation(served), "127.0.0.1", 0)
    sizes = {name: (len(items), sum(map(len, items))) for name, items in recording.lists.items()}
    print(msgspec.json.encode({"port": server.sockets[0].getsockname()[1], "sizes": sizes}).decode(), flush=True)
    async with asyncio.TaskGroup() as group:
        group.create_task(served.renew())
        group.create_task(server.serve_forever())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--pods", type=int, required=True)
    options = parser.parse_args()
    uvloop.run(_serve(options.nodes, options.pods))
