"""Controllers at work on a cluster in memory, as tests want them."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import msgspec

from tests.embedded.controllers.fake_cluster import FakeClock, FakeCluster, quiet
from understudy.control.telling import Teller
from understudy.embedded.controllers.carrying import Carrier
from understudy.embedded.controllers.catalogue import Catalogue
from understudy.embedded.controllers.events import Recorder
from understudy.embedded.controllers.families import FamilyController
from understudy.embedded.controllers.garbage import GarbageCollector
from understudy.embedded.controllers.namespaces import NamespaceEmptier
from understudy.embedded.controllers.operating import Controller, operate
from understudy.embedded.controllers.watching import SharedCluster
from understudy.kinds.children import FAMILIES

Made = Callable[["Desk"], Controller]


class Desk(msgspec.Struct):
    """All a controller is made of."""

    api: FakeCluster
    clock: FakeClock
    cluster: SharedCluster
    recorder: Recorder
    catalogue: Catalogue


def housekeeping() -> tuple[Made, Made]:
    return (
        lambda desk: GarbageCollector(desk.catalogue, desk.cluster, desk.clock),
        lambda desk: NamespaceEmptier(desk.catalogue, desk.cluster, desk.clock, desk.api.replace),
    )


def family(kind: str) -> Made:
    def made(desk: Desk) -> Controller:
        found = next(each for each in FAMILIES if each.parent.kind == kind)
        carrier = Carrier(desk.cluster, desk.clock, desk.recorder, random.Random(len(desk.api.requests)))
        return FamilyController(found, carrier, desk.clock)

    return made


@contextlib.asynccontextmanager
async def at_work(api: FakeCluster, *makers: Made) -> AsyncIterator[Desk]:
    """Controllers on this cluster; leaving it is a kill -9 to them."""
    async with SharedCluster(api, api.clock) as cluster:
        teller = Teller(cluster, api.clock)
        desk = Desk(api, api.clock, cluster, Recorder(teller), Catalogue(cluster, api.clock))
        work: list[Coroutine[Any, Any, None]] = [operate(made(desk), cluster) for made in makers]
        tasks = [
            asyncio.create_task(each) for each in (teller.run(), cluster.check_doubts(), desk.catalogue.run(), *work)
        ]
        try:
            await quiet()
            yield desk
            for task in tasks:
                if task.done():
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def story(tell: Callable[[FakeCluster], Coroutine[Any, Any, None]]) -> None:
    """Runs a test in an event loop of its own, on an empty cluster."""

    async def told() -> None:
        await tell(FakeCluster(FakeClock()))

    asyncio.run(told())
