"""A scenario at work: server, processes, kubelets, operators and checks on one virtual clock, from start to rest."""

import asyncio
import zlib
from collections.abc import Mapping
from typing import Any

import msgspec

from understudy.control import loop
from understudy.decide.policy import Policy
from understudy.kube.settings import SCHEDULER_NAME
from understudy.objects import resources
from understudy.objects.resources import (
    DEFINITIONS,
    JOB_KINDS,
    JOB_SETS,
    JOBS,
    LEASES,
    MPI_JOBS,
    PRIORITY_CLASSES,
    TRAIN_JOBS,
    Resource,
)
from understudy.simulate.api_server import ApiServer, Version
from understudy.simulate.event_injector import EventInjector
from understudy.simulate.event_loop import VirtualTimeLoop
from understudy.simulate.invariants import StepInvariants
from understudy.simulate.kubelet import Kubelet, NodeLeases
from understudy.simulate.messages import Messages
from understudy.simulate.node_lifecycle_controller import NodeLifecycleController, VolumeProvisioner
from understudy.simulate.operators import GarbageCollector, Operators
from understudy.simulate.processes import BEGIN, ControlProcess, Process, ReplicaProcess
from understudy.simulate.rest_invariants import check_at_rest
from understudy.simulate.scenario import Event, Scenario
from understudy.simulate.workloads import RESOURCES, definition_of, priority_classes

# A standby works every change into its snapshot; how often it looks makes no difference but to the time a run takes.
loop.STANDBY_INTERVAL = 20.0

QUIET = 75.0  # seconds without a change after which the world is at rest: longer than every patience of the loops
LONGEST = 1500.0  # seconds after the last fault within which it has to come to rest
LOOK = 5.0
SERVED = tuple(
    resource
    for resource in vars(resources).values()
    if isinstance(resource, Resource)
    and resource.version not in ("v1alpha3",)
    and resource.plural not in ("events", "podgroups")
    and (resource.plural != "mpijobs" or resource.version == "v2beta1")
)


class Violation(msgspec.Struct, frozen=True):
    invariant: str
    words: str
    at: float


class SimulationOutcome(msgspec.Struct, frozen=True):
    steps: int
    digest: int  # of everything that happened, in its order
    ended_at: float
    violation: Violation | None = None
    trace: tuple[str, ...] = ()


