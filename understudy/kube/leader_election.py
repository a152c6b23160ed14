"""Leader election: a Lease of the cluster, taken and renewed by compare-and-swap.

The cluster says who holds the Lease. Its age is measured on the local clock, from the moment the local process saw it
change, so clocks that differ do no harm. A leader counts its time from before its request, the others from after they
saw the result: the leader stops `lease_duration - renew_deadline` seconds before another replica can take over.
"""

import asyncio
import logging
import math
import random
import time
from collections.abc import Awaitable, Callable, Coroutine
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

import msgspec

from understudy.kube.settings import LEASE_NAME
from understudy.objects.resources import LEASES
from understudy.ports import Clock, Cluster, PatchForm, Ref, Refused, Unreachable


def steady_seconds() -> float:
    """Seconds on a clock that is never set. It includes a machine's sleep if the system reports it: other replicas were
    awake."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.clock_gettime(boot) if boot is not None else time.monotonic()


JITTER = 0.2  # share by which waits are randomly longer, so that candidates do not ask in step
_log = logging.getLogger(__name__)


class LeaseTimes(msgspec.Struct, frozen=True):
    """Seconds."""

    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0


class Candidate(msgspec.Struct, frozen=True):
    identity: str
    namespace: str = "default"
    name: str = LEASE_NAME
    terms: LeaseTimes = LeaseTimes()

    @property
    def ref(self) -> Ref:
        return Ref(LEASES, self.namespace, self.name)


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""


class _Lease(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()
    spec: _Spec = _Spec()


class LeaderElection:
    """Call `win`, then `keep` until it returns, and `give_back` at the end."""

    def __init__(
        self,
        cluster: Cluster,
        clock: Clock,
        candidate: Candidate,
        steady: Callable[[], float] = steady_seconds,
        chance: random.Random | None = None,
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._candidate = candidate
        self._ticks = steady
        self._chance = chance or random.Random()
        self._lease: _Lease | None = None  # as last seen
        self._changed = float("-inf")  # when this process saw it change
        self._until = float("-inf")  # this process leads until then, unless it renews the lease
        self.transitions = 0  # how often the lease has changed hands, as last seen

    @property
    def leads(self) -> bool:
        return self._ticks() < self._until

    @property
    def leader(self) -> str:
        """The holder of the lease, as last seen; '' if it is free."""
        return (self._lease.spec.holder_identity or "") if self._lease else ""

    async def win(self) -> None:
        """Returns once this process leads."""
        said = ""
        while not await self._tried(self._take):
            if self.leader not in (said, self._candidate.identity):
                said = self.leader
                _log.info("standing by: %s leads", said)
            await self._wait()
        _log.info("leading as %s", self._candidate.identity)

    async def keep(self) -> str:
        """Returns when this process no longer leads, with the reason."""
        while True:
            await self._wait()
            await self._in_time(self._tried(self._take))
            if self.leader != self._candidate.identity:
                self._until = float("-inf")
                return f"the lease was taken by {self.leader}" if self.leader else "the lease was taken away"
            if not self.leads:
                return f"the lease could not be renewed for {self._candidate.terms.renew_deadline:g} s"

    async def give_back(self) -> None:
        """Releases the lease, so that another replica can lead at once. The caller must not write any more."""
        held, self._until = self.leads, float("-inf")
        if not held or self._lease is None or self.leader != self._candidate.identity:
            return
        spec = {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": self._now()}
        try:
            await self._write(self._lease, spec)
            _log.info("the lease is given back")
        except (Refused, Unreachable) as error:
            _log.warning("the lease is not given back; it runs out by itself: %s", error)

    # One attempt

    async def _tried(self, attempt: Callable[[], Awaitable[bool]]) -> bool:
        try:
            return await attempt()
        except Refused as error:
            another_was_quicker = error.code in (HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND)
            if another_was_quicker and attempt != self._look:
                await self._tried(self._look)
            else:
                _log.warning("lease %s: %s", self._candidate.name, error)
        except Unreachable as error:
            _log.warning("lease %s: %s", self._candidate.name, error)
        return False

    async def _take(self) -> bool:
        """Takes or renews the lease; returns whether it is held now. The time of holding counts from before the first
        request.

        A leader writes without reading first: a conflict tells it that the lease has changed.
        """
        began, ours = self._ticks(), self._candidate.identity
        if self._lease is None or not self.leads:
            await self._look()
        if self._lease is None:
            self._saw(await self._cluster.create(self._place, self._document()))
        elif self.leader == ours:
            self._saw(await self._write(self._lease, {"renewTime": self._now(), **self._length}))
        elif self._is_free(self._lease):
            self._saw(await self._write(self._lease, self._ours(self._lease)))
        else:
            return False
        self._until = began + self._candidate.terms.renew_deadline
        return self.leads

    async def _look(self) -> bool:
        try:
            self._saw(await self._cluster.get(self._candidate.ref))
        except Refused as error:
            if error.code != HTTPStatus.NOT_FOUND:
                raise
            self._lease = None
        return True

    def _saw(self, raw: bytes) -> None:
        lease = msgspec.json.decode(raw, type=_Lease)
        if self._lease is None or lease.metadata.resource_version != self._lease.metadata.resource_version:
            self._changed = self._ticks()
        self._lease = lease
        self.transitions = lease.spec.lease_transitions or 0

    def _is_free(self, lease: _Lease) -> bool:
        """The duration in the lease counts, not the local setting: the holder may be configured differently."""
        length = lease.spec.lease_duration_seconds or self._candidate.terms.lease_duration
        return not lease.spec.holder_identity or self._ticks() >= self._changed + length

    async def _write(self, seen: _Lease, spec: dict[str, Any]) -> bytes:
        """Fails with a conflict if the lease has changed since it was seen."""
        patch = {"metadata": {"resourceVersion": seen.metadata.resource_version}, "spec": spec}
        return await self._cluster.patch(self._candidate.ref, patch, form=PatchForm.MERGE)

    # What is written

    @property
    def _place(self) -> Ref:
        return Ref(LEASES, self._candidate.namespace)

    @property
    def _length(self) -> dict[str, int]:
        return {"leaseDurationSeconds": math.ceil(self._candidate.terms.lease_duration)}

    def _ours(self, before: _Lease) -> dict[str, Any]:
        now = self._now()
        return {
            "holderIdentity": self._candidate.identity,
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": (before.spec.lease_transitions or 0) + 1,
            **self._length,
        }

    def _document(self) -> dict[str, Any]:
        metadata = {"name": self._candidate.name, "namespace": self._candidate.namespace}
        spec = {**self._ours(_Lease()), "leaseTransitions": 0}
        return {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": metadata, "spec": spec}

    def _now(self) -> str:
        """For readers of the Lease only: the election does not use it."""
        return datetime.fromtimestamp(self._clock.now(), UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    async def _in_time(self, attempt: Coroutine[Any, Any, bool]) -> None:
        """Gives up an attempt that hangs when the time to lead is over."""
        tasks = [asyncio.ensure_future(attempt), asyncio.ensure_future(self._clock.sleep(self._until - self._ticks()))]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _wait(self) -> None:
        """A leader wakes up at the latest when its time to lead ends."""
        pause = self._candidate.terms.retry_period * (1.0 + self._chance.uniform(0.0, JITTER))
        left = self._until - self._ticks()
        await self._clock.sleep(min(pause, left) if left > 0 else pause)
