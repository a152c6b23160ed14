"""Takes seats away: from victims of a preemption, from gangs that are requeued, from members that move.

All pods are told why. A job that can be suspended is suspended, its place in the queue and its seats are recorded in
the same write, and its controller deletes the pods without counting a failure. The pods of all other jobs are
evicted."""

from collections.abc import Awaitable, Callable, Iterable
from functools import partial

import msgspec

from understudy.control.apply.context import ApplyContext
from understudy.control.apply.gang_changes import GangChanges
from understudy.control.apply.pod_recreation import is_recreated
from understudy.control.apply.seats import seats_note
from understudy.control.concurrency import run_all
from understudy.control.record.event_formats import EventSubject, EventText
from understudy.decide.describe import describe
from understudy.decide.guards import HOUR
from understudy.kinds.annotations import (
    DISPLACED_AT,
    HOLDS,
    LAST_SEATS,
    QUEUED_AT,
    REQUEUED_AT,
    STALLED_AT,
    format_time,
    format_times,
)
from understudy.kinds.gangs.lone_pod import is_live
from understudy.kinds.job_control import LEFT_TO_END, JobFailure, MergePatch, failure_patch, suspend_patch
from understudy.kinds.pod_groups.definition import POD_GROUP
from understudy.kinds.registry import KINDS, control_of, counts_deletion, is_ending
from understudy.model.gangs import Gang, OnPreemption
from understudy.model.plans import Requeue, Swap
from understudy.model.snapshot import Snapshot
from understudy.objects.jobs import Workload
from understudy.objects.pods import Pod
from understudy.ports import PodEviction, Ref

PREEMPTED = "Preempted"
_LEAVING = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByUnderstudy",
    "message": "its node is lost",
}


class SeatRelease(msgspec.Struct, frozen=True):
    """A gang, or some of its members, that has to leave; `taker` is the gang that gets the seats, if any."""

    context: ApplyContext
    changes: GangChanges
    snapshot: Snapshot
    text: EventText  # the event for the job and its pods; with a taker, the pods' events name it instead
    keep: Callable[[Pod, Gang], Awaitable[None]]  # stores the manifest of a pod that is to be created again
    taker: GangChanges | None = None

    async def carry_out(self) -> None:
        pods = self._pods()
        ends = self.changes.gives_up and self.taker is not None and self.changes.gang.on_preemption is OnPreemption.FAIL
        if not self.changes.gives_up:
            await self._move(pods)
            return
        spared = self._spared(pods) if ends else []
        marked = ends or bool(self._pause())  # other pods get the condition together with their eviction
        await run_all(partial(self._mark, pod, pod in spared) for pod in pods if marked)
        for pod in pods:
            self.context.recorder.event(EventSubject.of(pod), self._text(pod))
        if ends:
            await self._end([pod for pod in pods if pod not in spared])
        else:
            await self._requeue(pods)

    def _pods(self) -> list[Pod]:
        """The pods that are bound and not being deleted yet."""
        names = set(self.changes.leaves)
        return [
            pod
            for pod in self.context.view.pods_of(self.changes.key)
            if pod.spec.node_name and is_live(pod) and (self.changes.gives_up or pod.metadata.name in names)
        ]

    def _spared(self, pods: list[Pod]) -> list[Pod]:
        """Pods that end by themselves when the others are gone. If all pods of the gang are such pods, they are evicted
        like the others."""
        job = self.context.view.job_of(self.changes.key)
        labels = control_of(job).spared.items() if job is not None else ()
        spared = [pod for pod in pods if labels and labels <= pod.metadata.labels.items() and not self._is_lost(pod)]
        return spared if len(spared) < len(pods) else []

    async def _move(self, pods: list[Pod]) -> None:
        """Members leave, and their gang waits for the replacements: so the events are written last."""
        await self._keep(pods)
        await self._remove(pods)
        for pod in pods:
            self.context.recorder.event(EventSubject.of(pod), self._text(pod))

    async def _mark(self, pod: Pod, spared: bool) -> None:
        condition = self._condition(self._text(pod), LEFT_TO_END if spared else "DisruptionTarget")
        await self.context.recorder.set_condition(pod, condition)

    def _text(self, pod: Pod) -> EventText:
        if self.taker:
            return self._preempted(pod)
        for swap in (action for action in self.changes.actions if isinstance(action, Swap)):
            moves = tuple(move for move in swap.moves if move.member == pod.metadata.name)
            if moves:  # only the event of the job names all members that move
                return msgspec.structs.replace(self.text, message=describe(msgspec.structs.replace(swap, moves=moves)))
        return self.text

    def _condition(self, text: EventText, kind: str) -> dict[str, str]:
        return {
            "type": kind,
            "status": "True",
            "reason": "PreemptionByScheduler" if self.taker else "DeletionByUnderstudy",
            "message": text.message,
            "lastTransitionTime": format_time(int(self.context.clock.now())),
        }

    def _preempted(self, pod: Pod) -> EventText:
        """Names the new pod, as far as it is known which pod takes this seat."""
        assert self.taker is not None
        gang, node, claims = self.taker.gang, pod.spec.node_name, self.taker.claims
        member = claims.get(node) or next(iter(claims.values()), gang.name)
        coming = self.context.view.pod(gang.namespace, member)
        known_as = f"pod uid {coming.metadata.uid}" if coming else gang.title
        source = coming or self.context.view.job_of(gang.key)
        related = EventSubject.of(source) if source is not None else None
        message = f"Preempted by {gang.namespace}/{member} on node {node} ({known_as})"
        return EventText(PREEMPTED, message, related=related)

    async def _requeue(self, pods: list[Pod]) -> None:
        job, pause = self.context.view.job_of(self.changes.key), self._pause()
        if job is not None:
            await self.context.writer.annotate(job, self._notes(pods, bool(pause)), pause)
        else:
            await self._keep(pods)
        lost = [pod for pod in pods if self._is_lost(pod)]
        await self._remove(lost if pause else pods)

    def _pause(self) -> MergePatch:
        """The patch that suspends the job; empty without a job, or where the job cannot be suspended."""
        job = self.context.view.job_of(self.changes.key)
        return suspend_patch(control_of(job), True) if job is not None else {}

    async def _keep(self, pods: Iterable[Pod]) -> None:
        await run_all(partial(self.keep, pod, self.changes.gang) for pod in pods if is_recreated(pod))

    def _notes(self, pods: Iterable[Pod], pausing: bool) -> dict[str, str | None]:
        gang, now = self.changes.gang, format_time(int(self.context.clock.now()))
        seats = {pod.metadata.name: pod.spec.node_name for pod in pods}
        return {
            **({REQUEUED_AT: now} if pausing else {}),
            **self._cause(gang, now),
            QUEUED_AT: format_time(gang.queued_at),
            LAST_SEATS: seats_note(gang, seats),
            HOLDS: None,
        }

    def _cause(self, gang: Gang, now: str) -> dict[str, str | None]:
        """The annotation for the cause, where later plans need it: a stalled gang backs off, a gang that lost its seats
        may use spares."""
        if self.taker:
            return {}
        if not any(isinstance(action, Requeue) and action.stalled for action in self.changes.actions):
            return {DISPLACED_AT: now}
        recent = [at for at in gang.stalls if self.context.clock.now() - at < HOUR]
        return {STALLED_AT: format_times((*recent, float(int(self.context.clock.now()))))}

    async def _end(self, pods: list[Pod]) -> None:
        """The job is made to fail in the way of its kind, so that its controller creates no new pods."""
        job = self.context.view.job_of(self.changes.key)
        if job is not None:
            now = format_time(int(self.context.clock.now()))
            await fail(self.context, job, JobFailure(PREEMPTED, self.text.message, now))
        await self._remove(pods)

    async def _remove(self, pods: Iterable[Pod]) -> None:
        await self.context.writer.release(
            [(pod, self._departure(pod)) for pod in pods if not self._is_left_to_taint_eviction(pod)]
        )

    def _is_left_to_taint_eviction(self, pod: Pod) -> bool:
        """If the taint manager does not delete the pod in time, the next plan finds it still there."""
        member = next((m for m in self.changes.gang.seated() if m.name == pod.metadata.name), None)
        until = self.context.evictor.wait_until(pod, member, self.snapshot) if member is not None else None
        if until is not None:
            self.context.writer.expect_deletion(pod, until)
        return until is not None

    def _departure(self, pod: Pod) -> PodEviction:
        condition = self._condition(self._text(pod), "DisruptionTarget")
        grace = 0 if self._is_lost(pod) else None
        return PodEviction(pod.metadata.name, pod.metadata.uid, condition, grace, _excused(pod))

    def _is_lost(self, pod: Pod) -> bool:
        return self.snapshot.is_lost(pod.spec.node_name)


