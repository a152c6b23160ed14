"""What runs beside the main loop goes on while that computes, and what is lost meanwhile is lost at once."""

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from tests.control.fake_cluster import FakeCluster
from tests.control.virtual_clock import VirtualClock
from tests.objects.documents import pod
from understudy.control.clock import SystemClock
from understudy.kube.event_loop_thread import EventLoopThread, ThreadedElection
from understudy.kube.fenced_client import FencedClient, WriteNotAllowed, WritePermit
from understudy.kube.leader_election import Candidate, LeaderElection, LeaseTimes
from understudy.objects.resources import LEASES, PODS
from understudy.ports import Ref

TERMS = LeaseTimes(lease_duration=4.0, renew_deadline=2.0, retry_period=0.05)
LONGEST = 30.0  # seconds; a busy machine may be slow


class World:
    def __init__(self, aside: EventLoopThread) -> None:
        self.cluster = FakeCluster(VirtualClock())
        self.election = LeaderElection(self.cluster, SystemClock(), Candidate("a", "kube-system", terms=TERMS))
        self.leadership = ThreadedElection(self.election, aside)

    @property
    def holder(self) -> str:
        return str(self.cluster.find(LEASES, "understudy", "kube-system")["spec"]["holderIdentity"])


def tell(scenario: Callable[[World], Awaitable[None]]) -> None:
    async def told() -> None:
        async with EventLoopThread() as aside:
            await scenario(World(aside))

    asyncio.run(told())


def compute(done: Callable[[], bool]) -> None:
    """Holds the main loop up, as a long plan does."""
    began = time.monotonic()
    while not done():
        assert time.monotonic() - began < LONGEST
        sum(range(1000))


def test_the_lease_is_renewed_while_the_main_loop_computes() -> None:
    async def scenario(world: World) -> None:
        await world.leadership.win()
        keeping = asyncio.create_task(world.leadership.keep())
        await asyncio.sleep(0)
        end = time.monotonic() + 2 * TERMS.renew_deadline
        compute(lambda: time.monotonic() >= end)
        assert world.leadership.leads
        assert not keeping.done()
        keeping.cancel()

    tell(scenario)


def test_who_loses_the_lease_during_a_plan_writes_nothing_after_it() -> None:
    async def scenario(world: World) -> None:
        fence = FencedClient(world.cluster, WritePermit(lambda: world.leadership.leads, lambda: 0.0, None))
        await world.leadership.win()
        keeping = asyncio.create_task(world.leadership.keep())
        await asyncio.sleep(0)
        lease = world.cluster.find(LEASES, "understudy", "kube-system")
        lease["spec"]["holderIdentity"] = "b"
        world.cluster.change(lease)
        compute(lambda: not world.leadership.leads)
        with pytest.raises(WriteNotAllowed):
            await fence.create(Ref(PODS, "default"), pod("x"))
        assert await keeping == "the lease was taken by b"

    tell(scenario)


def test_who_ends_while_it_renews_gives_the_lease_back_after_that() -> None:
    async def scenario(world: World) -> None:
        for _ in range(20):
            await world.leadership.win()
            keeping = asyncio.create_task(world.leadership.keep())
            await asyncio.sleep(TERMS.retry_period)
            keeping.cancel()
            await world.leadership.give_back()
            assert world.holder == ""
            assert not world.leadership.leads

    tell(scenario)


def test_a_context_is_entered_and_left_in_the_thread() -> None:
    where = []

    @contextlib.asynccontextmanager
    async def context() -> AsyncIterator[str]:
        where.append(threading.current_thread().name)
        yield "found"
        where.append(threading.current_thread().name)

    async def scenario() -> None:
        async with EventLoopThread("apart") as aside, aside.entered(context()) as found:
            assert found == "found"

    asyncio.run(scenario())
    assert where == ["apart", "apart"]
    assert "apart" not in {thread.name for thread in threading.enumerate()}


def test_what_fails_there_fails_here() -> None:
    async def fails() -> None:
        raise ValueError("there")

    async def scenario() -> None:
        async with EventLoopThread() as aside:
            with pytest.raises(ValueError, match="there"):
                await aside.run(fails())

    asyncio.run(scenario())
