"""The client of a simulated process: ports.Cluster on the simulated API server, with faults on the way."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from typing import Any, Protocol

from understudy.client.binding import bind_pods
from understudy.client.evictions import evict_pods
from understudy.objects.resources import EVENTS, SERIES_EVENTS, Resource
from understudy.ports import Change, PatchForm, PodBinding, PodEviction, Ref, Refused, Unreachable
from understudy.simulate.api_server import Version
from understudy.simulate.connection import NO_FAULT, Connection, Watch

TIMEOUT = 4.0  # seconds after which a request without an answer is given up
REASONS = {409: "Conflict", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable", 403: "Forbidden"}
EVENT_KEYS = (EVENTS.key, SERIES_EVENTS.key)
Apply = Callable[[], Any]


class RequestObserver(Protocol):
    """Is informed of what a client does."""

    def bind_begins(self, seatings: Sequence[PodBinding]) -> None: ...

    def bind_ends(self, seatings: Sequence[PodBinding]) -> None: ...

    def writes(self, client: str, what: str) -> None: ...

    def event_written(self, name: str, event: Mapping[str, Any] | None) -> None: ...


class Client:
    """Belongs to one life of a process, which `kill` ends. `whole_gangs`: the server binds and releases whole gangs."""

    def __init__(
        self,
        connection: Connection,
        observer: RequestObserver,
        kill: Callable[[], None],
        whole_gangs: bool,
        check: Callable[[], None] | None = None,
    ) -> None:
        self.connection = connection
        self.context = connection.context
        self.server = connection.server
        self.name = connection.name
        self._observer = observer
        self._kill = kill
        self._whole_gangs = whole_gangs
        self._check = check
        self._background: set[asyncio.Task[None]] = set()

    def kill(self) -> None:
        self.connection.dead = True
        for task in list(self._background):
            task.cancel()

    # Requests

    async def _request(self, what: str, apply: Apply, write: bool, swaps: bool = False) -> Any:
        """Sends a request and awaits the answer. `swaps`: the request names a resourceVersion."""
        if self.connection.dead:
            raise asyncio.CancelledError
        if write and self._check is not None:
            self._check()
        loop = self.context.loop
        answer: asyncio.Future[Any] = loop.create_future()
        faults = self.connection.faults
        if write and faults.kills():
            loop.call_soon(self._kill)
        fault = faults.next(write, swaps)
        if fault is not NO_FAULT:
            self.context.hampered(0.0 if fault.refusal else TIMEOUT)
        if not fault.loses_request and not self.connection.cut_off:
            request = Request(self, what, apply, answer, write)
            request.refusal, request.lost_answer = fault.refusal, fault.loses_answer
            loop.call_later(self.connection.channel.delay(), request.arrive)
        give_up = loop.call_later(TIMEOUT, self._give_up, answer, what)
        try:
            return await answer
        finally:
            give_up.cancel()

    def _give_up(self, answer: "asyncio.Future[Any]", what: str) -> None:
        self.connection.when_awake(lambda: _fail(answer, Unreachable(f"no answer to {what}")))

    async def get(self, ref: Ref) -> bytes:
        version: Version = await self._request(f"get {ref.name}", lambda: self.server.found(ref), write=False)
        return version.raw

    async def create(self, ref: Ref, body: Mapping[str, Any], sub: str = "") -> bytes:
        server, name = self.server, self.name
        if ref.resource.key in EVENT_KEYS:
            self._observer.event_written(body["metadata"]["name"], body)
            return b"{}"
        if sub == "eviction":
            options = body.get("deleteOptions", {})
            uid, grace = options.get("preconditions", {}).get("uid", ""), options.get("gracePeriodSeconds")
            await self._request(f"evict {ref.name}", lambda: server.delete(ref, grace, uid, "", name), write=True)
            return b"{}"
        what = f"create {ref.resource.key} {body['metadata'].get('name')}"
        version: Version = await self._request(what, lambda: server.create(ref.resource, body, name), write=True)
        return version.raw

    async def patch(self, ref: Ref, patch: Any, *, sub: str = "", form: PatchForm = PatchForm.STRATEGIC) -> bytes:
        if ref.resource.key in EVENT_KEYS:
            self._observer.event_written(ref.name, None)
            return b"{}"
        server, name = self.server, self.name
        what = f"patch {ref.resource.key}{f'/{sub}' if sub else ''} {ref.name}"
        swaps = isinstance(patch, Mapping) and "resourceVersion" in (patch.get("metadata") or {})
        version: Version = await self._request(
            what, lambda: server.patch(ref, patch, sub, form, name), write=True, swaps=swaps
        )
        return version.raw

    async def delete(self, ref: Ref, *, grace: int | None = None, uid: str = "", propagation: str = "") -> None:
        server, name = self.server, self.name
        what = f"delete {ref.resource.key} {ref.name}{' at once' if grace == 0 else ''}"
        await self._request(what, lambda: server.delete(ref, grace, uid, propagation, name), write=True)

    async def bind(self, namespace: str, seatings: Sequence[PodBinding]) -> None:
        """Whole gangs in embedded mode; pod by pod in kube mode."""
        self._observer.bind_begins(seatings)
        try:
            if self._whole_gangs:
                what = "bind " + ", ".join(f"{one.pod} to {one.node}" for one in seatings)
                server = self.server
                await self._request(what, lambda: server.bind(namespace, seatings, self.name), write=True)
            else:
                await bind_pods(self, namespace, seatings)
        finally:
            self._observer.bind_ends(seatings)

    async def post_binding(self, ref: Ref, body: Any) -> None:
        server, name = self.server, self.name
        what = f"bind {ref.name} to {body['target']['name']}"
        await self._request(what, lambda: server.bind_one(ref, body, name), write=True)

    async def release(self, namespace: str, departures: Sequence[PodEviction]) -> None:
        if self._whole_gangs:
            server, name = self.server, self.name
            what = "release " + ", ".join(one.pod for one in departures)
            await self._request(what, lambda: server.depart(namespace, departures, name), write=True)
        else:
            await evict_pods(self, namespace, departures, self._later)

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = self.context.loop.create_task(_quietly(work))
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    # Watches

    def follow(
        self, resource: Resource, *, namespace: str = "", labels: str = "", fields: str = "", decoded: bool = False
    ) -> AsyncIterator[Change]:
        assert not fields
        return Watch(self.connection, resource, namespace, labels, decoded).changes()

    def age(self) -> float:
        return self.connection.age()


class Request:
    """A request on its way to the server, and its answer on the way back."""

    __slots__ = ("_answer", "_apply", "_client", "_what", "_write", "lost_answer", "refusal")

    def __init__(self, client: Client, what: str, apply: Apply, answer: "asyncio.Future[Any]", write: bool) -> None:
        self._client = client
        self._what = what
        self._apply = apply
        self._answer = answer
        self._write = write
        self.refusal = 0
        self.lost_answer = False

    def arrive(self) -> None:
        client, context, connection = self._client, self._client.context, self._client.connection
        if client.server.is_down:
            return
        if self._write:
            context.step("write", client.name, self._what, self.refusal)
        result: Any
        try:
            if self.refusal:
                raise Refused(self.refusal, REASONS.get(self.refusal, "Unknown"), f"{self._what}: refused by a fault")
            if self._write:
                client._observer.writes(client.name, self._what)
            result = self._apply()
        except Refused as error:
            if self._write:
                context.note(f"  refused {error.code}: {error.message}")
            result = error
        if not self.lost_answer and not connection.cut_off and not connection.dead:
            context.loop.call_later(connection.channel.delay(), self._answered, result)

    def _answered(self, result: Any) -> None:
        self._client.connection.when_awake(lambda: self._tell(result))

    def _tell(self, result: Any) -> None:
        if self._answer.done():
            return
        if isinstance(result, Exception):
            self._answer.set_exception(result)
        else:
            self._answer.set_result(result)


def _fail(answer: "asyncio.Future[Any]", error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)


async def _quietly(work: Coroutine[Any, Any, None]) -> None:
    """Requests in the background may fail."""
    with contextlib.suppress(Refused, Unreachable):
        await work
