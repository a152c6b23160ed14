"""Pods that the cluster is about to delete by itself: it goes first, where its deletion could hit another pod.

Where a node gets a taint with the effect NoExecute, Kubernetes' taint manager deletes the pods there that do not
tolerate it. It does so by their names, and looks again for a moment where there is no such pod. If we were quicker, and
the pod's controller had made it again under the same name, it would be the new pod, on a healthy node, that is deleted.
"""

from understudy.model.gangs import Member
from understudy.model.nodes import NO_EXECUTE
from understudy.model.snapshot import Snapshot
from understudy.objects.pods import Pod
from understudy.ports import Clock

FORGET_AFTER = 60.0  # seconds after which nobody asks for a pod any more that was to go at once


class TaintEviction:
    """Kubernetes' own; it is given `patience` seconds for each pod. None: there is no such thing here."""

    def __init__(self, clock: Clock, patience: float) -> None:
        self._clock = clock
        self._patience = patience
        self._until: dict[str, float] = {}  # by the pod's uid
        self._looks: list[float] = []  # when it is looked whether it has done so

    def wait_until(self, pod: Pod, member: Member, snapshot: Snapshot) -> float | None:
        """Until when the deletion of a pod is left to it; None where it is not, or not any longer."""
        if not self._patience or _has_unique_name(pod) or not _is_evicted_by_taint(member, snapshot):
            return None
        now = self._clock.now()
        self._until = {uid: until for uid, until in self._until.items() if until > now - FORGET_AFTER}
        until = self._until.setdefault(pod.metadata.uid, now + self._patience)
        if until <= now:
            return None
        self._looks.append(until)
        return until

    def begin(self) -> None:
        """A plan is about to be carried out: it looks after those whose time is over."""
        now = self._clock.now()
        self._looks = [at for at in self._looks if at > now]

    def next_look(self) -> float | None:
        return min(self._looks, default=None)


def _has_unique_name(pod: Pod) -> bool:
    """Whether no other pod is ever called so: who makes pods for Jobs ends their names in letters of chance."""
    owner = pod.metadata.controller
    return owner is not None and owner.kind == "Job"


def _is_evicted_by_taint(member: Member, snapshot: Snapshot) -> bool:
    room = snapshot.nodes.get(member.node)
    taints = [taint for taint in room.node.taints if taint.effect == NO_EXECUTE] if room is not None else []
    return any(not any(t.tolerates(taint) for t in member.shape.tolerations) for taint in taints)
