"""One watch per resource for everybody: changes as the server tells them, and as the answers to our own writes tell
them first. Whoever wrote something sees it in place by the time the answer is there.
"""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

import msgspec

from understudy.objects.resources import EVENTS, Resource
from understudy.ports import (
    Change,
    ChangeType,
    Clock,
    Cluster,
    Departure,
    PatchForm,
    Ref,
    Refused,
    Seating,
    Unreachable,
)

log = logging.getLogger(__name__)

Listener = Callable[[Change], None]

DOUBT = 5.0  # seconds after which an object that only an answer told of is looked up
MOST_GRAVES = 10_000  # deleted objects remembered, so that a late answer does not bring one back
UNSHARED = frozenset({EVENTS.key})  # too many of them to keep
_ANSWERED = ("", "status")  # sub-resources that answer with the object itself


class _Meta(msgspec.Struct, rename="camel", gc=False):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Head(msgspec.Struct, gc=False):
    metadata: _Meta
    kind: str = ""


_head = msgspec.json.Decoder(_Head).decode


class _CachedObject(msgspec.Struct):
    uid: str
    revision: int
    raw: bytes
    doubted_from: float | None  # None: the watch has told of it


class Subscription:
    """One listener to one resource. Its changes come synchronously, first all there is, and `synced` says when that was
    all. `ended` is set with an exception where no more will come."""

    def __init__(self, stream: "_Informer", listener: Listener) -> None:
        self.synced = asyncio.Event()
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._stream = stream
        self._listener = listener

    def tell(self, change: Change) -> None:
        if change.type is ChangeType.SYNCED:
            self.synced.set()
        try:
            self._listener(change)
        except Exception as error:
            log.exception("a listener to %s failed", self._stream.resource.key)
            self.end(error)

    def end(self, error: BaseException) -> None:
        self.cancel()
        if not self.ended.done():
            self.ended.set_exception(error)
            self.ended.exception()  # it is up to the listener's owner whether anybody asks

    def cancel(self) -> None:
        self._stream.subscriptions.pop(self, None)


class _Informer:
    """What is known of one resource, and who wants to hear of it."""

    def __init__(self, resource: Resource, clock: Clock) -> None:
        self.resource = resource
        self.subscriptions: dict[Subscription, None] = {}
        self.known: dict[tuple[str, str], _CachedObject] = {}
        self.synced = False
        self._clock = clock
        self._graves: dict[str, None] = {}

    def subscribe(self, listener: Listener) -> Subscription:
        subscription = Subscription(self, listener)
        self.subscriptions[subscription] = None
        for known in list(self.known.values()):
            subscription.tell(Change(ChangeType.ADDED, known.raw))
        if self.synced:
            subscription.tell(Change(ChangeType.SYNCED))
        return subscription

    def hear(self, change: Change) -> None:
        """From the watch."""
        match change.type:
            case ChangeType.SYNCED:
                self.synced = True
                self._tell(change)
            case ChangeType.DELETED:
                meta = _head(change.raw).metadata
                self._bury(meta.uid)
                self._forget((meta.namespace, meta.name), meta.uid, change.raw)
            case _:
                self._put(change.raw, doubted_from=None)

    def learn(self, raw: bytes) -> None:
        """From an answer."""
        self._put(raw, doubted_from=self._clock.now())

    def doubted(self, now: float) -> list[tuple[str, str]]:
        return [
            key
            for key, known in self.known.items()
            if known.doubted_from is not None and now - known.doubted_from >= DOUBT
        ]

    def lost(self, key: tuple[str, str]) -> None:
        """The watch never told of it, and it is not there any more."""
        known = self.known.get(key)
        if known is not None and known.doubted_from is not None:
            self._bury(known.uid)
            self._forget(key, known.uid, known.raw)

    def end(self, error: BaseException) -> None:
        for subscription in list(self.subscriptions):
            subscription.end(error)

    def _put(self, raw: bytes, doubted_from: float | None) -> None:
        meta = _head(raw).metadata
        key, revision = (meta.namespace, meta.name), _revision(meta.resource_version)
        if meta.uid in self._graves:
            return
        known = self.known.get(key)
        if known is not None and known.uid != meta.uid:
            if revision < known.revision:
                return
            self._bury(known.uid)
            self._forget(key, known.uid, known.raw)
            known = None
        if known is not None and doubted_from is None:
            known.doubted_from = None
        if known is not None and revision <= known.revision:
            return
        if known is not None:  # what the watch told of once, it will tell the end of
            doubted_from = known.doubted_from
        self.known[key] = _CachedObject(meta.uid, revision, raw, doubted_from)
        self._tell(Change(ChangeType.ADDED if known is None else ChangeType.MODIFIED, raw))

    def _forget(self, key: tuple[str, str], uid: str, raw: bytes) -> None:
        known = self.known.get(key)
        if known is not None and known.uid == uid:
            del self.known[key]
            self._tell(Change(ChangeType.DELETED, raw))

    def _bury(self, uid: str) -> None:
        self._graves[uid] = None
        if len(self._graves) > MOST_GRAVES:
            del self._graves[next(iter(self._graves))]

    def _tell(self, change: Change) -> None:
        for subscription in list(self.subscriptions):
            subscription.tell(change)


