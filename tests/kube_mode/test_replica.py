"""Replicas as a cluster meets them: one writes, the others watch, and what one left undone another goes on with."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from tests.control.fake_cluster import Document, FakeCluster
from tests.control.fake_controllers import FakeControllers
from tests.control.virtual_clock import VirtualClock
from tests.kube_mode.candidates import DEADLINE, DURATION, LATEST, Line
from tests.objects.documents import node, pod, priority_class
from tests.scenarios.test_random_walks import torch
from understudy.control.loop import Cycle, LoopSettings
from understudy.kinds.annotations import PREFIX, format_time
from understudy.kube.fenced_client import ClientWrapper, FencedClient, WriteNotAllowed, WritePermit
from understudy.kube.leader_election import Candidate, LeaderElection
from understudy.kube.replica import Replica, SoleLeadership
from understudy.objects.resources import EVENTS, INCIDENTS, LEASES, NODES, PODS
from understudy.ports import PodBinding, Ref, Unreachable

READY = {"type": "Ready", "status": "True"}
AMOUNTS = {"cpu": "64", "pods": "110", "nvidia.com/gpu": "8"}
LEASE_WRITES = ("create leases", "patch leases")


class Aging(ClientWrapper):
    """A cluster whose news may be old."""

    old = 0.0

    def age(self) -> float:
        return self.old


class Process:
    """One replica with lines of its own: one for the lease, one for everything else."""

    def __init__(self, world: "World", identity: str) -> None:
        self.lease_line, self.line = Line(world.cluster), Line(world.cluster)
        self.election = LeaderElection(
            self.lease_line, world.clock, Candidate(identity, "kube-system"), world.clock.now, random.Random(identity)
        )
        self.view = Aging(self.line)
        settings = LoopSettings(max_view_age=30.0, one_clock=False)
        self.fence = FencedClient(
            self.view, WritePermit(lambda: self.election.leads, self.view.age, settings.max_view_age)
        )
        self.cycles: list[Cycle] = []
        self.replica = Replica(self.fence, world.clock, self.election, settings, self.cycles.append)
        self.task = asyncio.create_task(self.replica.run())

    async def kill(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


class World:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.cluster = FakeCluster(self.clock)
        self.hands = FakeControllers(self.cluster)
        self.processes: list[Process] = []

    def starts(self, identity: str) -> Process:
        process = Process(self, identity)
        self.processes.append(process)
        return process

    async def live(self, seconds: float) -> None:
        """Time passes; controllers and kubelets do what they have to."""
        for _ in range(round(seconds * 4)):
            await self.clock.let_pass(0.25)
            self.hands.act()
        for process in self.processes:
            if process.task.done() and not process.task.cancelled():
                process.task.result()

    @property
    def writes(self) -> list[str]:
        """Those of the loops."""
        return [write for write in self.cluster.writes if not write.startswith(LEASE_WRITES)]

    def seats(self) -> dict[str, str]:
        return {p["metadata"]["name"]: p["spec"].get("nodeName", "") for p in self.cluster.all(PODS)}


@contextlib.asynccontextmanager
async def world_of(*nodes: str) -> AsyncIterator[World]:
    world = World()
    for name, value in (("low", 1), ("high", 3)):
        world.cluster.put(priority_class(name, value))
    for name in nodes:
        spare = {"labels": {f"{PREFIX}spare": "keep"}} if name.startswith("spare") else {}
        world.cluster.put(node(name, spare, allocatable=AMOUNTS, conditions=[READY]))
    try:
        yield world
    finally:
        for process in world.processes:
            await process.kill()


def tell(scenario: Callable[[World], Awaitable[None]], *nodes: str) -> None:
    async def told() -> None:
        async with world_of(*nodes) as world:
            await scenario(world)

    asyncio.run(told())


def lose(world: World, name: str) -> None:
    document: Document = world.cluster.find(NODES, name)
    when = format_time(world.clock.now())
    document["status"]["conditions"] = [{"type": "Ready", "status": "Unknown", "lastTransitionTime": when}]
    world.cluster.change(document)


def test_a_standby_sees_everything_and_writes_nothing() -> None:
    async def scenario(world: World) -> None:
        a = world.starts("a")
        await world.live(1.0)
        b = world.starts("b")
        world.cluster.put(torch("hero", 2, "high"))
        await world.live(5.0)
        assert b.replica.status.synced
        assert not b.replica.status.leads
        assert b.cycles == []
        before = world.writes
        await a.kill()
        lose(world, world.seats()["hero-worker-0"])
        world.cluster.put(pod("late"))
        await world.live(DEADLINE)
        assert world.writes == before

    tell(scenario, "a", "b", "spare")


def test_the_first_plan_is_made_in_the_moment_it_leads() -> None:
    async def scenario(world: World) -> None:
        a = world.starts("a")
        await world.live(1.0)
        b = world.starts("b")
        await world.live(3.0)
        await a.kill()
        world.cluster.put(pod("late"))
        while not b.election.leads:
            await world.clock.let_pass(0.05)
        await world.clock.let_pass(0.0)
        assert world.seats() == {"late": "n"}

    tell(scenario, "n")


def test_a_swap_that_the_leader_did_not_live_to_finish_is_finished_by_the_other() -> None:
    async def scenario(world: World) -> None:
        a = world.starts("a")
        world.cluster.put(torch("hero", 2, "high"))
        await world.live(5.0)
        world.starts("b")
        await world.live(5.0)
        lose(world, world.seats()["hero-worker-0"])
        while not any(incident for incident in world.cluster.all(INCIDENTS)):
            await world.clock.let_pass(0.05)
            world.hands.act()
        await a.kill()
        (opened,) = world.cluster.all(INCIDENTS)
        name = opened["metadata"]["name"]
        await world.live(DURATION + 3 * LATEST)
        (closed,) = world.cluster.all(INCIDENTS)
        assert closed["metadata"]["name"] == name
        assert closed["status"]["outcome"] == "swapped"
        assert "spare" in world.seats().values()
        lost = [e for e in world.cluster.all(EVENTS) if e["reason"] == "NodeLost"]
        assert len(lost) == 1

    tell(scenario, "a", "b", "spare")


def test_what_the_leader_closed_is_not_opened_again_by_the_next() -> None:
    async def scenario(world: World) -> None:
        a = world.starts("a")
        world.cluster.put(torch("hero", 2, "high"))
        await world.live(5.0)
        world.starts("b")
        await world.live(3.0)
        lose(world, world.seats()["hero-worker-0"])
        await world.live(5.0)
        (closed,) = world.cluster.all(INCIDENTS)
        assert closed["status"]["outcome"] == "swapped"
        await a.kill()
        before = len([w for w in world.writes if "incidents" in w])
        await world.live(DURATION + 3 * LATEST)
        assert world.processes[1].election.leads
        assert [w for w in world.writes if "incidents" in w][before:] == []
        assert world.cluster.all(INCIDENTS) == [closed]

    tell(scenario, "a", "b", "spare")


@pytest.mark.parametrize("fault", ["hangs", "fails"])
def test_a_leader_that_lost_touch_with_its_lease_writes_nothing_after_its_deadline(fault: str) -> None:
    async def scenario(world: World) -> None:
        a = world.starts("a")
        await world.live(1.0)
        b = world.starts("b")
        await world.live(3.0)
        if fault == "hangs":
            a.lease_line.hangs = True
        else:
            a.lease_line.fails = Unreachable("no route")
        await world.live(DEADLINE)
        assert not a.election.leads
        before = world.writes
        world.cluster.put(pod("late"))
        while not b.election.leads:
            assert world.writes == before
            await world.clock.let_pass(0.1)
        await world.live(1.0)
        assert world.seats() == {"late": "n"}
        assert not a.replica.status.leads  # the loop of its next term

    tell(scenario, "n")


def test_a_cluster_that_fails_for_minutes_is_served_again_when_it_recovers() -> None:
    async def scenario(world: World) -> None:
        a, b = world.starts("a"), world.starts("b")
        await world.live(3.0)
        lines = [line for each in (a, b) for line in (each.line, each.lease_line)]
        for line in lines:
            line.fails = Unreachable("the server answered 500")
        world.cluster.put(pod("late"))
        await world.live(240.0)
        assert world.seats() == {"late": ""}
        for line in lines:
            line.fails = None
        await world.live(2 * LATEST)
        assert world.seats() == {"late": "n"}

    tell(scenario, "n")


def test_on_an_old_view_nothing_is_decided_or_written() -> None:
    async def scenario(world: World) -> None:
        a = world.starts("a")
        await world.live(3.0)
        a.view.old = 31.0
        before, cycles = world.writes, len(a.cycles)
        world.cluster.put(pod("late"))
        await world.live(60.0)
        assert world.writes == before
        assert len(a.cycles) == cycles
        assert a.election.leads
        a.view.old = 29.0
        await world.live(2.0)
        assert world.seats() == {"late": "n"}

    tell(scenario, "n")


def test_a_leader_that_is_stopped_lets_another_lead_at_once() -> None:
    async def scenario(world: World) -> None:
        a = world.starts("a")
        await world.live(1.0)
        b = world.starts("b")
        await world.live(3.0)
        await a.replica.end(a.task)
        assert world.cluster.find(LEASES, "understudy", "kube-system")["spec"]["holderIdentity"] == ""
        await world.live(LATEST + 0.25)
        assert b.election.leads

    tell(scenario, "n")


def test_writes_under_way_are_answered_before_the_lease_is_given_back() -> None:
    async def scenario(world: World) -> None:
        a = world.starts("a")
        await world.live(1.0)
        begun, go_on = asyncio.Event(), asyncio.Event()
        bind = world.cluster.bind

        async def slow(namespace: str, bindings: list[PodBinding]) -> None:
            begun.set()
            await go_on.wait()
            await bind(namespace, bindings)

        world.cluster.bind = slow  # type: ignore[method-assign, assignment]
        world.cluster.put(pod("late"))
        while not begun.is_set():
            await world.clock.let_pass(0.01)
        ending = asyncio.create_task(a.replica.end(a.task))
        await world.clock.let_pass(0.1)
        assert world.cluster.find(LEASES, "understudy", "kube-system")["spec"]["holderIdentity"] == "a"
        with pytest.raises(WriteNotAllowed, match="about to end"):
            await a.fence.delete(Ref(PODS, "default", "late"))
        go_on.set()
        await ending
        assert world.seats() == {"late": "n"}
        assert world.cluster.find(LEASES, "understudy", "kube-system")["spec"]["holderIdentity"] == ""

    tell(scenario, "n")


def test_without_an_election_it_leads_from_the_first_moment() -> None:
    async def scenario(world: World) -> None:
        unopposed = SoleLeadership()
        fence = FencedClient(world.cluster, WritePermit(lambda: unopposed.leads, world.cluster.age, None))
        replica = Replica(fence, world.clock, unopposed, LoopSettings())
        running = asyncio.create_task(replica.run())
        world.cluster.put(pod("late"))
        await world.clock.let_pass(0.1)
        assert world.seats() == {"late": "n"}
        await replica.end(running)
        assert not [write for write in world.cluster.writes if write.startswith(LEASE_WRITES)]

    tell(scenario, "n")
