"""What a container of Understudy runs: a replica, the lease it stands for, and the pages that tell how it does."""

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import AsyncIterator

import msgspec

from understudy.client import KubeClient, connect
from understudy.client.config import Config
from understudy.control.clock import SystemClock
from understudy.control.health import HealthLimits
from understudy.control.scheduling import LoopSettings
from understudy.control.series_events import SeriesEvents
from understudy.decide.policy import Policy
from understudy.kube.aside import Apart, Aside
from understudy.kube.election import Candidate, Election, Terms
from understudy.kube.fenced import Fenced, Permit
from understudy.kube.garbage import set_apart
from understudy.kube.life import Signs
from understudy.kube.meters import Measured, Turns, figures_of
from understudy.kube.names import SCHEDULER
from understudy.kube.observed import Observed
from understudy.kube.pages import pages_of
from understudy.kube.probes import served
from understudy.kube.replica import Leadership, Replica, Unopposed
from understudy.kube.settings import KubeSettings

EVICTOR = 0.5  # seconds; Kubernetes' taint manager takes a few hundredths of one
GATHER = 0.02  # seconds; pods come and go one by one here, each with a request of its own
LOOKS = 3  # watches are proven to be alive so many times within the age that a view may have
TELL_AFTER = 1.5  # seconds: what can be told later is not in the way of what is urgent

_log = logging.getLogger(__name__)


class Serving(msgspec.Struct, frozen=True, kw_only=True):
    config: Config
    scheduler_name: str = SCHEDULER
    identity: str = ""  # '': nobody else stands for election
    lease_namespace: str = "default"
    host: str = "127.0.0.1"
    port: int = 8080
    policy: Policy = Policy()
    limits: HealthLimits = HealthLimits()
    kube: KubeSettings = KubeSettings()

    @property
    def loop(self) -> LoopSettings:
        return LoopSettings(
            policy=self.policy,
            limits=self.limits,
            scheduler_name=self.scheduler_name,
            max_view_age=self.kube.max_view_age,
            one_clock=False,
            binds_whole=False,
            job_lag=self.kube.max_view_age,
            gather=GATHER,
            keep_pods_in=self.lease_namespace,
            evictor=EVICTOR,
            tell_after=TELL_AFTER,
            events=SeriesEvents(self.identity or socket.gethostname()),
        )

    @property
    def working(self) -> Config:
        """For everything but the lease. A watch that is quiet is opened anew often enough for the view to stay young,
        even if that has to be tried twice."""
        return msgspec.structs.replace(
            self.config,
            connections=self.kube.requests_at_once,
            write_timeout=self.kube.write_timeout,
            silence=min(self.config.silence, self.kube.max_view_age / LOOKS),
        )

    @property
    def candidate(self) -> Candidate:
        terms = Terms(self.kube.lease_duration, self.kube.renew_deadline, self.kube.retry_period)
        return Candidate(self.identity, self.lease_namespace, terms=terms)


async def serve(serving: Serving) -> None:
    """Until SIGTERM or SIGINT. Whatever else ends it is an error, and raised when another one may lead."""
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    clock, kube = SystemClock(), serving.kube
    signs = Signs()
    async with Aside() as aside, _leadership(serving, clock, aside, signs) as leadership:
        # The client asks before every single request, the fence before every write of which it makes several.
        permit = Permit(lambda: leadership.leads, lambda: client.age(), kube.max_view_age)
        async with connect(serving.working, permit.check) as client:
            turns, observed = Turns(clock), Observed(client)
            replica = Replica(Fenced(observed, permit), clock, leadership, serving.loop, turns.hear)
            measured = Measured(replica, observed, turns, client.tally, serving.policy, clock)
            pages = pages_of(replica, tuple(figures_of(measured, signs)), kube.max_view_age, signs)
            async with aside.entered(served(pages, serving.host, serving.port)) as port:
                _log.info("answering on %s:%d: /healthz, /readyz, /metrics", serving.host, port)
                await _until(told, replica, signs)


@contextlib.asynccontextmanager
async def _leadership(serving: Serving, clock: SystemClock, aside: Aside, signs: Signs) -> AsyncIterator[Leadership]:
    """The lease has a thread and a connection of its own: no plan and no other request is ever in its way. The election
    itself asks again."""
    if not serving.identity:
        yield Unopposed()
        return
    own = msgspec.structs.replace(
        serving.config, connections=1, timeout=serving.kube.renew_deadline / 2, attempts=1, patience=0.0
    )
    client: KubeClient
    async with aside.entered(connect(own, signs.check)) as client:
        yield Apart(Election(client, clock, serving.candidate), aside)


async def _until(told: asyncio.Event, replica: Replica, signs: Signs) -> None:
    running = asyncio.create_task(replica.run())
    ended = asyncio.create_task(told.wait())
    beside = [
        asyncio.create_task(signs.keep_showing()),
        asyncio.create_task(set_apart(lambda: replica.standing.synced)),
    ]
    await asyncio.wait([running, ended], return_when=asyncio.FIRST_COMPLETED)
    ended.cancel()
    failed = running.exception() if running.done() else None
    if failed is None:
        _log.info("told to end")
    await replica.end(running)
    for task in beside:
        task.cancel()
    if failed is not None:
        raise failed
