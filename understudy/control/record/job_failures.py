"""Jobs that fail by themselves: turns pods that failed on healthy nodes into times of failure, recorded on their job.

The back-off of such jobs reads them there. A failure counts once, however many pods fail with it. The loss of a node is
no failure of the job: it is not counted, and it is removed again if the node is found to be lost only later."""

import logging
from collections.abc import Iterable
from functools import partial

import msgspec

from understudy.control.concurrency import run_all
from understudy.control.record.writes import JobAnnotator
from understudy.control.view.cluster_view import ClusterView
from understudy.decide.policy import Policy
from understudy.kinds.annotations import FAILED_AT, format_times
from understudy.kinds.gang_ref import job_key
from understudy.kinds.ownership import owner_of
from understudy.model.gangs import Gang
from understudy.model.snapshot import Snapshot
from understudy.objects.jobs import Workload
from understudy.objects.meta import KubeObject, seconds
from understudy.objects.pods import Pod
from understudy.ports import Refused, Unreachable

MAX_FAILURES = 16  # times that are kept on a job: the back-off reaches its maximum with fewer
START_SPREAD = 5.0  # seconds within which all pods of a gang start
UNNOTICED_LOSS = 60.0  # seconds that a node may be dead before its loss is detected

_log = logging.getLogger(__name__)


class FailedAttempt(msgspec.Struct, frozen=True):
    """A gang at its last failure."""

    at: float
    pods: frozenset[str]  # their uids
    nodes: frozenset[str]


class JobFailures:
    def __init__(self, view: ClusterView, annotator: JobAnnotator, policy: Policy) -> None:
        self._view = view
        self._annotator = annotator
        self._policy = policy
        self._failed: dict[str, Pod] = {}  # by uid: failed pods that have not been examined yet
        self._attempts: dict[str, FailedAttempt] = {}  # by gang

    def observe(self, obj: KubeObject, gone: bool) -> None:
        if isinstance(obj, Pod) and not gone:
            self._add(obj)

    def _add(self, pod: Pod) -> None:
        """A pod that was deleted, or that its node rejected, did not fail by itself."""
        if pod.status.phase == "Failed" and not pod.status.reason and pod.metadata.deletion_timestamp is None:
            self._failed[pod.metadata.uid] = pod

    async def write(self, snapshot: Snapshot, now: float) -> bool:
        """Returns whether the next plan has to read what was written."""
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
        """Of each gang that failed by itself, one pod, with the job."""
        found: dict[str, tuple[Pod, Workload, Gang]] = {}
        for pod in failed:
            job = self._view.job_of(owner_of(pod).key)
            gang = snapshot.gangs.get(job_key(job)) if job is not None else None
            if job is not None and gang is not None and self._counts(pod, gang, snapshot):
                found.setdefault(gang.key, (pod, job, gang))
        return list(found.values())

    def _counts(self, pod: Pod, gang: Gang, snapshot: Snapshot) -> bool:
        """Whether the pod failed by itself, and not in a failure of the gang that was counted before."""
        room = snapshot.nodes.get(pod.spec.node_name)
        if room is None or not room.node.usable or _has_lost_members(gang, snapshot):
            return False
        attempt, began = self._attempts.get(gang.key), seconds(pod.status.start_time) or 0.0
        if (attempt and pod.metadata.uid in attempt.pods) or any(at > began + 1.0 for at in gang.failures):
            return False
        # If other pods are newer, the gang was being repaired while this pod ran, which may have made it fail.
        others = (seconds(other.status.start_time) or 0.0 for other in self._view.pods_of(gang.key))
        return not any(other > began + START_SPREAD for other in others)

    async def _count(self, pod: Pod, job: Workload, gang: Gang, now: float) -> None:
        # Pods that were created again before this look are left out: their failures count by themselves.
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
        except Refused as error:  # most likely the job is gone
            _log.debug("not written down that %s failed: %s", job.title, error)


def _has_lost_members(gang: Gang, snapshot: Snapshot) -> bool:
    """Whether the gang has lost a node, is about to lose one, or is being repaired."""
    return bool(gang.holds) or any(m.node in snapshot.unhealthy for m in (*gang.seated(), *gang.leaving))
