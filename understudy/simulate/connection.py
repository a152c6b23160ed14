"""The connection of one life of a process to the API server: when nothing arrives, and its watches.

A watch delivers the events of one resource in order: late, coalesced, cut off and listed again, as the scenario says.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from typing import NamedTuple

import msgspec

from understudy.objects.resources import Resource
from understudy.ports import Change, ChangeType, Refused
from understudy.simulate.api_server import ApiServer, Name, Version
from understudy.simulate.context import SimulationContext

SYNCED = Change(ChangeType.SYNCED)


class RequestFaults:
    """Faults that hit the next requests of a process; each count is used up by one request."""

    def __init__(self) -> None:
        self.refusals: list[int] = []  # status codes of writes
        self.lost_answers = 0
        self.lost_requests = 0
        self.refused_reads: list[int] = []  # status codes
        self.lost_reads = 0
        self.kill_in: int | None = None  # writes until the process is killed, with the write on its way

    def kills(self) -> bool:
        """Whether the process is killed with this write on its way."""
        if self.kill_in is None:
            return False
        self.kill_in = self.kill_in - 1 if self.kill_in > 1 else None
        return self.kill_in is None

    def next(self, write: bool, swaps: bool) -> "RequestFault":
        """What happens to the next request. `swaps`: it names a resourceVersion."""
        if not write:
            return self._next_read()
        if self.refusals:
            code = self.refusals.pop(0)
            # A server reports a conflict only to a compare-and-swap.
            return RequestFault(500 if code == HTTPStatus.CONFLICT and not swaps else code)
        if self.lost_answers:
            self.lost_answers -= 1
            return RequestFault(loses_answer=True)
        if self.lost_requests:
            self.lost_requests -= 1
            return RequestFault(loses_request=True)
        return NO_FAULT

    def _next_read(self) -> "RequestFault":
        if self.refused_reads:
            return RequestFault(self.refused_reads.pop(0))
        if self.lost_reads:
            self.lost_reads -= 1
            return RequestFault(loses_request=True)
        return NO_FAULT


class RequestFault(NamedTuple):
    refusal: int = 0  # a status code
    loses_answer: bool = False
    loses_request: bool = False


NO_FAULT = RequestFault()


class Connection:
    """Belongs to one life of one process. When that is killed, nothing more is sent or received."""

    def __init__(self, context: SimulationContext, server: ApiServer, name: str) -> None:
        self.context = context
        self.server = server
        self.name = name
        self.channel = context.channels.channel(name)
        self.dead = False
        self.paused = False
        self.cut_off = False
        self.stalled_since = 0.0
        self.faults = RequestFaults()
        self.watches: list[Watch] = []
        self._held: list[Callable[[], None]] = []  # answers and wake-ups that wait for the end of a pause

    @property
    def stalled(self) -> bool:
        """Whether no message arrives."""
        return self.paused or self.cut_off or self.dead

    @property
    def is_hampered(self) -> bool:
        """Whether a message does not arrive in time."""
        return self.stalled or self.server.is_down or any(watch.is_broken for watch in self.watches)

    def stall(self, *, paused: bool = False, cut_off: bool = False) -> None:
        if not self.stalled:
            self.stalled_since = self.context.loop.time()
        self.paused, self.cut_off = self.paused or paused, self.cut_off or cut_off

    def resume(self) -> None:
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

    def age(self) -> float:
        """Seconds since the oldest watch was last up to date."""
        now = self.context.loop.time()
        return max((watch.age(now) for watch in self.watches), default=0.0)


class Watch:
    """Keeps the promise of ports.Cluster.follow: no change is lost for good, and none is delivered twice."""

    def __init__(self, connection: Connection, resource: Resource, namespace: str, label: str, decoded: bool) -> None:
        self.resource = resource
        self._connection = connection
        self._context = connection.context
        self._server = connection.server
        self._namespace = namespace
        self._label = label
        self._decoded = decoded
        self._channel = connection.context.channels.channel(connection.name, resource.key)
        self._travelling: deque[tuple[float, ChangeType, Version | None]] = deque()
        self._last_due = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._delivered: dict[Name, Version] = {}
        self._ready: deque[Change] = deque()
        self._reader: asyncio.Future[None] | None = None
        self._broken_since: float | None = None
        self.synced = False

    @property
    def is_broken(self) -> bool:
        return self._broken_since is not None or not self.synced

    # The server's side

    def wants(self, version: Version) -> bool:
        if self._namespace and version.name[0] != self._namespace:
            return False
        if not self._label:
            return True
        name, _, value = self._label.partition("=")
        return bool(version.metadata.get("labels", {}).get(name) == value)

    def push(self, change: ChangeType, version: Version) -> None:
        if self._broken_since is not None:
            return
        if self._channel.coalesces and change is ChangeType.MODIFIED and self._coalesced(version):
            return
        self._send(change, version)

    def _coalesced(self, version: Version) -> bool:
        """Replaces an older state of the same object that is still on its way. Whether there was one."""
        for number in range(len(self._travelling) - 1, -1, -1):
            due, change, other = self._travelling[number]
            if other is not None and other.name == version.name:
                if change is ChangeType.DELETED or other.uid != version.uid:
                    return False
                self._travelling[number] = (due, change, version)
                return True
        return False

    def _send(self, change: ChangeType, version: Version | None) -> None:
        loop = self._context.loop
        due = self._last_due = max(self._last_due, loop.time() + self._channel.delay())
        self._travelling.append((due, change, version))
        if self._timer is None:
            self._timer = loop.call_at(due, self.deliver)

    # The process's side

    def list(self) -> None:
        """Sends the difference between the server's objects and what was delivered."""
        server = self._server
        found = {version.name: version for version in server.all(self.resource) if self.wants(version)}
        for name in sorted(self._delivered):
            if name not in found or found[name].uid != self._delivered[name].uid:
                self._send(ChangeType.DELETED, self._delivered[name])
        for name, version in found.items():
            known = self._delivered.get(name)
            if known is None or known.uid != version.uid:
                self._send(ChangeType.ADDED, version)
            elif known.revision != version.revision:
                self._send(ChangeType.MODIFIED, version)
        if not self.synced:
            self._send(ChangeType.SYNCED, None)

    def deliver(self) -> None:
        """Hands what has arrived to the process, unless it is paused or cut off."""
        self._timer = None
        connection, loop = self._connection, self._context.loop
        if connection.stalled:
            return
        now, count = loop.time(), 0
        while self._travelling and self._travelling[0][0] <= now:
            _, change, version = self._travelling.popleft()
            self._ready.append(self._read(change, version))
            count += 1
        if count:
            self._context.step("tell", connection.name, self.resource.key, count)
            if self._reader is not None and not self._reader.done():
                self._reader.set_result(None)
        if self._travelling:
            self._timer = loop.call_at(max(now, self._travelling[0][0]), self.deliver)

    def _read(self, change: ChangeType, version: Version | None) -> Change:
        if version is None:
            self.synced = True
            return SYNCED
        if change is ChangeType.DELETED:
            known = self._delivered.pop(version.name, None)
            if self._decoded and known is not None and known.revision == version.revision:
                return Change(change, _bare(version))  # the process has not seen its last state
        else:
            self._delivered[version.name] = version
        obj = version.obj if self._decoded else None
        return Change(change, b"", obj) if obj is not None else Change(change, version.raw)

    def break_off(self, seconds: float) -> None:
        """Drops what is on its way; the watch lists again after a while."""
        if self._broken_since is not None or not self.synced:
            return
        loop = self._context.loop
        self._broken_since = loop.time()
        self._travelling.clear()
        self._last_due = 0.0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        loop.call_later(seconds, self.mend)

    def mend(self) -> None:
        connection = self._connection
        if connection.dead or self._broken_since is None:
            return
        if connection.stalled or self._server.is_down or connection.faults.next(False, False) is not NO_FAULT:
            self._context.loop.call_later(1.0, self.mend)
            return
        self._broken_since = None
        self._context.hampered()
        self.list()

    def age(self, now: float) -> float:
        if self._broken_since is not None:
            return now - self._broken_since
        return now - self._connection.stalled_since if self._connection.stalled else 0.0

    async def changes(self) -> AsyncIterator[Change]:
        if not self._server.serves(self.resource):
            raise Refused(404, "NotFound", f"there is no {self.resource.key}")
        if code := self._connection.faults.next(False, False).refusal:
            self._context.hampered()
            raise Refused(code, "Refused", f"list {self.resource.key}: refused by a fault")
        watchers = self._server.watchers[self.resource.key]
        watchers.append(self)
        self._connection.watches.append(self)
        self.list()
        try:
            while True:
                while self._ready:
                    yield self._ready.popleft()
                self._reader = self._context.loop.create_future()
                await self._reader
        finally:
            watchers.remove(self)
            self._connection.watches.remove(self)
            if self._timer is not None:
                self._timer.cancel()


def _bare(version: Version) -> bytes:
    meta = version.metadata
    kept = {key: meta[key] for key in ("name", "namespace", "uid") if key in meta}
    head = {"apiVersion": version.document["apiVersion"], "kind": version.document["kind"], "metadata": kept}
    return msgspec.json.encode(head)
