"""A fence in front of a cluster: reads pass, a write only while it is allowed.

Whoever is stopped here is told that the cluster is unreachable: to him it is, and every loop knows how to live with it.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from understudy.client.pool import NobodyHome
from understudy.kube.passing import Passing
from understudy.ports import Cluster, Departure, PatchForm, Ref, Seating


class NotAllowed(NobodyHome):
    """The write did not go out, and is not tried again by itself."""


class Permit:
    """Whether anything may be written now: `check` raises NotAllowed where it may not.

    It is asked in front of every write, and once more by the client right before each request goes out: what was true
    before the first request of a write may not be before the last.
    """

    def __init__(self, leads: Callable[[], bool], age: Callable[[], float], longest: float | None) -> None:
        """`longest` is the age in seconds up to which a view is fit to be acted upon; None: any is."""
        self._leads = leads
        self._age = age
        self._longest = longest
        self._closed = False

    def close(self) -> None:
        self._closed = True

    def check(self) -> None:
        if self._closed:
            raise NotAllowed("not written: this process is about to end")
        if not self._leads():
            raise NotAllowed("not written: another one leads, or may")
        if self._longest is not None and (age := self._age()) > self._longest:
            raise NotAllowed(f"not written: the view is {age:.0f} s old")


class Fenced(Passing):
    def __init__(self, cluster: Cluster, permit: Permit) -> None:
        super().__init__(cluster)
        self._permit = permit
        self._under_way = 0
        self._settled = asyncio.Event()
        self._settled.set()

    def close(self) -> None:
        """Nothing is written any more."""
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

    async def bind(self, namespace: str, seatings: Sequence[Seating]) -> None:
        with self._write():
            await super().bind(namespace, seatings)

    async def release(self, namespace: str, departures: Sequence[Departure]) -> None:
        with self._write():
            await super().release(namespace, departures)
