"""The scheduling loop: follows a cluster, makes a plan when something changed or a time has come, and applies it."""

import asyncio
import logging
import math
import time
from collections.abc import Callable

import msgspec

from understudy.control.apply.checkpoint_requests import CheckpointRequests
from understudy.control.apply.cluster_writer import ClusterWriter
from understudy.control.apply.context import ApplyContext
from understudy.control.apply.deferred_gangs import PodPatience
from understudy.control.apply.plan_applier import PlanApplier
from understudy.control.apply.pod_recreation import PodRecreator
from understudy.control.apply.provisioning_documents import AutoscalerSettings
from understudy.control.apply.provisioning_requests import ProvisioningRequests
from understudy.control.apply.record_writer import RecordWriter
from understudy.control.apply.taint_eviction import TaintEviction
from understudy.control.clock import wait_for
from understudy.control.record.drain_answers import DrainAnswers
from understudy.control.record.event_formats import CoreEventFormat, EventFormat
from understudy.control.record.event_recorder import EventRecorder
from understudy.control.record.incident_records import IncidentStore
from understudy.control.record.incidents import IncidentTracker
from understudy.control.record.job_failures import JobFailures
from understudy.control.record.node_annotations import FailureAnnotations, FenceAnnotations
from understudy.control.record.wait_reasons import WaitReasons
from understudy.control.view.cluster_view import ClusterView, WatchedCluster
from understudy.control.view.invalid_objects import InvalidObjects
from understudy.control.view.node_health import DEFAULT_LIMITS, HealthLimits
from understudy.control.view.node_leases import LeaseClock
from understudy.control.watch.freshness import ViewAge
from understudy.control.watch.reflector import Reflector
from understudy.control.watch.view_updater import ViewUpdater
from understudy.decide.cycle import plan
from understudy.decide.describe import describe
from understudy.decide.policy import Policy
from understudy.model.plans import Action, Plan, Wait
from understudy.model.snapshot import Snapshot
from understudy.objects.meta import KubeObject
from understudy.ports import Clock, Cluster, Unreachable

FIRST_PAUSE, LAST_PAUSE = 0.1, 5.0  # before a cluster that did not answer is written to again
EXPLAIN_INTERVAL = 1.0  # seconds between two explanations of why gangs wait
EXPLAIN_DELAY_WHEN_BUSY = 5.0  # seconds by which the explanation is delayed while plans change the cluster
STANDBY_INTERVAL = 1.0  # seconds between two snapshots of a standby
STALE_VIEW_RETRY = 1.0  # seconds after which a view that was too old is checked again
STALE_WARNING_AFTER = 5.0  # seconds after which a warning is logged that the watch does not show the loop's own writes
MIN_RECHECK = 0.1  # minimum seconds between two plans, if only time has passed

_log = logging.getLogger(__name__)


class LoopSettings(msgspec.Struct, frozen=True):
    policy: Policy = Policy()
    limits: HealthLimits = DEFAULT_LIMITS
    scheduler_name: str | None = None  # the scheduler name of its pods; None: all pods
    gather: float = 0.002  # seconds for which changes are collected before a plan: a burst of pods leads to one plan
    event_delay: float = 0.0  # seconds by which events are delayed, so that they do not delay urgent writes
    events: EventFormat = CoreEventFormat()  # the API group in which events are written
    patience: PodPatience = PodPatience()  # how long controllers may take to create pods
    keep_pods_in: str = ""  # the namespace that keeps the manifests of pods to be created again; '': the pod's own
    keep_incidents: int = 500  # number of incidents to keep in the cluster; older ones are deleted
    max_view_age: float | None = None  # seconds; no plan is made on an older view. None: no limit
    one_clock: bool = True  # whether nodes write their leases by this process's clock
    binds_whole: bool = True  # whether the cluster binds all pods of a gang at once, or none
    job_lag: float = 2.0  # seconds by which a job may be seen later than its pods
    autoscaler: AutoscalerSettings = AutoscalerSettings()
    evictor: float = 0.0  # seconds that the taint manager gets to delete pods; 0: the cluster has none


DEFAULT_SETTINGS = LoopSettings()


