"""The part of an embedded cluster that decides and looks after things: the scheduling loop and all controllers, in one
process that talks to the API only. It may be killed at any time; what it needs to know is in the cluster.
"""

import asyncio
import contextlib
import logging
import random
import signal
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import NamedTuple

import uvloop

from understudy.client import connect
from understudy.control.clock import SystemClock
from understudy.control.scheduling import LoopSettings, SchedulingLoop
from understudy.control.telling import Teller
from understudy.embedded.controllers.accounts import AccountController
from understudy.embedded.controllers.aggregation import RoleAggregation
from understudy.embedded.controllers.budgets import BudgetController
from understudy.embedded.controllers.carrying import Carrier
from understudy.embedded.controllers.catalogue import Catalogue
from understudy.embedded.controllers.claims import ClaimController
from understudy.embedded.controllers.definitions import define_kinds, provide
from understudy.embedded.controllers.endpoints import EndpointController
from understudy.embedded.controllers.event_expiry import expire_events
from understudy.embedded.controllers.events import Recorder
from understudy.embedded.controllers.families import FamilyController
from understudy.embedded.controllers.garbage import GarbageCollector
from understudy.embedded.controllers.namespaces import NamespaceEmptier, Replace
from understudy.embedded.controllers.node_life import NodeLife
from understudy.embedded.controllers.operating import operate
from understudy.embedded.controllers.pod_garbage import PodGarbage
from understudy.embedded.controllers.supervising import supervised
from understudy.embedded.controllers.understudies import UnderstudyController
from understudy.embedded.controllers.watching import SharedCluster
from understudy.embedded.folders import ClusterFolder
from understudy.embedded.log_output import log_to_stderr
from understudy.embedded.looping import EMBEDDED, looped
from understudy.kinds.children import FAMILIES, Family
from understudy.ports import Clock

log = logging.getLogger(__name__)

_ROLE = "control"
Task = tuple[str, Callable[[], Awaitable[None]]]  # what it is called, and how it is begun


class Parts(NamedTuple):
    """What everything here is made of."""

    cluster: SharedCluster
    clock: Clock
    folder: ClusterFolder
    replace: Replace
    settings: LoopSettings = EMBEDDED


def run(folder: ClusterFolder) -> None:
    """Until SIGTERM or SIGINT."""
    log_to_stderr("%(asctime)s %(levelname)s %(name)s: %(message)s")
    uvloop.run(_until_told_to_end(folder))


async def _until_told_to_end(folder: ClusterFolder) -> None:
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    clock = SystemClock()
    async with connect(folder.way_in(_ROLE)) as api, SharedCluster(api, clock) as cluster:
        settings = looped(folder.read_settings().loop, EMBEDDED)
        parts = Parts(cluster, clock, folder, partial(api.request, "PUT"), settings)
        work = asyncio.create_task(control(parts))
        ended = asyncio.create_task(told.wait())
        await asyncio.wait([work, ended], return_when=asyncio.FIRST_COMPLETED)
        for task in (work, ended):
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work
        await asyncio.gather(ended, return_exceptions=True)


async def control(parts: Parts) -> None:
    """For ever. The kinds and objects this package brings are there before anybody looks for them."""
    await define_kinds(parts.cluster, parts.clock)
    await provide(parts.cluster, parts.clock)
    async with asyncio.TaskGroup() as group:
        for name, begin in tasks_of(parts):
            group.create_task(supervised(name, begin, parts.clock), name=name)


def tasks_of(parts: Parts) -> Iterator[Task]:
    """Each beginning makes a controller of its own: what the last one had in mind may be what broke it."""
    cluster, clock = parts.cluster, parts.clock
    teller = Teller(cluster, clock, parts.settings.tell_after)
    recorder = Recorder(teller)
    catalogue = Catalogue(cluster, clock)
    collector = GarbageCollector(catalogue, cluster, clock)
    emptier = NamespaceEmptier(catalogue, cluster, clock, parts.replace)

    def look_after(family: Family) -> Awaitable[None]:
        carrier = Carrier(cluster, clock, recorder, random.Random())
        return operate(FamilyController(family, carrier, clock), cluster)

    yield "scheduling", lambda: SchedulingLoop(cluster, clock, parts.settings).run()
    for family in FAMILIES:
        yield family.parent.kind, partial(look_after, family)
    yield "events", teller.run
    yield "event expiry", lambda: expire_events(cluster, clock)
    yield "catalogue", catalogue.run
    yield collector.name, lambda: operate(collector, cluster)
    yield emptier.name, lambda: operate(emptier, cluster)
    yield PodGarbage.name, lambda: operate(PodGarbage(cluster, clock), cluster)
    yield BudgetController.name, lambda: operate(BudgetController(cluster, clock), cluster)
    yield AccountController.name, lambda: operate(AccountController(cluster, clock), cluster)
    yield RoleAggregation.name, lambda: operate(RoleAggregation(cluster, clock), cluster)
    yield EndpointController.name, lambda: operate(EndpointController(cluster, clock), cluster)
    yield ClaimController.name, lambda: operate(ClaimController(cluster, clock, parts.folder.claims), cluster)
    yield NodeLife.name, lambda: operate(NodeLife(cluster, clock, recorder, parts.settings.limits), cluster)
    yield UnderstudyController.name, lambda: operate(UnderstudyController(cluster, clock, recorder), cluster)
    yield "doubts", cluster.check_doubts
