"""Applies plans: turns the changes of each gang into writes, in an order that is safe to interrupt at any point.

First the holds are written, then preemptions are counted, then victims leave, then volumes are ordered and pods
bound, then the annotations of the jobs are updated. If a gang's write is refused, that gang and all that depend on it
are left for the next plan."""

import logging
from collections.abc import Awaitable, Callable, Iterable
from functools import partial

import msgspec

from understudy.control.apply.context import ApplyContext
from understudy.control.apply.deferred_gangs import MissingPods, PodPatience, WriteRetries, lacks_first_stage
from understudy.control.apply.gang_changes import GangChanges, changes_by_gang
from understudy.control.apply.pod_recreation import PodRecreator
from understudy.control.apply.seat_release import PREEMPTED, SeatRelease, release_stuck_pods, would_lose_unowned_pod
from understudy.control.apply.seats import (
    SeatsByPod,
    VolumeOrder,
    annotated_object,
    hold_seats,
    nominate_nodes,
    order_volumes,
    resume_job,
    seats_note,
    seats_to_take,
    volume_orders,
)
from understudy.control.apply.warm_understudies import dismiss_understudies, stepping_in
from understudy.control.concurrency import run_all
from understudy.control.record.event_formats import EventSubject, EventText
from understudy.control.view.gang_parts import PassedOver, wants_a_seat
from understudy.decide.describe import describe
from understudy.decide.guards import HOUR, is_preempting_now
from understudy.kinds.annotations import (
    DISPLACED_AT,
    EXCLUSIVE_TOPOLOGY,
    HOLDS,
    LAST_SEATS,
    PREEMPTED_FOR,
    REQUEUED_AT,
    STEPS_IN,
    format_times,
)
from understudy.kinds.gangs.lone_pod import is_live
from understudy.model.gangs import Gang, Suspension, TopologyMode
from understudy.model.plans import Action, Plan, Preempt, Requeue, Shrink, Swap
from understudy.model.snapshot import Snapshot
from understudy.objects.jobs import Workload
from understudy.objects.pods import Pod
from understudy.ports import Refused, Unreachable

BATCH = 64  # gangs of one pod that are bound by one call
MAX_BESIDE = 10_000  # members up to which the seats of all of them are checked when some are bound

_log = logging.getLogger(__name__)


class GangTask(msgspec.Struct):
    """The changes of one gang while they are applied: what can be done now, and what has been done."""

    changes: GangChanges
    seats: SeatsByPod
    reserved: dict[str, str] | None = None  # seats to hold for the gang; None: no change
    orders: list[VolumeOrder] = []  # volumes to create for these seats before pods are bound
    resumes: bool = False
    failed: bool = False
    bound: bool = False  # whether all those seats were bound
    done: bool = False  # whether any write for the gang has succeeded

    @property
    def gang(self) -> Gang:
        return self.changes.gang

    @property
    def binds(self) -> bool:
        return bool(self.seats.there) and not self.resumes


