"""A scenario from start to rest: simulated cluster, processes under test, faults and invariants on one clock."""

import asyncio

import msgspec

from understudy.control import loop as control_loop
from understudy.objects.resources import DEFINITIONS, JOBS, PRIORITY_CLASSES
from understudy.simulate.cluster import SimulatedCluster
from understudy.simulate.context import SimulationContext, Violation
from understudy.simulate.event_injector import EventInjector
from understudy.simulate.event_loop import VirtualTimeLoop
from understudy.simulate.invariants.capacity import CapacityInvariant
from understudy.simulate.invariants.rest import check_at_rest
from understudy.simulate.invariants.step import StepInvariants
from understudy.simulate.node_lifecycle_controller import NodeLifecycleController, VolumeProvisioner
from understudy.simulate.operators import GarbageCollector, Operators
from understudy.simulate.processes import ControlProcess, Process, ReplicaProcess
from understudy.simulate.scenario import Scenario
from understudy.simulate.training import TrainingProcesses
from understudy.simulate.workloads import RESOURCES, definition_of, priority_classes, resource_of

# A standby applies every change to its snapshot; a longer interval only makes runs faster.
control_loop.STANDBY_INTERVAL = 20.0

QUIET = 75.0  # seconds without a change that count as rest: longer than every timeout of the loops
LONGEST = 1500.0  # seconds after the last fault until rest, at most
CHECK_INTERVAL = 5.0


class SimulationOutcome(msgspec.Struct, frozen=True):
    steps: int
    digest: int  # of all steps in their order
    ended_at: float
    violation: Violation | None = None
    trace: tuple[str, ...] = ()


class Simulation:
    def __init__(self, context: SimulationContext) -> None:
        self.context = context
        self.cluster = SimulatedCluster(context)
        self.invariants = StepInvariants(self.cluster)
        CapacityInvariant(self.cluster)
        names = ("replica-1", "replica-2") if context.kube else ("control",)
        kind = ReplicaProcess if context.kube else ControlProcess
        self.processes: dict[str, Process] = {
            name: kind(context, self.cluster.server, self.invariants, name) for name in names
        }
        context.works = self._works
        self.injector = EventInjector(self.cluster, self.invariants, self.processes)
        self._start_controllers()

    def _start_controllers(self) -> None:
        """Starts the controllers that are not under test."""
        context, server = self.context, self.cluster.server
        if context.operated:
            server.observers.append(Operators(context, server).observe)
        if context.kube:
            server.observers.append(GarbageCollector(context, server).observe)
            controller = NodeLifecycleController(context, server, self.cluster.leases)
            context.loop.call_later(1.0, controller.look)
        server.observers.append(VolumeProvisioner(context, server).observe)
        TrainingProcesses(context, server, self.cluster.kubelets)

    def _works(self) -> bool:
        return any(process.works for process in self.processes.values())

    def _time_of_the_loop(self) -> float:
        """What the clock of the process that schedules shows."""
        ahead = next((process.clock_ahead for process in self.processes.values() if process.works), 0.0)
        return self.context.now() + ahead

    def _look(self) -> None:
        """Once a second: what was explained may not be any more, without a change."""
        self.invariants.look()
        self.context.loop.call_later(1.0, self._look)

    async def run(self) -> None:
        context = self.context
        self._create_objects()
        for kubelet in self.cluster.kubelets.values():
            kubelet.register()
        for process in self.processes.values():
            process.start()
        self._look()
        for event in context.scenario.events:
            context.loop.call_at(event.at, self.injector.inject, event)
        try:
            await self._until(context.scenario.faults_until)
            if context.violation is None:
                context.last_disturbance = context.loop.time()
                self.injector.heal()
                await self._rest()
        finally:
            for process in self.processes.values():
                await process.end()

    def _create_objects(self) -> None:
        server, context = self.cluster.server, self.context
        for document in priority_classes():
            server.create(PRIORITY_CLASSES, document, "user")
        versions = {resource.key: resource for resource in RESOURCES.values()}
        versions |= {resource_of(plan).key: resource_of(plan) for plan in context.scenario.jobs}
        for resource in () if context.kube else versions.values():
            if resource is not JOBS and resource.key in context.kinds:
                server.create(DEFINITIONS, definition_of(resource), "user")

    async def _until(self, moment: float) -> None:
        context = self.context
        timer = context.loop.call_at(moment, context.over.set)
        await context.over.wait()
        timer.cancel()
        if context.violation is None:
            context.over.clear()

    async def _rest(self) -> None:
        context, invariants = self.context, self.invariants
        began = context.loop.time()
        while context.violation is None:
            now = context.loop.time()
            pending = invariants.waits_for_pods() or invariants.notices.lies_ahead()
            if now - max(context.last_change, began) >= QUIET and not pending:
                check_at_rest(self.cluster, invariants, self._time_of_the_loop())
                invariants.notices.check_at_rest()
                return
            if now - began > LONGEST:
                context.fail("the cluster comes to rest", f"something still changes after {LONGEST:.0f} s")
                return
            await self._until(now + CHECK_INTERVAL)


def simulate(scenario: Scenario, tracing: bool = False) -> SimulationOutcome:
    """Runs a scenario to its end, or to the first violation."""
    loop = VirtualTimeLoop(scenario.noise if scenario.shuffled else None)
    asyncio.set_event_loop(None)
    context = SimulationContext(scenario, loop, tracing)
    simulation = Simulation(context)
    try:
        loop.run_until_complete(simulation.run())
    finally:
        loop.close()
    return SimulationOutcome(context.steps, context.digest, loop.time(), context.violation, tuple(context.trace or ()))
