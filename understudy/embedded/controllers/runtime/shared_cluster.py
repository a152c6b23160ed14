"""A cluster for any number of loops in one process: one watch a resource, and every write visible to all at once."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from understudy.embedded.controllers.runtime.informer import VERIFY_AFTER, Informer, Key, Listener, Subscription
from understudy.embedded.controllers.runtime.object_version import ObjectChange, ObjectVersion
from understudy.objects.resources import EVENTS, Resource
from understudy.ports import (
    Change,
    ChangeType,
    Clock,
    Cluster,
    PatchForm,
    PodBinding,
    PodEviction,
    Ref,
    Refused,
    Unreachable,
)

UNSHARED = frozenset({EVENTS.key})  # too many of them to keep
_ANSWERED = ("", "status")  # sub-resources that answer with the object itself


class SharedCluster:
    """Implements Cluster. Use it with `async with`, and have `verify_unconfirmed` run beside the loops."""

    def __init__(self, cluster: Cluster, clock: Clock) -> None:
        self._cluster = cluster
        self._clock = clock
        self._informers: dict[Resource, Informer] = {}  # each version by itself: one may be served and the other not
        self._tasks: dict[Resource, asyncio.Task[None]] = {}

    async def __aenter__(self) -> "SharedCluster":
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def subscribe(self, resource: Resource, listener: Listener) -> Subscription:
        informer = self._informers.get(resource)
        if informer is None:
            informer = self._informers[resource] = Informer(resource, self._clock)
            self._tasks[resource] = asyncio.create_task(self._watch(informer), name=f"watch {resource.key}")
        return informer.subscribe(listener)

    async def _watch(self, informer: Informer) -> None:
        resource = informer.resource
        try:
            async with closing(self._cluster.follow(resource)) as changes:
                async for change in changes:
                    informer.on_watch(change)
            informer.end(Unreachable(f"the watch of {resource.key} ended"))
        except Exception as error:
            informer.end(error)
        finally:
            self._informers.pop(resource, None)
            self._tasks.pop(resource, None)

    async def verify_unconfirmed(self) -> None:
        """Runs for ever. An object that an answer told of may have been deleted between two watches."""
        while True:
            await self._clock.sleep(VERIFY_AFTER)
            for informer in list(self._informers.values()):
                for key in informer.unconfirmed(self._clock.now()):
                    await self._verify(informer, key)

    async def _verify(self, informer: Informer, key: Key) -> None:
        namespace, name = key
        try:
            await self.get(Ref(informer.resource, namespace, name))
        except Refused as error:
            if error.code == HTTPStatus.NOT_FOUND:
                informer.on_absent(key)
        except Unreachable:
            pass  # asked again in the next round

    def age(self) -> float:
        return self._cluster.age()

    def follow(
        self, resource: Resource, *, namespace: str = "", labels: str = "", fields: str = "", decoded: bool = False
    ) -> AsyncIterator[Change]:
        """Objects come with their text and, where `decoded` is asked for and possible, as objects."""
        if resource.key in UNSHARED or labels or fields:
            return self._cluster.follow(resource, namespace=namespace, labels=labels, fields=fields)
        return self._follow_shared(resource, namespace, decoded)

    async def _follow_shared(self, resource: Resource, namespace: str, decoded: bool) -> AsyncIterator[Change]:
        waiting: deque[ObjectChange] = deque()
        wake = asyncio.Event()

        def listen(change: ObjectChange) -> None:
            if not namespace or change.version is None or change.version.head.namespace == namespace:
                waiting.append(change)
                wake.set()

        subscription = self.subscribe(resource, listen)
        subscription.ended.add_done_callback(lambda _: wake.set())
        try:
            while True:
                while waiting:
                    yield _as_change(waiting.popleft(), decoded)
                if subscription.ended.done():
                    subscription.ended.result()
                wake.clear()
                await wake.wait()
        finally:
            subscription.cancel()

    async def get(self, ref: Ref) -> bytes:
        answer = await self._cluster.get(ref)
        self._on_answer(ref, "", answer)
        return answer

    async def create(self, ref: Ref, body: Mapping[str, Any], sub: str = "") -> bytes:
        answer = await self._cluster.create(ref, body, sub)
        self._on_answer(ref, sub, answer)
        return answer

    async def patch(self, ref: Ref, patch: Any, *, sub: str = "", form: PatchForm = PatchForm.STRATEGIC) -> bytes:
        answer = await self._cluster.patch(ref, patch, sub=sub, form=form)
        self._on_answer(ref, sub, answer)
        return answer

    async def delete(self, ref: Ref, *, grace: int | None = None, uid: str = "", propagation: str = "") -> None:
        await self._cluster.delete(ref, grace=grace, uid=uid, propagation=propagation)

    async def bind(self, namespace: str, bindings: Sequence[PodBinding]) -> None:
        await self._cluster.bind(namespace, bindings)

    async def release(self, namespace: str, releases: Sequence[PodEviction]) -> None:
        await self._cluster.release(namespace, releases)

    def _on_answer(self, ref: Ref, sub: str, answer: bytes) -> None:
        informer = self._informers.get(ref.resource)
        if informer is None or sub not in _ANSWERED:
            return
        version = ObjectVersion(answer)
        if version.kind == ref.resource.kind:
            informer.on_answer(version)


async def list_objects(cluster: Cluster, resource: Resource, namespace: str = "") -> list[bytes]:
    """All objects of a resource that exist now."""
    found: list[bytes] = []
    async with closing(cluster.follow(resource, namespace=namespace)) as changes:
        async for change in changes:
            if change.type is ChangeType.SYNCED:
                break
            found.append(change.raw)
    return found


@contextlib.asynccontextmanager
async def closing(changes: AsyncIterator[Change]) -> AsyncIterator[AsyncIterator[Change]]:
    """`follow` returns a generator, which must be closed before its event loop is."""
    try:
        yield changes
    finally:
        close = getattr(changes, "aclose", None)
        if close is not None:
            await close()


def _as_change(change: ObjectChange, decoded: bool) -> Change:
    version = change.version
    if version is None:
        return Change(change.type)
    return Change(change.type, version.raw, version.kube_object_or_none() if decoded else None)
