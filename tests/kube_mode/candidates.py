"""Candidates for one lease in a fake cluster, each with a line of its own to cut, and a clock that a test moves."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Sequence
from typing import Any

from tests.control.fake_cluster import Document, FakeCluster
from tests.control.virtual_clock import VirtualClock
from understudy.kube.fenced_client import ClientWrapper
from understudy.kube.leader_election import Candidate, LeaderElection
from understudy.objects.resources import LEASES
from understudy.ports import Clock, PatchForm, PodBinding, Ref, Unreachable

DURATION, DEADLINE, RETRY = 15.0, 10.0, 2.0
TIMEOUT = 8.0
LATEST = RETRY * 1.2  # a candidate looks at the lease at least so often


class Line(ClientWrapper):
    """Between one candidate and the cluster."""

    def __init__(self, cluster: FakeCluster) -> None:
        super().__init__(cluster)
        self._clock = cluster.clock
        self.hangs = False  # requests are not answered
        self.fails: Exception | None = None  # they come back with this
        self.loses_answers = False  # writes are carried out, and their answers are lost

    async def get(self, ref: Ref) -> bytes:
        await self._pass()
        return await super().get(ref)

    async def create(self, ref: Ref, body: Any, sub: str = "") -> bytes:
        await self._pass()
        return await super().create(ref, body, sub)

    async def patch(self, ref: Ref, patch: Any, *, sub: str = "", form: PatchForm = PatchForm.STRATEGIC) -> bytes:
        await self._pass()
        found = await super().patch(ref, patch, sub=sub, form=form)
        if self.loses_answers:
            raise Unreachable("the connection was lost")
        return found

    async def delete(self, ref: Ref, *, grace: int | None = None, uid: str = "", propagation: str = "") -> None:
        await self._pass()
        await super().delete(ref, grace=grace, uid=uid, propagation=propagation)

    async def bind(self, namespace: str, bindings: Sequence[PodBinding]) -> None:
        await self._pass()
        await super().bind(namespace, bindings)

    async def _pass(self) -> None:
        if self.hangs:
            await self._clock.sleep(TIMEOUT)
            raise Unreachable("no answer")
        if self.fails is not None:
            raise self.fails


class Skewed:
    """A clock that is set wrong."""

    def __init__(self, clock: VirtualClock, by: float) -> None:
        self._clock = clock
        self._by = by

    def now(self) -> float:
        return self._clock.now() + self._by

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)


class Runner:
    """One process: it is a candidate for ever, until it is killed."""

    def __init__(self, line: Line, clock: Clock, ticks: VirtualClock, identity: str) -> None:
        self.line = line
        candidate = Candidate(identity, "kube-system")
        self.election = LeaderElection(line, clock, candidate, ticks.now, random.Random(identity))
        self.lost: list[str] = []
        self._task = asyncio.create_task(self._run())

    @property
    def leads(self) -> bool:
        return self.election.leads

    async def _run(self) -> None:
        while True:
            await self.election.win()
            self.lost.append(await self.election.keep())

    async def kill(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


class Election:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.cluster = FakeCluster(self.clock)
        self.runners: list[Runner] = []

    def add_candidate(self, identity: str, skew: float = 0.0) -> Runner:
        runner = Runner(Line(self.cluster), Skewed(self.clock, skew), self.clock, identity)
        self.runners.append(runner)
        return runner

    @property
    def lease(self) -> Document:
        return self.cluster.find(LEASES, "understudy", "kube-system")

    async def seconds_until(self, runner: Runner, leads: bool = True, longest: float = 60.0) -> float:
        """How long it takes until this one leads, or does no longer; at no moment two may."""
        began = self.clock.now()
        while runner.leads is not leads:
            await self.clock.let_pass(0.1)
            assert sum(each.leads for each in self.runners) <= 1
            assert self.clock.now() - began < longest, "it takes too long"
        return self.clock.now() - began


@contextlib.asynccontextmanager
async def election() -> AsyncIterator[Election]:
    world = Election()
    try:
        yield world
    finally:
        for runner in world.runners:
            await runner.kill()