class PlanApplier:
    def __init__(
        self, context: ApplyContext, recreator: PodRecreator, patience: PodPatience, binds_whole: bool = True
    ) -> None:
        """`binds_whole`: the cluster binds all pods of a gang at once, or none."""
        self._context = context
        self._recreator = recreator
        self._binds_whole = binds_whole
        self._retries = WriteRetries(context)
        self._missing = MissingPods(context, self._retries, patience)
        self._stepping_in: dict[str, Pod] = {}  # warm understudies that become pods, by the uid of that pod

    async def carry_out(self, plan: Plan, snapshot: Snapshot) -> list[Action]:
        """Returns the actions that were applied or begun. Raises Unreachable if it is not known how much was
        applied."""
        by_gang = changes_by_gang(plan, snapshot)
        self._retries.begin(snapshot.gangs)
        self._context.evictor.begin()
        tasks = {task.changes.key: task for task in await self._prepared(by_gang, snapshot)}
        await self._fence(snapshot)
        reserved = [t for t in tasks.values() if t.reserved is not None or self._takes_seats_one_by_one(t)]
        await self._each((t for t in reserved if not _moves_only_lost_seats(t.changes, snapshot)), self._hold_seats)
        leaving = [t for t in tasks.values() if t.changes.leaves or t.changes.gives_up]
        await self._each((tasks[key] for key in _gangs_to_make_room_for(tasks, leaving)), self._count_preemption)
        await self._each(leaving, partial(self._release, tasks, snapshot))
        await self._each((t for t in tasks.values() if t.resumes), self._resume)
        await self._each((t for t in tasks.values() if t.orders), partial(self._order_volumes, snapshot))
        dismissed = await dismiss_understudies(self._context, plan, snapshot)
        self._stepping_in = stepping_in(self._context, plan, snapshot)
        await self._bind([t for t in tasks.values() if t.binds and not t.failed])
        await self._each((t for t in tasks.values() if t.done or t.reserved is not None), self._write_annotations)
        return [action for task in tasks.values() if task.done for action in task.changes.actions] + dismissed

    def take_passed_over(self) -> list[PassedOver]:
        """The gangs that the next plans leave out, since their pods were not created in time."""
        return self._missing.take_passed_over()

    def next_look(self) -> float | None:
        """When a delayed gang is tried again, or a missing pod is given up."""
        return min(
            (at for at in (self._missing.next_look(), self._retries.next_look()) if at is not None), default=None
        )

    # What can be done now

    async def _prepared(self, by_gang: dict[str, GangChanges], snapshot: Snapshot) -> list[GangTask]:
        tasks = [self._task(changes) for changes in by_gang.values()]
        blocked = {key for key in by_gang if self._retries.is_delayed(key)}
        blocked |= {key for key, changes in by_gang.items() if would_lose_unowned_pod(self._context, changes, snapshot)}
        blocked |= await self._missing.blocked({key: changes for key, changes in by_gang.items() if key not in blocked})
        blocked = _with_dependents(by_gang, blocked)
        return [task for task in tasks if task.changes.key not in blocked]

    def _task(self, changes: GangChanges) -> GangTask:
        seats = seats_to_take(self._context, changes)
        requeued = changes.gang.suspension is Suspension.REQUEUED
        task = GangTask(changes, seats, resumes=bool(changes.starts) and requeued)
        task.orders = volume_orders(self._context, seats.there)
        if task.orders or self._moves_whole_and_lacks_pods(changes):
            task.seats = seats = SeatsByPod(
                [], {**seats.absent, **{pod.metadata.name: node for pod, node in seats.there}}
            )
        if changes.gives_up or task.resumes:
            return task  # the write that suspends or resumes the job also contains the holds
        if changes.holds is not None:
            task.reserved = {**dict(changes.holds), **seats.absent}
        elif seats.absent:
            task.reserved = seats.absent
        return task

    def _moves_whole_and_lacks_pods(self, changes: GangChanges) -> bool:
        """A gang of which no member keeps its seat starts anew, once the pods of its first stage exist."""
        stays = any(m.node and m.name not in changes.leaves for m in changes.gang.members())
        return bool(changes.replaces) and not stays and lacks_first_stage(self._context, changes.gang, changes.replaces)

    async def _each(self, tasks: Iterable[GangTask], step: Callable[[GangTask], Awaitable[None]]) -> None:
        await run_all(partial(self._attempt, task, step) for task in tasks if not task.failed)

    async def _attempt(self, task: GangTask, step: Callable[[GangTask], Awaitable[None]]) -> None:
        try:
            await step(task)
            if task.done:
                self._retries.succeeded(task.changes.key)
        except Refused as error:
            task.failed = True
            self._retries.refused(task.gang, error)

    # In this order

    async def _fence(self, snapshot: Snapshot) -> None:
        try:
            await release_stuck_pods(self._context, snapshot)
        except Refused as error:
            _log.warning("the cluster refused to let go of pods on a lost node: %s", error)

    def _takes_seats_one_by_one(self, task: GangTask) -> bool:
        """In that case all seats are held first: the first process may run before the last pod is bound."""
        return task.binds and not self._binds_whole and len(task.seats.there) + len(task.gang.seated()) > 1

    async def _hold_seats(self, task: GangTask) -> None:
        """Holds that are about to be used are kept until the pods are bound: the binding may fail."""
        taking = {pod.metadata.name: node for pod, node in task.seats.there}
        kept = {member: node for member, node in task.gang.holds if taking.get(member) == node}
        if self._takes_seats_one_by_one(task):
            kept = taking
        task.done |= await hold_seats(self._context, task.gang, {**kept, **(task.reserved or {})})

    async def _release(self, tasks: dict[str, GangTask], snapshot: Snapshot, task: GangTask) -> None:
        if task.reserved is not None and _moves_only_lost_seats(task.changes, snapshot):
            await run_all((partial(self._hold_seats, task), partial(self._give_up_seats, tasks, snapshot, task)))
        else:
            await self._give_up_seats(tasks, snapshot, task)

    async def _give_up_seats(self, tasks: dict[str, GangTask], snapshot: Snapshot, task: GangTask) -> None:
        taker = tasks.get(task.changes.by)
        if task.changes.by and (taker is None or taker.failed):
            return
        text = self._with_taker(taker, _event_for(task.changes.actions))
        keep, taken_by = self._recreator.keep, taker.changes if taker else None
        await SeatRelease(self._context, task.changes, snapshot, text, keep, taken_by).carry_out()
        task.done = True
        self._record_on_job(task.gang, text)

    async def _count_preemption(self, task: GangTask) -> None:
        """Records on the gang that others are preempted for it. This is written before the preemption, so that it is
        never missing."""
        holder, now = annotated_object(self._context, task.gang), self._context.clock.now()
        if holder is not None and not is_preempting_now(task.gang, now):
            recent = [at for at in task.gang.preempted_for_it if now - at < HOUR]
            await self._context.writer.annotate(holder, {PREEMPTED_FOR: format_times((*recent, float(int(now))))})

    async def _resume(self, task: GangTask) -> None:
        await resume_job(self._context, task.gang, task.changes.starts)
        task.done = True
        self._record_on_job(task.gang, EventText("Resumed", describe(task.changes.actions[-1])))

    async def _order_volumes(self, snapshot: Snapshot, task: GangTask) -> None:
        task.done |= await order_volumes(self._context, task.orders, snapshot.nodes)
        for pod in self._context.view.pods_of(task.changes.key):
            if pod.metadata.name in task.seats.absent and wants_a_seat(pod):
                self._context.recorder.record_wait(EventSubject.of(pod), task.orders[0].words)

    async def _bind(self, tasks: list[GangTask]) -> None:
        await run_all(partial(self._bind_batch, batch) for batch in _batches(tasks))

    async def _bind_batch(self, tasks: list[GangTask]) -> None:
        """Gangs of one pod are bound in one call. If the cluster refuses the call, each gang is bound by itself."""
        try:
            if len(tasks) > 1:
                await self._bind_seats(tasks)
                return
        except Refused:
            pass  # one of the pods has changed; binding each gang by itself shows which
        await self._each((task for task in tasks if not task.bound), self._bind_one)

    async def _bind_one(self, task: GangTask) -> None:
        await self._bind_seats([task])

    async def _bind_seats(self, tasks: list[GangTask]) -> None:
        seats = [seat for task in tasks for seat in task.seats.there]
        await self._context.recorder.cancel(pod.metadata.uid for pod, _ in seats)
        try:
            beside = [pod for task in tasks for pod in self._members_that_stay(task)]
            await self._context.writer.bind(tasks[0].gang.namespace, seats, self._notes_on_pods(tasks), beside)
        except (Refused, Unreachable) as error:
            self._note_seated(tasks, error.done)
            raise
        self._note_seated(tasks, frozenset(pod.metadata.uid for pod, _ in seats))

    def _members_that_stay(self, task: GangTask) -> list[Pod]:
        """The pods that the plan counts as seated beside those to be bound. A member may have failed since the plan was
        made; then no process of the gang may start. An elastic gang can do without it."""
        gang = task.gang
        if not self._binds_whole or gang.elastic or gang.size > MAX_BESIDE:
            return []
        stay = (m for m in gang.seated() if m.name not in task.changes.leaves)
        pods = ((m, self._context.view.pod(gang.namespace, m.name)) for m in stay)
        return [pod for m, pod in pods if pod is not None and pod.spec.node_name == m.node and is_live(pod)]

    def _notes_on_pods(self, tasks: list[GangTask]) -> dict[str, dict[str, str]]:
        """By uid: the understudy that becomes the pod, and the label of the domain that the pod's island owns. The pod
        keeps that label, since its job may be deleted before the pod has left."""
        notes = {uid: {STEPS_IN: understudy.metadata.uid} for uid, understudy in self._stepping_in.items()}
        for task in tasks:
            owned = _exclusive_topologies(task.gang)
            for pod, _ in task.seats.there if owned else ():
                if key := owned.get(pod.metadata.name):
                    notes.setdefault(pod.metadata.uid, {})[EXCLUSIVE_TOPOLOGY] = key
        return notes

    def _note_seated(self, tasks: list[GangTask], uids: frozenset[str]) -> None:
        """Not every cluster can bind a gang whole or not at all. The pods that were bound get their events, and the
        next plan handles the rest."""
        for task in tasks:
            taken = [seat for seat in task.seats.there if seat[0].metadata.uid in uids]
            task.done, task.bound = task.done or bool(taken), len(taken) == len(task.seats.there)
            for pod, node in taken:
                self._record_seated(pod, node)

    def _record_seated(self, pod: Pod, node: str) -> None:
        meta = pod.metadata
        message = f"Successfully assigned {meta.namespace}/{meta.name} to {node}"
        self._context.recorder.event(EventSubject.of(pod), EventText("Scheduled", message))
        if understudy := self._stepping_in.get(meta.uid):
            message = f"Understudy {understudy.metadata.name} steps in on node {node}"
            self._context.recorder.event(EventSubject.of(pod), EventText("SteppedIn", message))

    async def _write_annotations(self, task: GangTask) -> None:
        """Writes on the job where its pods sit now, for a later restart, and removes the holds that were used."""
        job = self._context.view.job_of(task.changes.key)
        if job is not None and task.binds:
            notes = self._notes_on_seats(task, job)
            if notes:
                await self._context.writer.annotate(job, notes)
        if job is not None and task.reserved is not None:
            nominate_nodes(self._context, task.gang, task.reserved)
        if job is None and task.bound:
            await hold_seats(self._context, task.gang, task.reserved or {})

    def _notes_on_seats(self, task: GangTask, job: Workload) -> dict[str, str | None]:
        written = job.metadata.annotations
        notes = {REQUEUED_AT: None, DISPLACED_AT: None, HOLDS: seats_note(task.gang, task.reserved or {})}
        if task.gang.size > 1:
            kept = {m.name: m.node for m in task.gang.seated() if m.name not in task.changes.leaves}
            taken = {pod.metadata.name: node for pod, node in task.seats.there}
            notes[LAST_SEATS] = seats_note(task.gang, {**kept, **taken})
        return {name: note for name, note in notes.items() if written.get(name) != note}

    # Words

    def _record_on_job(self, gang: Gang, text: EventText) -> None:
        job = self._context.view.job_of(gang.key)
        if job is not None:
            self._context.recorder.event(EventSubject.of(job), text)

    def _with_taker(self, taker: GangTask | None, text: EventText) -> EventText:
        """The same text, with the job that gets the seats as the related object."""
        job = self._context.view.job_of(taker.gang.key) if taker is not None else None
        return text if job is None else msgspec.structs.replace(text, related=EventSubject.of(job))


