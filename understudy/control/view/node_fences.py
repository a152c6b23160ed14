"""Fences of nodes: a node that returns gets no pods while force-deleted pods may still run there.

A node's processes do not know that their pods were force-deleted, so a fence holds the node back for their grace period
and a margin since its return. The renewals of its lease measure that time, too: the clocks of leaders differ."""

from collections.abc import Iterable, Mapping

import msgspec

from understudy.control.view.node_health import HealthFinding, is_worse
from understudy.decide.describe import until_clause
from understudy.kinds.annotations import FENCED, format_fence, read_fence
from understudy.model.nodes import Fence, Health, Verdict
from understudy.objects.errors import BadObject
from understudy.objects.nodes import Node
from understudy.objects.pods import ENDED_PHASES, Pod


class NodeFences:
    """All fences: those that nodes show, and those that they do not show yet."""

    def __init__(self, margin: float | None) -> None:
        """`margin` are the seconds added to the grace period of the pods; None: there are no fences."""
        self._margin = margin
        self._raised: dict[str, Fence] = {}  # not shown by the node yet
        self._returned: dict[str, float | None] = {}  # None: it was silent at the last look
        self._renewed: dict[str, float] = {}  # seconds that the node lived since its return, as its lease shows
        self._notes: dict[str, str | None] = {}  # annotations that nodes should have and do not have

    @property
    def notes(self) -> Mapping[str, str | None]:
        return self._notes

    def wanted(self, node: Node, pods: Iterable[Pod], now: float) -> Fence | None:
        """The annotation that the node needs before these pods are force-deleted; None if it has it."""
        running = [pod for pod in pods if pod.status.phase not in ENDED_PHASES]
        if self._margin is None or not running:
            return None
        new = Fence(now, max(map(_grace, running)), node.status.node_info.boot_id)
        try:
            known = read_fence(node.metadata.annotations, node)
        except BadObject:  # an invalid annotation is written anew
            known = None
        if known is None:
            return new
        return None if self._covers(node.metadata.name, known, new) else _both(known, new)

    def raise_for(self, name: str, fence: Fence) -> None:
        """The fence counts from now on, before the node shows it."""
        known = self._raised.get(name)
        if known is None or not self._covers(name, known, fence):
            self._raised[name] = fence if known is None else _both(known, fence)

    def _covers(self, name: str, known: Fence, new: Fence) -> bool:
        """Whether the known fence includes the new one: while a node is silent, its fence has not begun to expire."""
        is_silent = name in self._returned and self._returned[name] is None
        return is_silent and known.returned is None and known.boot == new.boot and known.grace >= new.grace

    def renewed(self, name: str, interval: float) -> None:
        """The node renewed its lease, which it does after every interval."""
        if self._returned.get(name) is not None:
            self._renewed[name] = self._renewed.get(name, 0.0) + interval

    def forget(self, name: str) -> None:
        """The node object is gone. A new object of that name is another node."""
        for book in (self._raised, self._returned, self._renewed, self._notes):
            book.pop(name, None)

    def with_fence(
        self, node: Node, finding: HealthFinding, silent: bool, now: float, interval: float | None = None
    ) -> HealthFinding:
        """The finding, or that the node is fenced, if it is healthy otherwise. `interval` are the seconds between two
        renewals of its lease; None: it has none, and only the clock counts.

        A node that is lost for another reason than silence learns of deletions: its fence expires while it is lost."""
        name = node.metadata.name
        if self._margin is None or not (name in self._raised or FENCED in node.metadata.annotations):
            self._returned.pop(name, None)
            self._renewed.pop(name, None)
            self._notes.pop(name, None)
            return finding
        fence = self._current(node, silent, now, interval)
        self._note(node, fence)
        if fence is None or fence.returned is None:
            return finding
        return _held_back(fence, finding, self._over_at(name, fence, fence.returned, now, interval))

    def _over_at(self, name: str, fence: Fence, returned: float, now: float, interval: float | None) -> float:
        """When the fence expires: by the clock, and by the renewals of the lease, of which the next may be due now."""
        assert self._margin is not None
        lasts = fence.grace + self._margin
        if interval is None:
            return returned + lasts
        return max(returned + lasts, now + lasts - interval - self._renewed.get(name, 0.0))

    def _current(self, node: Node, silent: bool, now: float, interval: float | None) -> Fence | None:
        """None if the fence has expired."""
        name, fence = node.metadata.name, self._known(node)
        if silent:
            self._returned[name] = None
            self._renewed.pop(name, None)
            return msgspec.structs.replace(fence, returned=None)
        returned = self._returned.get(name, fence.returned)
        # A time in the future comes from before the clock was set back.
        returned = now if returned is None or returned > now else returned
        # the grace of pods that were deleted after the return counts from their deletion
        if returned < fence.at <= now:
            returned = fence.at
        self._returned[name] = returned
        if _has_rebooted(node, fence) or now >= self._over_at(name, fence, returned, now, interval):
            self._raised.pop(name, None)
            return None
        return msgspec.structs.replace(fence, returned=returned)

    def _known(self, node: Node) -> Fence:
        """The annotation of the node, or the one that is to be written."""
        name, shown = node.metadata.name, read_fence(node.metadata.annotations, node)
        raised = self._raised.get(name)
        if shown is None or raised is None:
            fence = shown or raised
            assert fence is not None
            return fence
        if shown.at >= raised.at and shown.grace >= raised.grace:
            del self._raised[name]
            return shown
        return _both(shown, raised)

    def _note(self, node: Node, fence: Fence | None) -> None:
        text, name = None if fence is None else format_fence(fence), node.metadata.name
        if text == node.metadata.annotations.get(FENCED):
            self._notes.pop(name, None)
        else:
            self._notes[name] = text


def _held_back(fence: Fence, finding: HealthFinding, over_at: float) -> HealthFinding:
    cause = f"held back{until_clause(over_at).lstrip(',')}: pods that were force-deleted there may still run"
    health = Health(Verdict.SUSPECT, cause, fence.at)
    changes_at = over_at if finding.changes_at is None else min(over_at, finding.changes_at)
    return HealthFinding(health if is_worse(health, finding.health) else finding.health, changes_at)


def _grace(pod: Pod) -> int:
    """The longest possible grace period: a deletion may have asked for more than the pod does."""
    return max(pod.spec.termination_grace_period_seconds, pod.metadata.deletion_grace_period_seconds or 0)


def _has_rebooted(node: Node, fence: Fence) -> bool:
    """After a boot, no process from before it runs."""
    boot = node.status.node_info.boot_id
    return bool(boot and fence.boot) and boot != fence.boot


def _both(one: Fence, other: Fence) -> Fence:
    """If the node was booted between the two, only the later fence counts."""
    older, newer = sorted((one, other), key=lambda fence: fence.at)
    if older.boot and newer.boot and older.boot != newer.boot:
        return newer
    return Fence(newer.at, max(one.grace, other.grace), newer.boot or older.boot)
