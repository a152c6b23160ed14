"""Counts the pods of a Job: which run, which have been counted in its status, and which are counted now."""

from collections.abc import Iterable, Sequence

import msgspec

from understudy.kinds.children.job.pod_failures import (
    after_failure,
    index_of,
    is_disruption,
    is_failed,
    latest,
    policy_action,
)
from understudy.kinds.children.job.spec import TRACKING, JobObject
from understudy.kinds.children.partial_objects import PartialPod
from understudy.kinds.completion_indexes import parse_indexes


class PodCounts(msgspec.Struct, frozen=True):
    active: tuple[PartialPod, ...] = ()
    terminating: int = 0
    succeeded: int = 0  # without the uncounted pods
    failed: int = 0
    uncounted_succeeded: tuple[str, ...] = ()  # listed in status.uncountedTerminatedPods, or about to be
    uncounted_failed: tuple[str, ...] = ()
    done: frozenset[int] = frozenset()  # indexes that have succeeded
    failed_indexes: frozenset[int] = frozenset()
    released: tuple[PartialPod, ...] = ()  # pods whose finalizer may be removed once these counts are written
    fatal: str = ""  # the reason, if the pod failure policy ends the Job

    @property
    def all_succeeded(self) -> int:
        return self.succeeded + len(self.uncounted_succeeded)

    @property
    def all_failed(self) -> int:
        return self.failed + len(self.uncounted_failed)

    @property
    def settled(self) -> bool:
        """No pod is left that could still change the counts."""
        return not (self.active or self.terminating or self.uncounted_succeeded or self.uncounted_failed)


def count_pods(job: JobObject, pods: Sequence[PartialPod], doomed: bool = False) -> PodCounts:
    """Each pod is counted once: its uid (or index) is written first, then its finalizer is removed, and when the pod is
    seen without the finalizer, its uid is replaced by the number. `doomed`: the Job has failed, and the pods that still
    run count as failed."""
    counter = _Counter(job, pods, doomed)
    for pod in pods:
        if TRACKING in pod.metadata.finalizers:
            counter.count(pod)
    return counter.tally()


class _Counter:
    """Used for one count."""

    def __init__(self, job: JobObject, pods: Sequence[PartialPod], doomed: bool) -> None:
        self.job, self.pods, self.doomed = job, pods, doomed
        tracked = {pod.metadata.uid for pod in pods if TRACKING in pod.metadata.finalizers}
        on_record = job.status.uncounted_terminated_pods
        self.uncounted_succeeded, gone_well = _split(on_record.succeeded, tracked)
        self.uncounted_failed, gone_badly = _split(on_record.failed, tracked)
        self.succeeded, self.failed = job.status.succeeded + gone_well, job.status.failed + gone_badly
        self.on_record = set(self.uncounted_succeeded) | set(self.uncounted_failed)
        self.done = self._in_range(parse_indexes(job.status.completed_indexes))
        self.failed_indexes = self._in_range(parse_indexes(job.status.failed_indexes)) - self.done
        self.released: list[PartialPod] = []
        self.fatal = ""
        self.newest = _newest_by_index(pods) if job.spec.backoff_limit_per_index is not None else {}

    def _in_range(self, indexes: Iterable[int]) -> set[int]:
        if not self.job.indexed:
            return set()
        return {index for index in indexes if index < (self.job.completions or 0)}

    def count(self, pod: PartialPod) -> None:
        if pod.metadata.uid in self.on_record:
            self.released.append(pod)
        elif pod.status.phase == "Succeeded":
            self._succeeded(pod)
        elif self.doomed or is_failed(self.job, pod):
            self._failed(pod)

    def _succeeded(self, pod: PartialPod) -> None:
        self.released.append(pod)
        if self.job.indexed:  # the recorded index is enough to count the pod once
            self.done |= self._in_range(() if (index := index_of(pod)) is None else (index,))
        else:
            self.uncounted_succeeded.append(pod.metadata.uid)

    def _failed(self, pod: PartialPod) -> None:
        said = policy_action(self.job, pod)
        if said.action == "FailJob":
            self.fatal = self.fatal or said.message
        if self.job.spec.backoff_limit_per_index is not None and self._awaits_successor(pod, said.action):
            return
        self.released.append(pod)
        if said.action == "Ignore" or (not said.action and is_disruption(self.job, pod)):
            return
        self.uncounted_failed.append(pod.metadata.uid)

    def _awaits_successor(self, pod: PartialPod, action: str) -> bool:
        """The last pod of an index records how often the index failed, so it is kept until its successor exists."""
        index, limit = index_of(pod), self.job.spec.backoff_limit_per_index
        if index is None or limit is None:
            return False
        if action == "FailIndex" or after_failure(self.job, pod).counted > limit:
            self.failed_indexes |= self._in_range((index,)) - self.done
        if self.doomed or action == "FailJob" or index in self.failed_indexes or index in self.done:
            return False
        return self.newest[index] is pod

    def tally(self) -> PodCounts:
        succeeded = len(self.done) if self.job.indexed else self.succeeded
        return PodCounts(
            active=tuple(pod for pod in self.pods if pod.active),
            terminating=sum(pod.terminating for pod in self.pods),
            succeeded=succeeded,
            failed=self.failed,
            uncounted_succeeded=tuple(self.uncounted_succeeded),
            uncounted_failed=tuple(self.uncounted_failed),
            done=frozenset(self.done),
            failed_indexes=frozenset(self.failed_indexes - self.done),
            released=tuple(self.released),
            fatal=self.fatal,
        )


def _split(uids: Iterable[str], tracked: set[str]) -> tuple[list[str], int]:
    """The uids whose pods still have the finalizer, and the number of those that do not."""
    known = list(uids)
    kept = [uid for uid in known if uid in tracked]
    return kept, len(known) - len(kept)


def _newest_by_index(pods: Sequence[PartialPod]) -> dict[int, PartialPod]:
    by_index: dict[int, list[PartialPod]] = {}
    for pod in pods:
        if (index := index_of(pod)) is not None:
            by_index.setdefault(index, []).append(pod)
    return {index: newest for index, found in by_index.items() if (newest := latest(found)) is not None}
