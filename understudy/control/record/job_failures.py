"""Jobs that fail by themselves: turns pods that failed on healthy nodes into moments, written on their job.

The guard that lets such a job wait longer each time reads them there. A failure counts once, however many pods go down
with it. What goes down with a node is not the job's doing: it is not counted, and struck out again where the node is
found to be lost only afterwards.
"""

import logging
from collections.abc import Iterable
from functools import partial

import msgspec

from understudy.control.concurrency import run_all
from understudy.control.record.writes import JobAnnotator
from understudy.control.view.cluster_view import ClusterView
from understudy.decide.policy import Policy
from understudy.kinds.annotations import FAILED_AT, format_times
from understudy.kinds.ownership import job_key, owner_of
from understudy.model.gangs import Gang
from understudy.model.snapshot import Snapshot
from understudy.objects.jobs import Workload
from understudy.objects.meta import KubeObject, seconds
from understudy.objects.pods import Pod
from understudy.ports import Refused, Unreachable

MAX_FAILURES = 16  # moments on a job: the wait is the longest there is long before
START_SPREAD = 5.0  # seconds within which the pods of a gang that starts begin
UNNOTICED_LOSS = 60.0  # seconds for which a node may have been dead before anybody noticed

_log = logging.getLogger(__name__)


class FailedAttempt(msgspec.Struct, frozen=True):
    """A gang as it was when it failed last."""

    at: float
    pods: frozenset[str]  # their uids
    nodes: frozenset[str]


class JobFailures:
    def __init__(self, view: ClusterView, annotator: JobAnnotator, policy: Policy) -> None:
        self._view = view
        self._annotator = annotator
        self._policy = policy
        self._failed: dict[str, Pod] = {}  # by uid: seen to have failed, and not looked at yet
        self._attempts: dict[str, FailedAttempt] = {}  # by gang

    def observe(self, obj: KubeObject, gone: bool) -> None:
        if isinstance(obj, Pod) and not gone:
            self._add(obj)

    def _add(self, pod: Pod) -> None:
        """A pod that was told to go, or that its node turned away, did not fail by itself."""
        if pod.status.phase == "Failed" and not pod.status.reason and pod.metadata.deletion_timestamp is None:
            self._failed[pod.metadata.uid] = pod

    async def write(self, snapshot: Snapshot, now: float) -> bool:
        """Whether anything was written that the next plan should know of."""
        if self._attempts and snapshot.unhealthy:
            await self._remove_node_failures(snapshot)
        if not self._failed:
            return False
        failed, self._failed = self._failed, {}
        own = self._own_failures(failed.values(), snapshot)
        try:
            await run_all(partial(self._count, *one, now) for one in own)
        except Unreachable:
            self._failed = {**failed, **self._failed}
            raise
        return bool(own)

    def _own_failures(self, failed: Iterable[Pod], snapshot: Snapshot) -> list[tuple[Pod, Workload, Gang]]:
        """A pod of each gang that failed for no reason but its own, with its job."""
        found: dict[str, tuple[Pod, Workload, Gang]] = {}
        for pod in failed:
            job = self._view.job_of(owner_of(pod).key)
            gang = snapshot.gangs.get(job_key(job)) if job is not None else None
            if job is not None and gang is not None and self._counts(pod, gang, snapshot):
                found.setdefault(gang.key, (pod, job, gang))
        return list(found.values())

    def _counts(self, pod: Pod, gang: Gang, snapshot: Snapshot) -> bool:
        """Whether it failed for no reason but its own, and for another one than the gang did last."""
        room = snapshot.nodes.get(pod.spec.node_name)
        if room is None or not room.node.usable or _is_hurt(gang, snapshot):
            return False
        attempt, began = self._attempts.get(gang.key), seconds(pod.status.start_time) or 0.0
        if (attempt and pod.metadata.uid in attempt.pods) or any(at > began + 1.0 for at in gang.failures):
            return False
        # Where others are newer, the gang was mended while this one ran, which may be what it did not survive.
        others = (seconds(other.status.start_time) or 0.0 for other in self._view.pods_of(gang.key))
        return not any(other > began + START_SPREAD for other in others)

    async def _count(self, pod: Pod, job: Workload, gang: Gang, now: float) -> None:
        # Without those that were made again before anybody looked: what befalls them is another matter.
        pods = [pod, *(other for other in self._view.pods_of(gang.key) if other.spec.node_name)]
        uids, nodes = (frozenset(p.metadata.uid for p in pods), frozenset(p.spec.node_name for p in pods))
        recent = [at for at in gang.failures if now - at < self._policy.backoff_window]
        await self._write(job, (*recent[1 - MAX_FAILURES :], float(int(now))))
        self._attempts = {key: a for key, a in self._attempts.items() if now - a.at < UNNOTICED_LOSS}
        self._attempts[gang.key] = FailedAttempt(now, uids, nodes)

    async def _remove_node_failures(self, snapshot: Snapshot) -> None:
        lost = {name: snapshot.nodes[name].node.health for name in snapshot.unhealthy if snapshot.is_lost(name)}
        for key, attempt in list(self._attempts.items()):
            died = [lost[name].since or attempt.at for name in attempt.nodes if name in lost]
            if not died or attempt.at < min(died) - UNNOTICED_LOSS:
                continue
            gang, job = snapshot.gangs.get(key), self._view.job_of(key)
            if gang is not None and job is not None and gang.failures:
                await self._write(job, tuple(at for at in gang.failures if at < min(died) - UNNOTICED_LOSS))
            del self._attempts[key]

    async def _write(self, job: Workload, moments: tuple[float, ...]) -> None:
        try:
            await self._annotator.annotate(job, {FAILED_AT: format_times(moments) or None})
        except Refused as error:  # it is gone, most likely
            _log.debug("not written down that %s failed: %s", job.title, error)


def _is_hurt(gang: Gang, snapshot: Snapshot) -> bool:
    """Whether it has lost a node, is about to, or is being mended."""
    return bool(gang.holds) or any(m.node in snapshot.unhealthy for m in (*gang.seated(), *gang.leaving))
