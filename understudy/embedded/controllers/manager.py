"""The part of an embedded cluster that decides and looks after things: the scheduling loop and all controllers, in one
process that talks to the API only. It may be killed at any time; what it needs to know is in the cluster.
"""

import asyncio
import contextlib
import gc
import logging
import random
import signal
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import NamedTuple

import uvloop

from understudy.client import connect
from understudy.control.apply.record_writer import RecordWriter
from understudy.control.clock import SystemClock
from understudy.control.loop import LoopSettings, SchedulingLoop
from understudy.control.record.event_recorder import EventRecorder
from understudy.embedded.cluster_folder import ClusterFolder
from understudy.embedded.controllers.bundle_installer import install_definitions, install_objects
from understudy.embedded.controllers.child_writer import ChildWriter
from understudy.embedded.controllers.cluster_role_aggregation import ClusterRoleAggregator
from understudy.embedded.controllers.disruption import DisruptionController
from understudy.embedded.controllers.endpoints import EndpointsController
from understudy.embedded.controllers.event_expiry import expire_events
from understudy.embedded.controllers.eviction_events import EvictionEvents
from understudy.embedded.controllers.garbage_collector import GarbageCollector
from understudy.embedded.controllers.job_kinds import JobKindController
from understudy.embedded.controllers.namespace_lifecycle import NamespaceLifecycleController, Replace
from understudy.embedded.controllers.node_lifecycle import NodeLifecycleController
from understudy.embedded.controllers.pod_gc import PodGarbageCollector
from understudy.embedded.controllers.pv_binder import PersistentVolumeBinder
from understudy.embedded.controllers.runtime.controller import run_controller
from understudy.embedded.controllers.runtime.event_aggregator import EventAggregator
from understudy.embedded.controllers.runtime.object_graph import ObjectGraph
from understudy.embedded.controllers.runtime.restarts import run_with_restarts
from understudy.embedded.controllers.runtime.shared_cluster import SharedCluster
from understudy.embedded.controllers.service_accounts import ServiceAccountController
from understudy.embedded.controllers.warm_understudies import WarmUnderstudyController
from understudy.embedded.controllers.workload_controllers import WORKLOADS
from understudy.embedded.loop_settings import EMBEDDED_DEFAULTS, loop_settings
from understudy.embedded.process_log import log_to_stderr
from understudy.kinds.job_kind import JobController
from understudy.kinds.registry import CONTROLLERS
from understudy.ports import Clock

log = logging.getLogger(__name__)

_ROLE = "control"
Task = tuple[str, Callable[[], Awaitable[None]]]  # its name, and what starts it


class ControlContext(NamedTuple):
    """What the controllers and the loop are made of."""

    cluster: SharedCluster
    clock: Clock
    folder: ClusterFolder
    replace: Replace
    settings: LoopSettings = EMBEDDED_DEFAULTS


def run(folder: ClusterFolder) -> None:
    """Runs until SIGTERM or SIGINT."""
    log_to_stderr("%(asctime)s %(levelname)s %(name)s: %(message)s")
    # Few objects are in cycles, and a look at all objects of a cluster of 10,000 pods stops everything for a second.
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    uvloop.run(_until_told_to_end(folder))


async def _until_told_to_end(folder: ClusterFolder) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    clock = SystemClock()
    async with connect(folder.kubeconfig_of(_ROLE)) as api, SharedCluster(api, clock) as cluster:
        settings = loop_settings(folder.read_settings().loop, EMBEDDED_DEFAULTS)
        parts = ControlContext(cluster, clock, folder, partial(api.request, "PUT"), settings)
        work = asyncio.create_task(control(parts))
        ended = asyncio.create_task(stopped.wait())
        await asyncio.wait([work, ended], return_when=asyncio.FIRST_COMPLETED)
        for task in (work, ended):
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work
        await asyncio.gather(ended, return_exceptions=True)


async def control(parts: ControlContext) -> None:
    """Runs for ever. Bundled definitions and objects are installed before any controller starts."""
    await install_definitions(parts.cluster, parts.clock)
    await install_objects(parts.cluster, parts.clock)
    async with asyncio.TaskGroup() as group:
        for name, begin in tasks_of(parts):
            group.create_task(run_with_restarts(name, begin, parts.clock), name=name)


def tasks_of(parts: ControlContext) -> Iterator[Task]:
    """A restart creates a new controller: the state of the last one may be what broke it."""
    cluster, clock = parts.cluster, parts.clock
    recorder = EventRecorder(cluster, RecordWriter(cluster), clock, parts.settings.event_delay)
    aggregator = EventAggregator(recorder)
    graph = ObjectGraph(cluster, clock)
    collector = GarbageCollector(graph, cluster, clock)
    emptier = NamespaceLifecycleController(graph, cluster, clock, parts.replace)

    def run_job_controller(controller: JobController) -> Awaitable[None]:
        writer = ChildWriter(cluster, clock, aggregator, random.Random())
        return run_controller(JobKindController(controller, writer, clock), cluster)

    yield "scheduling", lambda: SchedulingLoop(cluster, clock, parts.settings).run()
    for controller in (*CONTROLLERS, *WORKLOADS):
        yield controller.resource.kind, partial(run_job_controller, controller)
    yield "events", recorder.run
    yield "event expiry", lambda: expire_events(cluster, clock)
    yield "object graph", graph.run
    yield collector.name, lambda: run_controller(collector, cluster)
    yield emptier.name, lambda: run_controller(emptier, cluster)
    yield PodGarbageCollector.name, lambda: run_controller(PodGarbageCollector(cluster, clock), cluster)
    yield DisruptionController.name, lambda: run_controller(DisruptionController(cluster, clock), cluster)
    yield EvictionEvents.name, lambda: run_controller(EvictionEvents(clock, aggregator), cluster)
    yield ServiceAccountController.name, lambda: run_controller(ServiceAccountController(cluster, clock), cluster)
    yield ClusterRoleAggregator.name, lambda: run_controller(ClusterRoleAggregator(cluster, clock), cluster)
    yield EndpointsController.name, lambda: run_controller(EndpointsController(cluster, clock), cluster)
    yield (
        PersistentVolumeBinder.name,
        lambda: run_controller(PersistentVolumeBinder(cluster, clock, parts.folder.claims), cluster),
    )
    yield (
        NodeLifecycleController.name,
        lambda: run_controller(NodeLifecycleController(cluster, clock, aggregator, parts.settings.limits), cluster),
    )
    yield (
        WarmUnderstudyController.name,
        lambda: run_controller(WarmUnderstudyController(cluster, clock, aggregator), cluster),
    )
    yield "verification of unconfirmed objects", cluster.verify_unconfirmed
