"""A batch/v1 Job and its pods into the next actions: pods to create, to delete and to count."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from understudy.kinds.children.actions import (
    NO_ACTIONS,
    ChildActions,
    CreateChild,
    DeleteChild,
    Document,
    EventNote,
    ObservedChildren,
    PatchChild,
    earliest,
    remove_finalizer,
)
from understudy.kinds.children.job.ending import JobEnd, deadline, find_end
from understudy.kinds.children.job.pod_counts import PodCounts, count_pods
from understudy.kinds.children.job.pod_failures import (
    IndexFailures,
    after_failure,
    backoff_until,
    index_backoff_until,
    index_of,
    is_failed,
    latest,
)
from understudy.kinds.children.job.pods import PodMaker
from understudy.kinds.children.job.spec import OWN_CONTROLLER, TRACKING, JobObject
from understudy.kinds.children.job.status import ending_status, running_status
from understudy.kinds.children.partial_objects import PartialPod
from understudy.kinds.end_conditions import JOB_ENDS
from understudy.objects.meta import seconds
from understudy.objects.resources import PODS

MOST_AT_ONCE = 500  # pods created at a time; the rest follows in the next reconciliation
DELETED = EventNote("SuccessfulDelete", "Deleted pod: {name}")
NO_ATTEMPTS = IndexFailures()


def reconcile(document: Document, observed: ObservedChildren, now: float) -> ChildActions:
    job = msgspec.convert(document, JobObject)
    pods = sorted(observed.pods, key=lambda pod: pod.metadata.name)
    if job.spec.managed_by not in ("", OWN_CONTROLLER):
        return NO_ACTIONS
    if job.metadata.leaving:  # its pods are deleted with it, and their results are not counted
        return ChildActions(patches=_released(pods))
    if job.finished:
        return _after_the_end(job, pods, now)
    case = _Case(job, document, pods, count_pods(job, pods), now)
    ending = find_end(job, case.tally, now)
    if ending is not None:
        return _while_ending(case, ending)
    return _while_suspended(case) if job.spec.suspend else _while_running(case)


def release_orphans(observed: ObservedChildren) -> ChildActions:
    """Pods whose Job is gone lose its finalizer."""
    return ChildActions(patches=_released(observed.pods))


class _Case(NamedTuple):
    job: JobObject
    document: Document
    pods: Sequence[PartialPod]
    tally: PodCounts
    now: float

    @property
    def status(self) -> Document:
        status: Document = self.document.get("status") or {}
        return status


def _after_the_end(job: JobObject, pods: Sequence[PartialPod], now: float) -> ChildActions:
    expires = _expiry(job)
    if expires is not None and now >= expires:
        return ChildActions(patches=_released(pods), expired=True)
    return ChildActions(patches=_released(pods), again_at=expires)


def _expiry(job: JobObject) -> float | None:
    allowed = job.spec.ttl_seconds_after_finished
    recorded = [seconds(one.last_transition_time) for one in JOB_ENDS.recorded(job.status.conditions)]
    ended = max((moment for moment in recorded if moment is not None), default=None)
    return None if allowed is None or ended is None else ended + allowed


def _while_ending(case: _Case, ending: JobEnd) -> ChildActions:
    """Pods that still run are deleted. They count as failed if the Job has failed; otherwise they are not counted."""
    tally = case.tally if ending.success else count_pods(case.job, case.pods, doomed=True)
    status, notes = ending_status(case.job, case.status, tally, ending, case.now)
    unasked = tally.active if ending.success else ()
    return ChildActions(
        status=status,
        patches=_released((*tally.released, *unasked)),
        deletes=_pod_deletions(tally.active),
        notes=notes,
    )


def _while_suspended(case: _Case) -> ChildActions:
    """A suspended Job has no pods. Their finalizers are removed first, so that none of them is ever counted."""
    status, notes = running_status(case.job, case.status, case.tally, case.now)
    return ChildActions(
        status=status,
        patches=_released((*case.tally.released, *case.tally.active)),
        deletes=_pod_deletions(case.tally.active),
        notes=notes,
    )


def _while_running(case: _Case) -> ChildActions:
    status, notes = running_status(case.job, case.status, case.tally, case.now)
    surplus = _surplus(case)
    creates, wait = ((), None) if surplus else _missing(case)
    return ChildActions(
        status=status,
        patches=_released((*case.tally.released, *surplus)),
        deletes=_pod_deletions(surplus),
        creates=creates,
        notes=notes,
        again_at=earliest(wait, deadline(case.job)),
    )


def _wanted(case: _Case) -> int:
    """How many pods should be active."""
    job, tally = case.job, case.tally
    if job.completions is None:  # after the first success, a work queue only waits for its other pods
        return len(tally.active) if tally.all_succeeded else job.spec.parallelism
    left = job.completions - tally.all_succeeded - len(tally.failed_indexes)
    return max(0, min(job.spec.parallelism, left))


def _surplus(case: _Case) -> tuple[PartialPod, ...]:
    """First duplicates and pods outside the range of indexes, then the pods with the least progress."""
    ranked = sorted(case.tally.active, key=_least_to_lose)
    misplaced = _misplaced(case, ranked) if case.job.indexed else []
    others = [pod for pod in ranked if pod not in misplaced]
    too_many = len(ranked) - _wanted(case) - len(misplaced)
    return tuple(misplaced + others[: max(0, too_many)])


def _misplaced(case: _Case, ranked: Sequence[PartialPod]) -> list[PartialPod]:
    found: list[PartialPod] = []
    taken = set(case.tally.done | case.tally.failed_indexes)
    for pod in reversed(ranked):
        index = index_of(pod)
        if index is None or index >= (case.job.completions or 0) or index in taken:
            found.append(pod)
        else:
            taken.add(index)
    return found


def _least_to_lose(pod: PartialPod) -> tuple[bool, bool, bool, int, float, str]:
    meta = pod.metadata
    made = seconds(meta.creation_timestamp) or 0.0
    running = pod.status.phase == "Running"
    return (bool(pod.spec.node_name), running, pod.ready, -(index_of(pod) or 0), -made, meta.name)


def _missing(case: _Case) -> tuple[tuple[CreateChild, ...], float | None]:
    """The pods to create now, and when to look again if some must wait."""
    job, tally = case.job, case.tally
    occupied = len(tally.active) + (tally.terminating if job.replaces_only_failed else 0)
    count = min(_wanted(case) - occupied, MOST_AT_ONCE)
    if count <= 0:
        return (), None
    per_index = job.spec.backoff_limit_per_index is not None
    if not per_index and (until := backoff_until(job, case.pods)) > case.now:
        return (), until
    maker = PodMaker(job, case.document["spec"]["template"])
    if not job.indexed:
        return tuple(maker.plain() for _ in range(count)), None
    if not per_index:
        return tuple(maker.indexed(index) for index in _open_indexes(case)[:count]), None
    return _independent(case, maker, count)


def _open_indexes(case: _Case) -> list[int]:
    """The indexes without an active pod, lowest first."""
    job, tally = case.job, case.tally
    busy = [pod for pod in case.pods if pod.active or (job.replaces_only_failed and pod.terminating)]
    taken = {index_of(pod) for pod in busy} | tally.done | tally.failed_indexes
    return [index for index in range(job.completions or 0) if index not in taken]


def _independent(case: _Case, maker: PodMaker, count: int) -> tuple[tuple[CreateChild, ...], float | None]:
    """Every index has its own back-off, and its pods record how often it failed before them."""
    by_index: dict[int | None, list[PartialPod]] = {}
    for pod in case.pods:
        by_index.setdefault(index_of(pod), []).append(pod)
    creates: list[CreateChild] = []
    waits: list[float] = []
    for index in _open_indexes(case):
        last = latest(by_index.get(index, ()))
        until = index_backoff_until(case.job, last)
        if until > case.now:
            waits.append(until)
        elif len(creates) < count:
            before = last is not None and is_failed(case.job, last)
            creates.append(maker.indexed(index, after_failure(case.job, last) if last and before else NO_ATTEMPTS))
    return tuple(creates), earliest(*waits)


def _released(pods: Iterable[PartialPod]) -> tuple[PatchChild, ...]:
    tracked = {pod.metadata.uid: pod.metadata for pod in pods if TRACKING in pod.metadata.finalizers}
    return tuple(remove_finalizer(PODS, meta, TRACKING) for meta in tracked.values())


def _pod_deletions(pods: Iterable[PartialPod]) -> tuple[DeleteChild, ...]:
    return tuple(DeleteChild(PODS, pod.metadata.name, pod.metadata.uid, DELETED) for pod in pods)
