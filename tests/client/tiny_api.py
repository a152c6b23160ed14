"""The least of a Kubernetes API that can be followed: objects of one resource, lists in pages, watches that resume."""

import asyncio
import contextlib
import json
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.client.scripted_server import Reply, Request


class Event(NamedTuple):
    revision: int
    kind: str
    document: dict[str, Any]


Fault = Callable[[Reply, bytes], Any]  # an awaitable: takes the place of sending one line of a watch


class TinyApi:
    def __init__(self) -> None:
        self.revision = 10
        self.objects: dict[str, dict[str, Any]] = {}
        self.log: list[Event] = []
        self.oldest = 0  # watches from before this get 410
        self.page_size = 500
        self.faults: list[Fault] = []  # each strikes one line
        self.refusals: list[int] = []  # each answers one request
        self._changed = asyncio.Condition()

    async def put(self, name: str, uid: str = "", **spec: Any) -> None:
        self.revision += 1
        kind = "MODIFIED" if name in self.objects else "ADDED"
        metadata = {"name": name, "namespace": "team", "uid": uid or f"u-{name}", "resourceVersion": str(self.revision)}
        self.objects[name] = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        await self._tell(kind, self.objects[name])

    async def remove(self, name: str) -> None:
        self.revision += 1
        gone = self.objects.pop(name)
        metadata = {**gone["metadata"], "resourceVersion": str(self.revision)}
        await self._tell("DELETED", {**gone, "metadata": metadata})

    async def bookmark(self) -> None:
        document = {"kind": "Pod", "metadata": {"resourceVersion": str(self.revision)}}
        await self._tell("BOOKMARK", document)

    def forget(self) -> None:
        """Compacts everything: no watch can resume."""
        self.oldest = self.revision + 1

    async def _tell(self, kind: str, document: dict[str, Any]) -> None:
        self.log.append(Event(self.revision, kind, document))
        async with self._changed:
            self._changed.notify_all()

    async def __call__(self, request: Request, reply: Reply) -> None:
        if self.refusals:
            code = self.refusals.pop(0)
            await reply.refuse(code, "Because")
        elif request.query.get("watch") == "true":
            await self._watch(int(request.query["resourceVersion"]), reply)
        else:
            await self._list(request, reply)

    async def _list(self, request: Request, reply: Reply) -> None:
        start = int(request.query.get("continue", "0"))
        names = sorted(self.objects)[start : start + min(self.page_size, int(request.query["limit"]))]
        end = start + len(names)
        items = [{k: v for k, v in self.objects[name].items() if k in ("metadata", "spec")} for name in names]
        metadata = {"resourceVersion": str(self.revision)}
        if end < len(self.objects):
            metadata["continue"] = str(end)
        await reply.json({"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": items})

    async def _watch(self, since: int, reply: Reply) -> None:
        await reply.begin_chunks()
        told = 0
        while True:
            if since < self.oldest:
                await reply.line("ERROR", {"kind": "Status", "code": 410, "reason": "Expired"})
                return await reply.end_chunks()
            for event in self.log[told:]:
                if event.revision > since or (event.kind == "BOOKMARK" and event.revision == since):
                    await self._send(event, reply)
            told = len(self.log)
            async with self._changed:
                await self._changed.wait_for(lambda: len(self.log) > told or since < self.oldest)  # noqa: B023

    async def _send(self, event: Event, reply: Reply) -> None:
        line = json.dumps({"type": event.kind, "object": event.document}).encode() + b"\n"
        if self.faults:
            await self.faults.pop(0)(reply, line)
        else:
            await reply.chunk(line)


async def cut(reply: Reply, line: bytes) -> None:
    """Half a line, then the connection is reset."""
    await reply.chunk(line[: len(line) // 2])
    reply.reset()
    raise ConnectionError("cut")


async def garble(reply: Reply, line: bytes) -> None:
    await reply.chunk(line[: len(line) // 2] + b"\n")


async def crumble(reply: Reply, line: bytes) -> None:
    """The whole line, a few bytes at a time."""
    for at in range(0, len(line), 7):
        await reply.chunk(line[at : at + 7])


async def end(reply: Reply, line: bytes) -> None:
    """The line, then the watch ends as it does when its time is up."""
    await reply.chunk(line)
    await reply.end_chunks()
    with contextlib.suppress(OSError):
        reply.end()
    raise ConnectionError("ended")
