"""Pods that the taint manager is about to delete: the scheduler waits where a late deletion could hit another pod.

Kubernetes' taint manager deletes pods by name, and retries for a moment if there is no such pod. If the scheduler were
quicker, and the controller had created a new pod of that name on a healthy node, the new pod would be deleted.
"""

from understudy.kinds.registry import KINDS
from understudy.model.gangs import Member
from understudy.model.nodes import NO_EXECUTE
from understudy.model.snapshot import Snapshot
from understudy.objects.pods import Pod
from understudy.ports import Clock

FORGET_AFTER = 60.0  # seconds after which the record of a pod's taint eviction is dropped


class TaintEviction:
    """`patience` are the seconds that the taint manager gets for each pod. None: the cluster has no taint manager."""

    def __init__(self, clock: Clock, patience: float) -> None:
        self._clock = clock
        self._patience = patience
        self._until: dict[str, float] = {}  # by the pod's uid
        self._checks: list[float] = []  # when the loop looks whether the pod was deleted

    def wait_until(self, pod: Pod, member: Member, snapshot: Snapshot) -> float | None:
        """Until when the deletion of a pod is left to the taint manager; None if it is not, or not any longer."""
        if not self._patience or _has_unique_name(pod) or not _is_evicted_by_taint(member, snapshot):
            return None
        now = self._clock.now()
        self._until = {uid: until for uid, until in self._until.items() if until > now - FORGET_AFTER}
        until = self._until.setdefault(pod.metadata.uid, now + self._patience)
        if until <= now:
            return None
        self._checks.append(until)
        return until

    def begin(self) -> None:
        """Called before a plan is applied: drops the pods whose time is over."""
        now = self._clock.now()
        self._checks = [at for at in self._checks if at > now]

    def next_look(self) -> float | None:
        return min(self._checks, default=None)


def _has_unique_name(pod: Pod) -> bool:
    """Whether no other pod ever gets this name, as with pods of Jobs."""
    owner = pod.metadata.controller
    kind = KINDS.get(owner.kind) if owner is not None else None
    return kind is not None and kind.random_pod_names


def _is_evicted_by_taint(member: Member, snapshot: Snapshot) -> bool:
    room = snapshot.nodes.get(member.node)
    taints = [taint for taint in room.node.taints if taint.effect == NO_EXECUTE] if room is not None else []
    return any(not any(t.tolerates(taint) for t in member.shape.tolerations) for taint in taints)