class Cycle(msgspec.Struct, frozen=True):
    """One turn of the loop, for its listener: the snapshot, the plan, and the actions that were applied or begun."""

    snapshot: Snapshot
    plan: Plan
    done: tuple[Action, ...] = ()
    took: float = 0.0  # seconds that the planning took


class LoopStatus(msgspec.Struct, frozen=True):
    """The state of a loop, for probes and metrics."""

    synced: bool = False  # every object has been seen once
    unseen: tuple[str, ...] = ()  # resources of which not all objects have been seen
    leads: bool = False
    interrupted_plans: int = 0  # plans that were interrupted because the cluster did not answer
    incidents: int = 0  # number that are open
    opened: int = 0  # number opened by this loop
    notices: int = 0  # number of notices for which a gang lost its seats
    notices_beaten: int = 0  # number of those before whose deadline all members had moved
    turn_lasts: float = 0.0  # seconds since the present turn began; 0 between two turns


class SchedulingLoop:
    """Level-triggered: every plan is made from the objects as they are. Only objects survive a restart.

    One plan is applied at a time, and the next one is not made before the view shows all writes of the last one."""

    def __init__(
        self,
        cluster: Cluster,
        clock: Clock,
        settings: LoopSettings = DEFAULT_SETTINGS,
        listener: Callable[[Cycle], None] | None = None,
    ) -> None:
        invalid = InvalidObjects()
        watched = WatchedCluster(LeaseClock(clock, settings.one_clock), job_lag=settings.job_lag)
        self.view = ClusterView(settings.policy, settings.scheduler_name, settings.limits, invalid, watched)
        self._clock = clock
        self._settings = settings
        self._listener = listener
        records = RecordWriter(cluster)
        self._recorder = EventRecorder(cluster, records, clock, settings.event_delay, settings.events)
        self._writer = ClusterWriter(cluster, self.view, self._recorder)
        self._evictor = TaintEviction(clock, settings.evictor)
        context = ApplyContext(cluster, clock, self.view, self._writer, self._recorder, self._evictor)
        store = IncidentStore(cluster, records, settings.keep_incidents)
        self._incidents = IncidentTracker(self.view, self._recorder, clock, store)
        self._node_failures = FailureAnnotations(records, clock, settings.policy)
        self._job_failures = JobFailures(self.view, self._writer, settings.policy)
        expectations = self._writer.expectations
        self._view_updater = ViewUpdater(self.view, expectations, invalid, self._recorder, self._observe)
        self._pod_recreator = PodRecreator(cluster, context, self._view_updater.changed, settings.keep_pods_in)
        self._wait_reasons = WaitReasons(self.view, self._recorder)
        self._applier = PlanApplier(context, self._pod_recreator, settings.patience, settings.binds_whole)
        self._checkpoint_requests = CheckpointRequests(context, records)
        scheduler = settings.scheduler_name or "understudy"
        self._provisioning = ProvisioningRequests(context, records, settings.autoscaler, scheduler)
        self._fence_annotations = FenceAnnotations(records, clock, self.view)
        self._drain_answers = DrainAnswers(records, clock, self.view)
        self._reflector = Reflector(cluster, clock, self._view_updater)
        self._view_age = ViewAge(cluster, settings.max_view_age)
        self._leads = False
        self._idle = False
        self._planned: Snapshot | None = None
        self._recheck_at: float | None = None  # when passing time alone may change the plan
        self._retry_at: float | None = None  # when a plan is made again after one could not be applied
        self._unexplained = False  # whether a gang may wait without a recorded reason
        self._explain_at = clock.now()  # the earliest time of the next explanation
        self._consecutive_failures = 0  # in a row
        self._interrupted_plans = 0  # in total
        self._plan_postponed = False  # whether the last turn made no plan
        self._turn_began: float | None = None

    async def run(self, lead: asyncio.Event | None = None) -> None:
        """Runs until it is cancelled. It watches from the start; it plans and writes as soon as `lead` is set."""
        async with asyncio.TaskGroup() as group:
            followed = (self._incidents.records.follow, self._provisioning.follow)
            for reads in (self._reflector.run, self._pod_recreator.run, *followed):
                group.create_task(reads())
            if lead is not None:
                await self._wait_for_leadership(lead)
            self._take_over()
            background = (
                self._recorder.run,
                self._incidents.records.write,
                self._node_failures.run,
                self._checkpoint_requests.run,
                self._fence_annotations.run,
                self._drain_answers.run,
                self._provisioning.run,
            )
            for writes in (*background, self._schedule):
                group.create_task(writes())

    @property
    def status(self) -> LoopStatus:
        parts = (self._reflector.synced, self._pod_recreator.synced, self._incidents.records.loaded)
        synced = all(part.is_set() for part in parts)
        return LoopStatus(
            synced=synced,
            unseen=self._reflector.unseen,
            leads=self._leads,
            interrupted_plans=self._interrupted_plans,
            incidents=self._incidents.open,
            opened=self._incidents.opened,
            notices=self._incidents.notices.total,
            notices_beaten=self._incidents.notices.beaten,
            turn_lasts=0.0 if (began := self._turn_began) is None else time.monotonic() - began,
        )

    async def _wait_for_leadership(self, lead: asyncio.Event) -> None:
        """A standby keeps its snapshot up to date, so that its first plan after taking over is made at once."""
        while not lead.is_set():
            if self._reflector.synced.is_set():
                self.view.snapshot(self._clock.now())
            await wait_for(lead, self._clock, self._clock.now() + STANDBY_INTERVAL)

    def _take_over(self) -> None:
        """Until now another loop recorded failures and incidents. From now on this one does."""
        self._leads = True
        for pod in list(self.view.pods()):
            self._job_failures.observe(pod, gone=False)
        self._incidents.records.take_over()

    def _observe(self, obj: KubeObject, gone: bool) -> None:
        if self._leads:
            self._incidents.observe(obj, gone)
            self._job_failures.observe(obj, gone)

    @property
    def at_rest(self) -> bool:
        """Whether there is nothing to do until an object changes or time passes."""
        idle = self._idle and not self._unexplained and not self._view_updater.changed.is_set()
        written = (
            self._recorder,
            self._incidents.records,
            self._node_failures,
            self._fence_annotations,
            self._drain_answers,
            self._checkpoint_requests,
            self._provisioning,
        )
        return idle and all(each.idle for each in written)

    async def _schedule(self) -> None:
        await self._reflector.synced.wait()
        await self._pod_recreator.synced.wait()
        await self._incidents.records.loaded.wait()  # otherwise decisions of an earlier loop would be lost
        while True:
            try:
                self._view_updater.changed.clear()
                await self._wait_for_own_writes()
                self._turn_began = time.monotonic()
                if self._view_age.is_clear():
                    await self._turn()
                else:
                    self._retry_at = self._clock.now() + STALE_VIEW_RETRY
            except Unreachable as error:
                self._try_again(error)
            if self.view.has_changed:  # by the turn itself
                self._view_updater.changed.set()
            self._idle, self._turn_began = True, None
            await wait_for(self._view_updater.changed, self._clock, self._next_turn_at())
            self._idle = False
            await self._clock.sleep(self._settings.gather)

    async def _turn(self) -> None:
        """One turn, in this order. Steps 1 and 4 write before the plan, and say why."""
        # 1. Preempted pods without an owner are created again. Only between two plans is it certain that a pod that is
        #    kept for this, and still exists, was not deleted after all.
        await self._pod_recreator.make_again()
        # 2. The view becomes a snapshot.
        now = self._clock.now()
        snapshot = self.view.snapshot(now)
        # 3. What the snapshot shows is handed to the recorders, which write in the background.
        self._fence_annotations.see(now)
        self._drain_answers.see(snapshot)
        self._view_updater.report_invalid_objects()
        # 4. Failures of jobs are written on the jobs. The plan reads them there: without them, a job that has just
        #    failed would start again without its back-off. So the plan waits for the next turn, once.
        if await self._job_failures.write(snapshot, now) and not self._plan_postponed:
            self._plan_postponed = True
            self._view_updater.changed.set()
            return
        self._plan_postponed = False
        # 5. A plan is made and applied, if the snapshot is new or a moment has come.
        acted = (snapshot is not self._planned or self._is_due(now)) and await self._plan_and_apply(snapshot, now)
        # 6. The reasons of waiting gangs are written. What was just applied may change them, so that is delayed, up
        #    to a limit.
        if self._unexplained and self._explain_at + (EXPLAIN_DELAY_WHEN_BUSY if acted else 0.0) <= now:
            self._explain(snapshot, now)

    async def _plan_and_apply(self, snapshot: Snapshot, now: float) -> bool:
        """Step 5: incidents open, the plan is made, incidents learn of it, it is applied, the view learns from it.

        Returns whether anything was done."""
        self._incidents.see(snapshot, now)
        began = time.perf_counter()
        snapshot, made = self._made_plan(snapshot, now)
        took = time.perf_counter() - began
        self._planned, self._unexplained = snapshot, True
        self._set_recheck(made, now)
        if self._incidents.decide(snapshot, made):
            await asyncio.sleep(0)
        asked = self._checkpoint_requests.see(made, snapshot)
        try:
            done = await self._applier.carry_out(made, snapshot)
        finally:
            for found in self._applier.take_passed_over():
                self.view.pass_over(found)
            self._node_failures.see(snapshot, now)
        self._retry_at, self._consecutive_failures = None, 0
        self._report(Cycle(snapshot, made, (*done, *asked), took))
        return bool(done or asked)

    def _made_plan(self, snapshot: Snapshot, now: float) -> tuple[Snapshot, Plan]:
        """A gang that the snapshot shows as it was some time ago may wait, but nothing is done with it."""
        while True:
            made = plan(snapshot, self._settings.policy, now, explaining=False)
            if not self.view.catch_up({action.gang for action in made.actions if not isinstance(action, Wait)}):
                return snapshot, made
            snapshot = self.view.snapshot(now)

    def _explain(self, snapshot: Snapshot, now: float) -> None:
        """Explanations take longer than plans, so they come after the plan was applied."""
        began = time.perf_counter()
        made = plan(snapshot, self._settings.policy, now)
        took = time.perf_counter() - began
        self._unexplained, self._explain_at = False, now + EXPLAIN_INTERVAL
        self._set_recheck(made, now)
        self._wait_reasons.explain(made, snapshot)
        self._provisioning.see(made, snapshot)
        self._report(Cycle(snapshot, made, took=took))

    def _set_recheck(self, made: Plan, now: float) -> None:
        self._recheck_at = None if made.recheck_at is None else max(made.recheck_at, now + MIN_RECHECK)

    def _try_again(self, error: Unreachable) -> None:
        """How much of the plan was applied is not known. The next plan starts from the objects as they are then."""
        pause = min(FIRST_PAUSE * 2.0 ** min(self._consecutive_failures, 10), LAST_PAUSE)
        self._consecutive_failures += 1
        self._interrupted_plans += 1
        self._retry_at = self._clock.now() + pause
        _log.warning("the cluster does not answer: %s; trying again in %.1f s", error, pause)

    def _report(self, cycle: Cycle) -> None:
        for action in cycle.done:
            _log.info("%s", describe(action), extra={"action": type(action).__name__.lower(), "gang": action.gang})
        if self._listener is not None:
            self._listener(cycle)

    async def _wait_for_own_writes(self) -> None:
        """Waits until the view shows what the loop wrote: a plan made earlier would give away seats that are taken."""
        await self._writer.resolve_uncertain_writes()
        told_at = self._clock.now() + STALE_WARNING_AFTER
        while (until := self._writer.expectations.open_until(now := self._clock.now())) is not None:
            if now >= told_at:
                told_at = math.inf
                _log.warning("waiting for the watch to show what was written: %s", self._writer.expectations.names)
            self._view_updater.changed.clear()
            wake_at = min(until, told_at)
            await wait_for(self._view_updater.changed, self._clock, wake_at if wake_at < math.inf else None)

    def _next_turn_at(self) -> float | None:
        explain_at = self._explain_at if self._unexplained else None
        moments = (*self._plan_again_at(), self.view.next_look(), explain_at)
        return min((at for at in moments if at is not None), default=None)

    def _is_due(self, now: float) -> bool:
        return any(at is not None and at <= now for at in self._plan_again_at())

    def _plan_again_at(self) -> tuple[float | None, ...]:
        """When a plan is made again although no object has changed."""
        return self._recheck_at, self._retry_at, self._applier.next_look(), self._evictor.next_look()
