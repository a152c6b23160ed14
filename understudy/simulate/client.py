"""What a process has for a cluster: ports.Cluster on the simulated server, with all that can go wrong in between."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from understudy.client.binding import bind_pods
from understudy.client.evictions import evict_pods
from understudy.objects.resources import EVENTS, SERIES_EVENTS, Resource
from understudy.ports import Change, PatchForm, PodBinding, PodEviction, Ref, Refused, Unreachable
from understudy.simulate.api_server import Version
from understudy.simulate.watches import Watch

if TYPE_CHECKING:
    from understudy.simulate.simulation import Simulation

CONFLICT = 409
TIMEOUT = 4.0  # seconds after which a request without an answer is given up
REASONS = {409: "Conflict", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable", 403: "Forbidden"}
_TOLD = (EVENTS.key, SERIES_EVENTS.key)
Apply = Callable[[], Any]


class RequestFaults:
    """What becomes of the next requests of a process; each count is used up by one."""

    def __init__(self) -> None:
        self.refusals: list[int] = []  # status codes
        self.lost_answers = 0
        self.lost_requests = 0
        self.kill_in: int | None = None  # writes until the process is killed, with the write on its way


class Client:
    """Of one life of one process: when that is killed, its client is dead, and nothing more is sent or heard."""

    def __init__(
        self, world: "Simulation", name: str, whole_gangs: bool, check: Callable[[], None] | None = None
    ) -> None:
        self.world = world
        self.name = name
        self.dead = False
        self.paused = False
        self.cut_off = False
        self.stalled_since = 0.0
        self.fate = RequestFaults()
        self.watches: list[Watch] = []
        self._whole_gangs = whole_gangs
        self._check = check
        self._held: list[Callable[[], None]] = []  # answers and wake-ups that wait for the end of a pause
        self._errands: set[asyncio.Task[None]] = set()
        self._channel = world.messages.channel(name)

    # Standing still

    @property
    def stalled(self) -> bool:
        """Whether nothing arrives at it."""
        return self.paused or self.cut_off or self.dead

    def stall(self, *, paused: bool = False, cut_off: bool = False) -> None:
        if not self.stalled:
            self.stalled_since = self.world.loop.time()
        self.paused, self.cut_off = self.paused or paused, self.cut_off or cut_off

    def go_on(self) -> None:
        self.paused = self.cut_off = False
        if self.dead:
            return
        held, self._held = self._held, []
        for wake in held:
            wake()
        for watch in self.watches:
            watch.deliver()

    def when_awake(self, wake: Callable[[], None]) -> None:
        if self.paused:
            self._held.append(wake)
        elif not self.dead:
            wake()

    def kill(self) -> None:
        self.dead = True
        for errand in list(self._errands):
            errand.cancel()

    # Requests

    async def _request(self, what: str, apply: Apply, write: bool, swaps: bool = False) -> Any:
        """Sends, waits for the answer. In between, everything else may happen. `swaps`: it names a version."""
        if self.dead:
            raise asyncio.CancelledError
        if write and self._check is not None:
            self._check()
        loop = self.world.loop
        answer: asyncio.Future[Any] = loop.create_future()
        lost_request = lost_answer = False
        refusal = 0
        if write:
            fate = self.fate
            if fate.kill_in is not None:
                fate.kill_in -= 1
                if fate.kill_in <= 0:
                    fate.kill_in = None
                    loop.call_soon(self.world.kill, self.name)
            if fate.refusals:
                refusal = fate.refusals.pop(0)
                if refusal == CONFLICT and not swaps:
                    refusal = 500  # to anything but a compare-and-swap, a server says so only where it is true
            elif fate.lost_answers:
                fate.lost_answers -= 1
                lost_answer = True
            elif fate.lost_requests:
                fate.lost_requests -= 1
                lost_request = True
        if not lost_request and not self.cut_off:
            request = Request(self, what, apply, answer, write)
            request.refusal, request.lost_answer = refusal, lost_answer
            loop.call_later(self._channel.delay(), request.arrive)
        give_up = loop.call_later(TIMEOUT, self._give_up, answer, what)
        try:
            return await answer
        finally:
            give_up.cancel()

    def _give_up(self, answer: "asyncio.Future[Any]", what: str) -> None:
        self.when_awake(lambda: _fail(answer, Unreachable(f"no answer to {what}")))

    async def get(self, ref: Ref) -> bytes:
        version: Version = await self._request(f"get {ref.name}", lambda: self.world.server.found(ref), write=False)
        return version.raw

    async def create(self, ref: Ref, body: Mapping[str, Any], sub: str = "") -> bytes:
        server, name = self.world.server, self.name
        if ref.resource.key in _TOLD:
            return self.world.told(body["metadata"]["name"], body)
        if sub == "eviction":
            options = body.get("deleteOptions", {})
            uid, grace = options.get("preconditions", {}).get("uid", ""), options.get("gracePeriodSeconds")
            await self._request(f"evict {ref.name}", lambda: server.delete(ref, grace, uid, "", name), write=True)
            return b"{}"
        what = f"create {ref.resource.key} {body['metadata'].get('name')}"
        version: Version = await self._request(what, lambda: server.create(ref.resource, body, name), write=True)
        return version.raw

    async def patch(self, ref: Ref, patch: Any, *, sub: str = "", form: PatchForm = PatchForm.STRATEGIC) -> bytes:
        if ref.resource.key in _TOLD:
            return self.world.told(ref.name)
        server, name = self.world.server, self.name
        what = f"patch {ref.resource.key}{f'/{sub}' if sub else ''} {ref.name}"
        swaps = isinstance(patch, Mapping) and "resourceVersion" in (patch.get("metadata") or {})
        version: Version = await self._request(
            what, lambda: server.patch(ref, patch, sub, form, name), write=True, swaps=swaps
        )
        return version.raw

    async def delete(self, ref: Ref, *, grace: int | None = None, uid: str = "", propagation: str = "") -> None:
        server, name = self.world.server, self.name
        what = f"delete {ref.resource.key} {ref.name}{' at once' if grace == 0 else ''}"
        await self._request(what, lambda: server.delete(ref, grace, uid, propagation, name), write=True)

    async def bind(self, namespace: str, seatings: Sequence[PodBinding]) -> None:
        """Whole or not at all in embedded mode; pod by pod in kube mode."""
        self.world.checks.bind_begins(seatings)
        try:
            if self._whole_gangs:
                what = "bind " + ", ".join(f"{one.pod} to {one.node}" for one in seatings)
                server = self.world.server
                await self._request(what, lambda: server.bind(namespace, seatings, self.name), write=True)
            else:
                await bind_pods(self, namespace, seatings)
        finally:
            self.world.checks.bind_ends(seatings)

    async def post_binding(self, ref: Ref, body: Any) -> None:
        server, name = self.world.server, self.name
        what = f"bind {ref.name} to {body['target']['name']}"
        await self._request(what, lambda: server.bind_one(ref, body, name), write=True)

    async def release(self, namespace: str, departures: Sequence[PodEviction]) -> None:
        if self._whole_gangs:
            server, name = self.world.server, self.name
            what = "release " + ", ".join(one.pod for one in departures)
            await self._request(what, lambda: server.depart(namespace, departures, name), write=True)
        else:
            await evict_pods(self, namespace, departures, self._later)

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = self.world.loop.create_task(_quietly(work))
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)

    # Watches

    def follow(
        self, resource: Resource, *, namespace: str = "", labels: str = "", fields: str = "", decoded: bool = False
    ) -> AsyncIterator[Change]:
        assert not fields
        return Watch(self, resource, namespace, labels, decoded).changes()

    def age(self) -> float:
        now = self.world.loop.time()
        return max((watch.age(now) for watch in self.watches), default=0.0)


class Request:
    """On its way to the server, and its answer on the way back."""

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
        client, world = self._client, self._client.world
        if world.server_is_down:
            return
        if self._write:
            world.step("write", client.name, self._what, self.refusal)
        result: Any
        try:
            if self.refusal:
                raise Refused(self.refusal, REASONS.get(self.refusal, "Unknown"), f"{self._what}: refused by a fault")
            if self._write:
                world.checks.writes(client.name, self._what)
            result = self._apply()
        except Refused as error:
            if self._write:
                world.note(f"  refused {error.code}: {error.message}")
            result = error
        if not self.lost_answer and not client.cut_off and not client.dead:
            world.loop.call_later(client._channel.delay(), self._answered, result)

    def _answered(self, result: Any) -> None:
        self._client.when_awake(lambda: self._tell(result))

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
    """What is told in passing may fail."""
    with contextlib.suppress(Refused, Unreachable):
        await work