class SharedCluster:
    """A Cluster for any number of loops. Use it with `async with`, and have `check_doubts` run beside them."""

    def __init__(self, cluster: Cluster, clock: Clock) -> None:
        self._cluster = cluster
        self._clock = clock
        self._streams: dict[Resource, _Informer] = {}  # each version by itself: one may be served and the other not
        self._tasks: dict[Resource, asyncio.Task[None]] = {}

    async def __aenter__(self) -> "SharedCluster":
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def subscribe(self, resource: Resource, listener: Listener) -> Subscription:
        stream = self._streams.get(resource)
        if stream is None:
            stream = self._streams[resource] = _Informer(resource, self._clock)
            self._tasks[resource] = asyncio.create_task(self._listen(stream), name=f"watch {resource.key}")
        return stream.subscribe(listener)

    async def _listen(self, stream: _Informer) -> None:
        resource = stream.resource
        try:
            async with closing(self._cluster.follow(resource)) as changes:
                async for change in changes:
                    stream.hear(change)
            stream.end(Unreachable(f"the watch of {resource.key} ended"))
        except Exception as error:
            stream.end(error)
        finally:
            self._streams.pop(resource, None)
            self._tasks.pop(resource, None)

    async def check_doubts(self) -> None:
        """What an answer told of and the watch never did may have come and gone in between two watches."""
        while True:
            await self._clock.sleep(DOUBT)
            for stream in list(self._streams.values()):
                for key in stream.doubted(self._clock.now()):
                    await self._look_up(stream, key)

    async def _look_up(self, stream: _Informer, key: tuple[str, str]) -> None:
        namespace, name = key
        try:
            await self.get(Ref(stream.resource, namespace, name))
        except Refused as error:
            if error.code == 404:
                stream.lost(key)
        except Unreachable:
            pass  # asked again at the next round

    def age(self) -> float:
        return self._cluster.age()

    def follow(
        self, resource: Resource, *, namespace: str = "", labels: str = "", fields: str = "", decoded: bool = False
    ) -> AsyncIterator[Change]:
        """What is shared is told as text: each listener makes something else of it."""
        del decoded
        if resource.key in UNSHARED or labels or fields:
            return self._cluster.follow(resource, namespace=namespace, labels=labels, fields=fields)
        return self._followed(resource, namespace)

    async def _followed(self, resource: Resource, namespace: str) -> AsyncIterator[Change]:
        waiting: deque[Change] = deque()
        news = asyncio.Event()

        def listen(change: Change) -> None:
            if not namespace or not change.raw or _head(change.raw).metadata.namespace == namespace:
                waiting.append(change)
                news.set()

        subscription = self.subscribe(resource, listen)
        subscription.ended.add_done_callback(lambda _: news.set())
        try:
            while True:
                while waiting:
                    yield waiting.popleft()
                if subscription.ended.done():
                    subscription.ended.result()
                news.clear()
                await news.wait()
        finally:
            subscription.cancel()

    async def get(self, ref: Ref) -> bytes:
        answer = await self._cluster.get(ref)
        self._learn(ref, "", answer)
        return answer

    async def create(self, ref: Ref, body: Mapping[str, Any], sub: str = "") -> bytes:
        answer = await self._cluster.create(ref, body, sub)
        self._learn(ref, sub, answer)
        return answer

    async def patch(self, ref: Ref, patch: Any, *, sub: str = "", form: PatchForm = PatchForm.STRATEGIC) -> bytes:
        answer = await self._cluster.patch(ref, patch, sub=sub, form=form)
        self._learn(ref, sub, answer)
        return answer

    async def delete(self, ref: Ref, *, grace: int | None = None, uid: str = "", propagation: str = "") -> None:
        await self._cluster.delete(ref, grace=grace, uid=uid, propagation=propagation)

    async def bind(self, namespace: str, seatings: Sequence[Seating]) -> None:
        await self._cluster.bind(namespace, seatings)

    async def release(self, namespace: str, departures: Sequence[Departure]) -> None:
        await self._cluster.release(namespace, departures)

    def _learn(self, ref: Ref, sub: str, answer: bytes) -> None:
        stream = self._streams.get(ref.resource)
        if stream is not None and sub in _ANSWERED and _head(answer).kind == ref.resource.kind:
            stream.learn(answer)


@contextlib.asynccontextmanager
async def closing(changes: AsyncIterator[Change]) -> AsyncIterator[AsyncIterator[Change]]:
    """Followers are generators, which want to be closed before their loop is."""
    try:
        yield changes
    finally:
        close = getattr(changes, "aclose", None)
        if close is not None:
            await close()


def _revision(text: str) -> int:
    return int(text) if text.isdecimal() else 0