async def fail(context: ApplyContext, job: Workload, ending: JobFailure) -> None:
    if is_ending(job):
        return
    if (through := KINDS[job.kind].child) is not None:
        child = await context.read(Ref(through.resource, job.metadata.namespace, job.metadata.name))
        assert isinstance(child, Workload)
        if is_ending(child):
            return
        job = child
    await context.writer.end(job, failure_patch(control_of(job), job.status.conditions, ending))


async def release_stuck_pods(context: ApplyContext, snapshot: Snapshot) -> None:
    """A deleted pod on a lost node would stay for ever: no kubelet is left to confirm its end.

    Pods that were deleted with a grace period of 0 are left to their controllers, which have to remove their
    finalizers."""
    stuck = []
    for name in snapshot.unhealthy:
        for seat in snapshot.nodes[name].seats if snapshot.is_lost(name) else ():
            gang = snapshot.gangs[seat.gang]
            pod = context.view.pod(gang.namespace, seat.member.name) if seat.leaving and gang.managed else None
            if pod is not None and pod.spec.node_name == name and pod.metadata.deletion_grace_period_seconds != 0:
                stuck.append(pod)
    await run_all(partial(_release_pod, context, pod) for pod in stuck)


async def _release_pod(context: ApplyContext, pod: Pod) -> None:
    """The pod was deleted, most often for a taint, after its node was lost: its Job must not count that as a
    failure."""
    if excused := _excused(pod):
        meta = pod.metadata
        await context.writer.release([(pod, PodEviction(meta.name, meta.uid, _LEAVING, grace=0, excused=excused))])
    else:
        await context.writer.remove(pod, at_once=True)


def _excused(pod: Pod) -> str:
    """The version in which the pod was seen, where its controller has to be told that a deletion is no failure."""
    return pod.metadata.resource_version if counts_deletion(pod.metadata) else ""


def would_lose_unowned_pod(context: ApplyContext, changes: GangChanges, snapshot: Snapshot) -> bool:
    """Whether a pod would leave a healthy node although no controller creates it again. Such a pod is not moved."""
    if changes.gang.kind not in ("Pod", POD_GROUP) or not changes.replaces:
        return False
    going = [pod for pod in context.view.pods_of(changes.key) if pod.metadata.name in changes.leaves]
    bare = [pod for pod in going if not pod.metadata.owner_references and not is_recreated(pod)]
    return any(not snapshot.is_lost(pod.spec.node_name) for pod in bare)