class Simulation:
    def __init__(self, scenario: Scenario, loop: VirtualTimeLoop, tracing: bool = False) -> None:
        self.scenario = scenario
        self.loop = loop
        self.policy = Policy()
        self.steps = 0
        self.digest = 0
        self.names = 0
        self.trace: list[str] | None = [] if tracing else None
        self.events: dict[str, Mapping[str, Any]] = {}
        self.violation: Violation | None = None
        self.over = asyncio.Event()
        self.server_is_down = False
        self.leases_stand_still = False
        self.last_change = 0.0
        self.last_disturbance = 0.0
        kube = scenario.mode == "kube"
        self.scheduler = SCHEDULER_NAME if kube else "default-scheduler"
        self.messages = Messages(scenario)
        self.server = ApiServer(self.now, SERVED)
        self.leases = NodeLeases(self)
        self.checks = StepInvariants(self)
        self.durations = {plan.name: plan.duration for plan in scenario.jobs}
        self.operated = kube or scenario.outside  # by operators that are simulated
        self.kinds = self._kinds()
        self.happenings = EventInjector(self)
        self.kubelets = {plan.name: Kubelet(self, plan) for plan in scenario.nodes}
        names = ("replica-1", "replica-2") if kube else ("control",)
        kind = ReplicaProcess if kube else ControlProcess
        self.processes: dict[str, Process] = {name: kind(self, name) for name in names}
        self._actors(kube)

    def _kinds(self) -> set[str]:
        """The resources of the jobs, and of the jobs these make."""
        kinds = {RESOURCES[plan.kind].key for plan in self.scenario.jobs}
        if {JOB_SETS.key, TRAIN_JOBS.key, MPI_JOBS.key} & kinds:
            kinds.add(JOBS.key)
        return kinds | ({JOB_SETS.key} if TRAIN_JOBS.key in kinds else set())

    def _actors(self, kube: bool) -> None:
        observers = self.server.observers
        observers.append(self._observe)
        observers.append(self.checks.observe)
        if self.operated:
            observers.append(Operators(self).observe)
        if kube:
            observers.append(GarbageCollector(self).observe)
            self.loop.call_later(1.0, NodeLifecycleController(self).look)
        observers.append(VolumeProvisioner(self).observe)

    def _observe(self, before: Version | None, after: Version | None, writer: str) -> None:
        version = after or before
        assert version is not None
        if version.resource is LEASES:
            return
        self.last_change = self.loop.time()
        if self.trace is not None:
            self.note(f"  {'gone' if after is None else 'now'} {described(version)} (by {writer})")
        if version.node and (kubelet := self.kubelets.get(version.node)) is not None:
            kubelet.touch(version.uid)

    # What everybody needs

    def now(self) -> float:
        return BEGIN + self.loop.time()

    def step(self, kind: str, who: str, what: str, number: int = 0) -> None:
        self.steps += 1
        self.digest = zlib.crc32(f"{self.loop.time():.6f}{kind}{who}{what}{number}".encode(), self.digest)
        if self.trace is not None and what != LEASES.key:
            self.note(f"{kind} {who} {what}" + (f" {number}" if number else ""))

    def note(self, words: str) -> None:
        if self.trace is not None:
            self.trace.append(f"{self.loop.time():9.3f} {words}")

    def fail(self, invariant: str, words: str) -> None:
        if self.violation is None:
            self.violation = Violation(invariant, words, self.loop.time())
            self.note(f"VIOLATED: {invariant}: {words}")
            self.over.set()

    def told(self, name: str, event: Mapping[str, Any] | None = None) -> bytes:
        """An event of the cluster, new or counted up. Events are no objects here: they are only told."""
        if event is not None:
            self.events[name] = event
        self.checks.told(self.events.get(name, {}))
        return b"{}"

    def disturbed(self, event: Event) -> None:
        self.last_disturbance = self.last_change = self.loop.time()
        self.checks.disturbed(event)

    def kill(self, name: str, seconds: float = 2.0) -> None:
        process = self.processes[name]
        if process.runs:
            self.step("killed", name, "")
            self.last_disturbance = self.loop.time()
            process.kill()
            self.loop.call_later(max(0.1, seconds), process.start)

    # From start to rest

    async def run(self) -> None:
        for document in priority_classes():
            self.server.create(PRIORITY_CLASSES, document, "user")
        for resource in RESOURCES.values() if self.scenario.mode == "embedded" else ():
            if resource is not JOBS and resource.key in self.kinds:
                self.server.create(DEFINITIONS, definition_of(resource), "user")
        for kubelet in self.kubelets.values():
            kubelet.register()
        for process in self.processes.values():
            process.start()
        for event in self.scenario.events:
            self.loop.call_at(event.at, self.happenings.happen, event)
        try:
            await self._until(self.scenario.faults_until)
            if self.violation is None:
                self.last_disturbance = self.loop.time()
                self.happenings.heal()
                await self._rest()
        finally:
            for process in self.processes.values():
                await process.end()

    async def _until(self, moment: float) -> None:
        timer = self.loop.call_at(moment, self.over.set)
        await self.over.wait()
        timer.cancel()
        if self.violation is None:
            self.over.clear()

    async def _rest(self) -> None:
        began = self.loop.time()
        while self.violation is None:
            now = self.loop.time()
            if now - max(self.last_change, began) >= QUIET and not self.checks.waits_for_pods():
                check_at_rest(self)
                return
            if now - began > LONGEST:
                self.fail("the cluster comes to rest", f"something still changes after {LONGEST:.0f} s")
                return
            await self._until(now + LOOK)
            self.checks.look()


def described(version: Version) -> str:
    document = version.document
    words = [version.resource.kind, version.name[1]]
    if version.resource.key == "pods":
        words.append(document.get("status", {}).get("phase", ""))
        words.append(f"on {version.node}" if version.node else "without a seat")
        if nominated := document.get("status", {}).get("nominatedNodeName"):
            words.append(f"nominated {nominated}")
    if version.leaving:
        words.append("leaving")
    notes = document["metadata"].get("annotations", {})
    if version.resource in JOB_KINDS and (holds := notes.get("understudy.dev/holds")):
        words.append(f"holds {holds}")
    if document.get("spec", {}).get("suspend"):
        words.append("suspended")
    return " ".join(words)


def simulate(scenario: Scenario, tracing: bool = False) -> SimulationOutcome:
    """Runs a scenario to its end, or to the first violation."""
    loop = VirtualTimeLoop()
    asyncio.set_event_loop(None)
    world = Simulation(scenario, loop, tracing)
    try:
        loop.run_until_complete(world.run())
    finally:
        loop.close()
    trace = tuple(world.trace or ())
    return SimulationOutcome(world.steps, world.digest, loop.time(), world.violation, trace)
