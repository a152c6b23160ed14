"""Whether a failure was caused by a disruption: processes that lose a peer often fail too, and often before the loss of
the peer's node is known. Such failures are excused, and where a failure may be one of them, the decision is delayed."""

from collections.abc import Iterable, Mapping

import msgspec

from understudy.kinds.children.partial_objects import PartialContainerStatus, PartialPod, find_condition
from understudy.objects.meta import seconds

DOUBT = 10.0  # seconds until the loss of a node is certainly known
AFTERMATH = 1800.0  # seconds after a disruption in which processes that wait for a lost peer may give up


def disrupted_at(pod: PartialPod) -> float | None:
    """When the cluster evicted the pod: to make room, because its node is lost, or because the node is drained."""
    condition = find_condition(pod.status.conditions, "DisruptionTarget")
    if condition is None or condition.status != "True":
        return None
    return seconds(condition.last_transition_time) or 0.0


class Disruptions(msgspec.Struct, frozen=True):
    """The disruptions that are known at one look."""

    now: float
    last: float | None  # the last disruption of the job
    forgiven: Mapping[str, int]  # restarts in place that are excused, by the uid of the pod
    nodes: frozenset[str]  # the nodes on which pods of the job run, if known

    def covers(self, pod: PartialPod, fell_at: float) -> bool:
        """Whether the pod existed when a peer was evicted, and failed with it."""
        made = seconds(pod.metadata.creation_timestamp) or 0.0
        # times are in whole seconds, so a pod created right after the disruption may seem to be from before it
        if self.last is None or made > self.last:
            return False
        return self.last - DOUBT <= fell_at <= self.last + AFTERMATH

    def open_until(self, pod: PartialPod, fell_at: float) -> float | None:
        """Until when a peer may still turn out to be lost; only a peer on another node can be."""
        until = fell_at + DOUBT
        return until if self.now < until and self.nodes - {pod.spec.node_name} else None

    def restarts(self, pod: PartialPod) -> int:
        """Restarts in place that were not caused by a disruption, as far as is known now."""
        return max(0, restart_count(pod) - self.forgiven.get(pod.metadata.uid, 0))


def forgiven_restarts(excuses: Disruptions, pods: Iterable[PartialPod]) -> dict[str, int]:
    """Pods that are gone are dropped from the record."""
    counts = {}
    for pod in pods:
        fell_at = last_exit(pod)
        covered = fell_at is not None and excuses.covers(pod, fell_at)
        counts[pod.metadata.uid] = restart_count(pod) if covered else excuses.forgiven.get(pod.metadata.uid, 0)
    return {uid: count for uid, count in sorted(counts.items()) if count}


def restart_count(pod: PartialPod) -> int:
    return sum(container.restart_count for container in pod.containers)


def last_exit(pod: PartialPod) -> float | None:
    """When a container of a running pod ended last."""
    falls = [moment for container in pod.containers if (moment := _ended(container)) is not None]
    return max(falls, default=None)


def _ended(container: PartialContainerStatus) -> float | None:
    ends = [state.terminated for state in (container.state, container.last_state) if state.terminated is not None]
    return max((seconds(end.finished_at) or 0.0 for end in ends), default=None)


def is_disrupted(pod: PartialPod) -> bool:
    """Evicted by the cluster."""
    return disrupted_at(pod) is not None
