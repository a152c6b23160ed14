"""The processes under test: the control process of an embedded cluster, and a replica in kube mode.

Each life of a process has its own client. A killed process sends nothing more, and starts again.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Protocol

import msgspec

from understudy.client.config import Config
from understudy.control.apply.record_writer import RecordWriter
from understudy.control.loop import Cycle, LoopSettings, SchedulingLoop
from understudy.control.record.event_recorder import EventRecorder
from understudy.embedded.controllers.child_writer import ChildWriter
from understudy.embedded.controllers.garbage_collector import GarbageCollector
from understudy.embedded.controllers.job_kinds import JobKindController
from understudy.embedded.controllers.node_lifecycle import NodeLifecycleController
from understudy.embedded.controllers.pod_gc import PodGarbageCollector
from understudy.embedded.controllers.runtime.controller import run_controller
from understudy.embedded.controllers.runtime.event_aggregator import EventAggregator
from understudy.embedded.controllers.runtime.object_graph import ObjectGraph
from understudy.embedded.controllers.runtime.shared_cluster import SharedCluster
from understudy.embedded.loop_settings import EMBEDDED_DEFAULTS
from understudy.kinds.job_kind import JobController
from understudy.kinds.registry import CONTROLLERS
from understudy.kube.fenced_client import FencedClient, WritePermit
from understudy.kube.leader_election import Candidate, LeaderElection, LeaseTimes
from understudy.kube.replica import Replica
from understudy.kube.server import ServeOptions
from understudy.ports import Refused, Unreachable
from understudy.simulate.api_server import ApiServer
from understudy.simulate.client import Client, RequestObserver
from understudy.simulate.connection import Connection
from understudy.simulate.context import SimulationContext

TERMS = LeaseTimes(lease_duration=30.0, renew_deadline=20.0, retry_period=5.0)
RESTART = 0.5  # seconds after which a failed part is started again
Begin = Callable[[], Awaitable[None]]


class ProcessClock:
    """The time as one life of a process sees it: its clock may differ, and no sleep ends during a pause."""

    def __init__(self, client: Client, process: "Process") -> None:
        self._connection = client.connection
        self._context = client.context
        self._loop = client.context.loop
        self._process = process

    def now(self) -> float:
        return self._context.now() + self._process.clock_ahead

    async def sleep(self, seconds: float) -> None:
        woken: asyncio.Future[None] = self._loop.create_future()
        timer = self._loop.call_later(max(0.0, seconds), self._wake, woken)
        try:
            await woken
        finally:
            timer.cancel()

    def _wake(self, woken: "asyncio.Future[None]") -> None:
        self._connection.when_awake(lambda: _end_sleep(woken))


def _end_sleep(woken: "asyncio.Future[None]") -> None:
    if not woken.done():
        woken.set_result(None)


class ProcessObserver(RequestObserver, Protocol):
    def process_started(self, name: str, life: int) -> None: ...

    def cycle(self, life: str, cycle: Cycle) -> None:
        """A scheduling loop has finished a cycle. `life` is the name of its process and the number of its life."""


class Process:
    """`start`, `kill`, `pause`, `cut_off`; subclasses define what runs in it."""

    def __init__(self, context: SimulationContext, server: ApiServer, observer: ProcessObserver, name: str) -> None:
        self.context = context
        self.server = server
        self.observer = observer
        self.name = name
        self.clients: list[Client] = []
        self.life = 0
        self.clock_ahead = 0.0  # seconds
        self.loops: list[SchedulingLoop] = []
        self._task: asyncio.Task[None] | None = None

    @property
    def runs(self) -> bool:
        return self._task is not None

    @property
    def works(self) -> bool:
        """Whether it hears everything and may write."""
        return bool(self.clients) and not any(client.connection.is_hampered for client in self.clients)

    def start(self) -> None:
        if self._task is None:
            self.life += 1
            self.observer.process_started(self.name, self.life)
            self.context.step("start", self.name, "", self.life)
            self.context.hampered()
            self._task = self.context.loop.create_task(self._lived())

    async def _lived(self) -> None:
        try:
            await self._live()
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            self.context.fail("no loop fails", f"{self.name}: {first_of(error)!r}")

    async def _live(self) -> None:
        raise NotImplementedError

    def kill(self) -> None:
        if self._task is not None:
            for client in self.clients:
                client.kill()
            self._task.cancel()
            self._task, self.clients = None, []

    def crash(self, seconds: float = 2.0) -> None:
        """Is killed, and starts again after so many seconds."""
        if self.runs:
            self.context.step("killed", self.name, "")
            self.context.last_disturbance = self.context.loop.time()
            self.context.hampered()
            self.kill()
            self.context.loop.call_later(max(0.1, seconds), self.start)

    def set_clock(self, ahead: float) -> None:
        """Times that were written down before mean another moment from now on: that may delay what waits for them."""
        self.context.hampered(abs(ahead - self.clock_ahead))
        self.clock_ahead = self.context.clocks_ahead[self.name] = ahead

    def pause(self) -> None:
        self.context.hampered()
        for client in self.clients:
            client.connection.stall(paused=True)

    def cut_off(self) -> None:
        self.context.hampered()
        for client in self.clients:
            client.connection.stall(cut_off=True)

    def resume(self) -> None:
        if not self.works:
            self.context.hampered()
        for client in self.clients:
            client.connection.resume()

    async def end(self) -> None:
        task = self._task
        self.kill()
        if task is not None:
            await asyncio.gather(task, return_exceptions=True)

    def _client(self, name: str, whole_gangs: bool, check: Callable[[], None] | None = None) -> Client:
        """A client of this life."""
        return Client(Connection(self.context, self.server, name), self.observer, self.crash, whole_gangs, check)

    def _listener(self) -> Callable[[Cycle], None]:
        life = f"{self.name}/{self.life}"
        return lambda cycle: self.observer.cycle(life, cycle)


class ControlProcess(Process):
    """The scheduling loop and the controllers of an embedded cluster, on one shared watch of each resource."""

    async def _live(self) -> None:
        client = self._client(self.name, whole_gangs=True)
        clock = ProcessClock(client, self)
        self.clients = [client]
        async with SharedCluster(client, clock) as cluster, asyncio.TaskGroup() as group:
            for name, begin in self._parts(cluster, clock):
                group.create_task(self._kept_going(name, begin, clock))

    async def _kept_going(self, name: str, begin: Begin, clock: ProcessClock) -> None:
        while True:
            try:
                await begin()
            except (Refused, Unreachable):
                pass  # a watch has ended
            except Exception as error:
                self.context.fail("no loop fails", f"{name}: {first_of(error)!r}")
            await clock.sleep(RESTART)

    def _parts(self, cluster: SharedCluster, clock: ProcessClock) -> Iterator[tuple[str, Begin]]:
        settings = settings_of(self.context, EMBEDDED_DEFAULTS)
        recorder = EventRecorder(cluster, RecordWriter(cluster), clock, settings.event_delay)
        aggregator = EventAggregator(recorder)
        graph = ObjectGraph(cluster, clock)
        collector = GarbageCollector(graph, cluster, clock)
        chance = random.Random(self.context.scenario.noise * 1000 + self.life)

        def schedule() -> Awaitable[None]:
            loop = SchedulingLoop(cluster, clock, settings, self._listener())
            self.loops = [loop]
            return loop.run()

        def look_after(controller: JobController) -> Awaitable[None]:
            return run_controller(
                JobKindController(controller, ChildWriter(cluster, clock, aggregator, chance), clock), cluster
            )

        yield "scheduling", schedule
        for controller in CONTROLLERS:
            if controller.resource.key in self.context.kinds and not self.context.operated:
                yield controller.resource.kind, partial(look_after, controller)
        yield "events", recorder.run
        yield "graph", graph.run
        yield collector.name, lambda: run_controller(collector, cluster)
        yield PodGarbageCollector.name, lambda: run_controller(PodGarbageCollector(cluster, clock), cluster)
        yield (
            NodeLifecycleController.name,
            lambda: run_controller(NodeLifecycleController(cluster, clock, aggregator, settings.limits), cluster),
        )
        yield "verification of unconfirmed objects", cluster.verify_unconfirmed


class ReplicaProcess(Process):
    """One of several replicas that may lead, with its fence."""

    _election: LeaderElection | None = None

    @property
    def works(self) -> bool:
        return super().works and self._election is not None and self._election.leads

    async def _live(self) -> None:
        context = self.context
        lease_client = self._client(f"{self.name}-lease", whole_gangs=False)
        clock = ProcessClock(lease_client, self)
        candidate = Candidate(self.name, terms=TERMS)
        chance = random.Random(context.scenario.noise * 1000 + self.life)
        election = self._election = LeaderElection(lease_client, clock, candidate, context.loop.time, chance)
        settings = settings_of(
            context, ServeOptions(config=Config(server="https://simulated"), identity=self.name).loop
        )
        permit = WritePermit(lambda: election.leads, lambda: client.age(), settings.max_view_age)
        client = self._client(self.name, whole_gangs=False, check=permit.check)
        self.clients = [client, lease_client]
        replica = Replica(
            FencedClient(client, permit), ProcessClock(client, self), election, settings, self._listener()
        )
        await replica.run()


def settings_of(context: SimulationContext, settings: LoopSettings) -> LoopSettings:
    return msgspec.structs.replace(settings, policy=context.policy)


def first_of(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
