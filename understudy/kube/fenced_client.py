"""A fence in front of a cluster: reads pass, a write passes only while it is permitted.

A write that is stopped here fails as if the cluster were unreachable, which every loop can handle.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any

from understudy.client.pool import NotSent
from understudy.objects.resources import Resource
from understudy.ports import Change, Cluster, PatchForm, PodBinding, PodEviction, Ref


class ClientWrapper:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def follow(
        self, resource: Resource, *, namespace: str = "", labels: str = "", fields: str = "", decoded: bool = False
    ) -> AsyncIterator[Change]:
        return self._cluster.follow(resource, namespace=namespace, labels=labels, fields=fields, decoded=decoded)

    def age(self) -> float:
        return self._cluster.age()

    async def get(self, ref: Ref) -> bytes:
        return await self._cluster.get(ref)

    async def create(self, ref: Ref, body: Mapping[str, Any], sub: str = "") -> bytes:
        return await self._cluster.create(ref, body, sub)

    async def patch(self, ref: Ref, patch: Any, *, sub: str = "", form: PatchForm = PatchForm.STRATEGIC) -> bytes:
        return await self._cluster.patch(ref, patch, sub=sub, form=form)

    async def delete(self, ref: Ref, *, grace: int | None = None, uid: str = "", propagation: str = "") -> None:
        await self._cluster.delete(ref, grace=grace, uid=uid, propagation=propagation)

    async def bind(self, namespace: str, bindings: Sequence[PodBinding]) -> None:
        await self._cluster.bind(namespace, bindings)

    async def release(self, namespace: str, releases: Sequence[PodEviction]) -> None:
        await self._cluster.release(namespace, releases)


class WriteNotAllowed(NotSent):
    """The write was not sent, and the client does not retry it."""


class WritePermit:
    """Whether a write is allowed now: `check` raises WriteNotAllowed if it is not.

    The fence checks it before every write, and the client again before each request: leadership may be lost between the
    first and the last request of one write.
    """

    def __init__(self, leads: Callable[[], bool], age: Callable[[], float], longest: float | None) -> None:
        """`longest` is the greatest age of the view, in seconds, at which writes are allowed; None: any age."""
        self._leads = leads
        self._age = age
        self._longest = longest
        self._closed = False

    def close(self) -> None:
        self._closed = True

    def check(self) -> None:
        if self._closed:
            raise WriteNotAllowed("not written: this process is about to end")
        if not self._leads():
            raise WriteNotAllowed("not written: another one leads, or may")
        if self._longest is not None and (age := self._age()) > self._longest:
            raise WriteNotAllowed(f"not written: the view is {age:.0f} s old")


class FencedClient(ClientWrapper):
    def __init__(self, cluster: Cluster, permit: WritePermit) -> None:
        super().__init__(cluster)
        self._permit = permit
        self._under_way = 0
        self._settled = asyncio.Event()
        self._settled.set()

    def close(self) -> None:
        """Stops all further writes."""
        self._permit.close()

    async def settled(self) -> None:
        """Returns when no write is under way."""
        await self._settled.wait()

    @contextlib.contextmanager
    def _write(self) -> Iterator[None]:
        self._permit.check()
        self._under_way += 1
        self._settled.clear()
        try:
            yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._settled.set()

    async def create(self, ref: Ref, body: Mapping[str, Any], sub: str = "") -> bytes:
        with self._write():
            return await super().create(ref, body, sub)

    async def patch(self, ref: Ref, patch: Any, *, sub: str = "", form: PatchForm = PatchForm.STRATEGIC) -> bytes:
        with self._write():
            return await super().patch(ref, patch, sub=sub, form=form)

    async def delete(self, ref: Ref, *, grace: int | None = None, uid: str = "", propagation: str = "") -> None:
        with self._write():
            await super().delete(ref, grace=grace, uid=uid, propagation=propagation)

    async def bind(self, namespace: str, bindings: Sequence[PodBinding]) -> None:
        with self._write():
            await super().bind(namespace, bindings)

    async def release(self, namespace: str, releases: Sequence[PodEviction]) -> None:
        with self._write():
            await super().release(namespace, releases)
