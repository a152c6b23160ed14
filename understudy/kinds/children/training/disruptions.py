"""Whose fault a fall was: processes that lose a peer tend to fall with it, often before it is known that its node is
lost. Such falls are excused, and where one may be of that kind it is not judged at once."""

from collections.abc import Iterable, Mapping

import msgspec

from understudy.kinds.children.partial_objects import PartialContainerStatus, PartialPod, find_condition
from understudy.objects.meta import seconds

DOUBT = 10.0  # seconds it may take until it is known that a node is lost
AFTERMATH = 1800.0  # seconds after a disruption in which those who wait for a lost peer give up


def disrupted_at(pod: PartialPod) -> float | None:
    """When the cluster took the pod away: to make room, because its node is lost, or because it is drained."""
    told = find_condition(pod.status.conditions, "DisruptionTarget")
    if told is None or told.status != "True":
        return None
    return seconds(told.last_transition_time) or 0.0


class Disruptions(msgspec.Struct, frozen=True):
    """What is known of disruptions at one look."""

    now: float
    last: float | None  # the last disruption of the job
    forgiven: Mapping[str, int]  # restarts in place that are excused, by the uid of the pod
    nodes: frozenset[str]  # on which pods of the job run, as far as is known

    def covers(self, pod: PartialPod, fell_at: float) -> bool:
        """Whether it was there when a peer was taken away, and fell with it."""
        made = seconds(pod.metadata.creation_timestamp) or 0.0
        if self.last is None or made > self.last:  # in whole seconds, so one made right after may pass for one before
            return False
        return self.last - DOUBT <= fell_at <= self.last + AFTERMATH

    def open_until(self, pod: PartialPod, fell_at: float) -> float | None:
        """Until when it may still turn out that a peer is lost; only one on another node can be."""
        until = fell_at + DOUBT
        return until if self.now < until and self.nodes - {pod.spec.node_name} else None

    def restarts(self, pod: PartialPod) -> int:
        """Restarts in place that are its own fault, or not known to be another's by now."""
        return max(0, restart_count(pod) - self.forgiven.get(pod.metadata.uid, 0))


def forgiven_restarts(excuses: Disruptions, pods: Iterable[PartialPod]) -> dict[str, int]:
    """Of pods that are gone nothing is kept."""
    counts = {}
    for pod in pods:
        fell_at = last_exit(pod)
        covered = fell_at is not None and excuses.covers(pod, fell_at)
        counts[pod.metadata.uid] = restart_count(pod) if covered else excuses.forgiven.get(pod.metadata.uid, 0)
    return {uid: count for uid, count in sorted(counts.items()) if count}


def restart_count(pod: PartialPod) -> int:
    return sum(container.restart_count for container in pod.containers)


def last_exit(pod: PartialPod) -> float | None:
    """When a container of a pod that runs ended last."""
    falls = [moment for container in pod.containers if (moment := _ended(container)) is not None]
    return max(falls, default=None)


def _ended(container: PartialContainerStatus) -> float | None:
    ends = [state.terminated for state in (container.state, container.last_state) if state.terminated is not None]
    return max((seconds(end.finished_at) or 0.0 for end in ends), default=None)


def is_disrupted(pod: PartialPod) -> bool:
    """Taken away by the cluster."""
    return disrupted_at(pod) is not None
