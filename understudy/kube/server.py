"""The process that `understudy serve` runs: a replica, its leader election, its probes and its log."""

import asyncio
import contextlib
import logging
import signal
import socket
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Literal

import msgspec

from understudy.client import KubeClient, connect
from understudy.client.config import Config
from understudy.control.apply.provisioning_documents import AutoscalerSettings
from understudy.control.clock import SystemClock
from understudy.control.loop import LoopSettings
from understudy.control.record.event_formats import SeriesEventFormat
from understudy.control.view.node_health import HealthLimits
from understudy.decide.policy import Policy
from understudy.kube.counting_client import CountingClient
from understudy.kube.event_loop_thread import EventLoopThread, ThreadedElection
from understudy.kube.fenced_client import FencedClient, WritePermit
from understudy.kube.garbage_collector import freeze_after_sync
from understudy.kube.leader_election import Candidate, LeaderElection, LeaseTimes
from understudy.kube.liveness import Heartbeat
from understudy.kube.metrics import CycleMetrics, MetricSources, metrics_of
from understudy.kube.probe_server import endpoints_of, served
from understudy.kube.replica import Leadership, Replica, SoleLeadership
from understudy.kube.settings import SCHEDULER_NAME, KubeSettings

EVICTOR = 0.5  # seconds; Kubernetes' taint manager needs a few hundredths
BATCH_SECONDS = 0.02  # seconds; here pods arrive and leave one by one, each with its own request
LOOKS = 3  # proofs that a watch is alive within the greatest age of a view
EVENT_DELAY = 1.5  # seconds; deferrable writes leave the way to urgent ones
_log = logging.getLogger(__name__)


class ServeOptions(msgspec.Struct, frozen=True, kw_only=True):
    config: Config
    scheduler_name: str = SCHEDULER_NAME
    identity: str = ""  # '': no election
    lease_namespace: str = "default"
    host: str = "127.0.0.1"
    port: int = 8080
    policy: Policy = Policy()
    limits: HealthLimits = HealthLimits()
    kube: KubeSettings = KubeSettings()
    autoscaler: AutoscalerSettings = AutoscalerSettings()

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
            gather=BATCH_SECONDS,
            keep_pods_in=self.lease_namespace,
            autoscaler=self.autoscaler,
            evictor=EVICTOR,
            event_delay=EVENT_DELAY,
            events=SeriesEventFormat(self.identity or socket.gethostname()),
        )

    @property
    def working(self) -> Config:
        """For everything but the lease. A quiet watch is opened again often enough to keep the view young, even if the
        first attempt fails."""
        return msgspec.structs.replace(
            self.config,
            connections=self.kube.requests_at_once,
            write_timeout=self.kube.write_timeout,
            silence=min(self.config.silence, self.kube.max_view_age / LOOKS),
        )

    @property
    def candidate(self) -> Candidate:
        terms = LeaseTimes(self.kube.lease_duration, self.kube.renew_deadline, self.kube.retry_period)
        return Candidate(self.identity, self.lease_namespace, terms=terms)


async def serve(serving: ServeOptions) -> None:
    """Runs until SIGTERM or SIGINT. Any other end is an error, raised after the lease is released."""
    stop_requested = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop_requested.set)
    clock, kube = SystemClock(), serving.kube
    heartbeat = Heartbeat()
    async with (
        EventLoopThread() as thread,
        _leadership(serving, clock, thread, heartbeat) as leadership,
    ):
        # The fence checks the permit before every write, the client before every request of a write.
        permit = WritePermit(lambda: leadership.leads, lambda: client.age(), kube.max_view_age)
        async with connect(serving.working, permit.check) as client:
            turns, observed = CycleMetrics(clock), CountingClient(client)
            replica = Replica(FencedClient(observed, permit), clock, leadership, serving.loop, turns.observe)
            measured = MetricSources(replica, observed, turns, client.metrics, serving.policy, clock)
            pages = endpoints_of(replica, tuple(metrics_of(measured, heartbeat)), kube.max_view_age, heartbeat)
            async with thread.entered(served(pages, serving.host, serving.port)) as port:
                _log.info("answering on %s:%d: /healthz, /readyz, /metrics", serving.host, port)
                await _until(stop_requested, replica, heartbeat)


@contextlib.asynccontextmanager
async def _leadership(
    serving: ServeOptions, clock: SystemClock, thread: EventLoopThread, heartbeat: Heartbeat
) -> AsyncIterator[Leadership]:
    """The lease has its own thread and connection, so no plan and no other request delays it. The election itself
    retries, not the client."""
    if not serving.identity:
        yield SoleLeadership()
        return
    own = msgspec.structs.replace(
        serving.config, connections=1, timeout=serving.kube.renew_deadline / 2, attempts=1, connect_retry=0.0
    )
    client: KubeClient
    async with thread.entered(connect(own, heartbeat.check)) as client:
        yield ThreadedElection(LeaderElection(client, clock, serving.candidate), thread)


async def _until(stop_requested: asyncio.Event, replica: Replica, heartbeat: Heartbeat) -> None:
    running = asyncio.create_task(replica.run())
    ended = asyncio.create_task(stop_requested.wait())
    beside = [
        asyncio.create_task(heartbeat.keep_beating()),
        asyncio.create_task(freeze_after_sync(lambda: replica.status.synced)),
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


LogFormat = Literal["text", "json"]
LOG_FIELDS = ("action", "gang")  # what some lines say of themselves besides their words
_encode = msgspec.json.Encoder().encode


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "part": record.name.removeprefix("understudy."),
            "message": record.getMessage(),
            **{field: value for field in LOG_FIELDS if (value := getattr(record, field, None)) is not None},
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return _encode(line).decode()


def log_to_stderr(form: LogFormat, level: str) -> None:
    handler = logging.StreamHandler(sys.stderr)
    plain = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler.setFormatter(JsonLines() if form == "json" else plain)
    logging.basicConfig(level={"warn": "WARNING"}.get(level, level.upper()), handlers=[handler], force=True)