def _moves_only_lost_seats(changes: GangChanges, snapshot: Snapshot) -> bool:
    """Whether the gang moves only from lost seats to free seats, so that no other gang had to leave. The holds are then
    written together with the eviction: if they were missing, the gang could be given other seats. A gang that keeps no
    seat is excluded: it would be a start, which may not use a spare, and no longer a repair, which may."""
    moves_now = bool(changes.replaces and changes.leaves) and not (changes.waits_for or changes.by or changes.gives_up)
    leaving = [m for m in changes.gang.seated() if m.name in changes.leaves]
    return moves_now and len(leaving) < len(changes.gang.seated()) and all(snapshot.is_lost(m.node) for m in leaving)


def _exclusive_topologies(gang: Gang) -> dict[str, str]:
    """member -> the label whose domain its island has to itself."""
    return {
        member.name: island.topology.key
        for island in gang.islands
        if island.topology is not None and island.topology.mode is TopologyMode.EXCLUSIVE
        for member in island.members
    }


def _batches(tasks: Iterable[GangTask]) -> list[list[GangTask]]:
    """What may be bound by one call: a gang, or several gangs of one pod each in one namespace."""
    found: list[list[GangTask]] = []
    filling: dict[str, list[GangTask]] = {}
    for task in tasks:
        batch = filling.get(task.gang.namespace)
        if task.gang.size > 1:
            batch = []
            found.append(batch)
        elif batch is None or len(batch) >= BATCH:
            batch = filling[task.gang.namespace] = []
            found.append(batch)
        batch.append(task)
    return found


def _gangs_to_make_room_for(tasks: dict[str, GangTask], leaving: Iterable[GangTask]) -> list[str]:
    """The gangs for which other gangs have to leave."""
    keys = {task.changes.by: None for task in leaving if task.changes.by and not task.failed}
    return [key for key in keys if key in tasks]


def _with_dependents(by_gang: dict[str, GangChanges], blocked: set[str]) -> set[str]:
    """A gang that leaves for a blocked gang is blocked too, and so is a gang that waits for it to leave."""
    while True:
        more = {
            changes.key
            for changes in by_gang.values()
            if changes.by in blocked
            or any(key in blocked and by_gang[key].by for key in changes.waits_for if key in by_gang)
        }
        if more <= blocked:
            return blocked
        blocked |= more


def _event_for(actions: list[Action]) -> EventText:
    """The event for a gang that gives up seats."""
    reasons = {Preempt: PREEMPTED, Requeue: "Requeued", Swap: "HotSwapped", Shrink: "Shrunk"}
    for action in actions:
        if type(action) in reasons:
            return EventText(reasons[type(action)], describe(action), isinstance(action, Requeue | Shrink))
    raise AssertionError(f"no gang gives up seats in {actions}")
