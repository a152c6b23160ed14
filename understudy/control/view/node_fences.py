"""Nodes that come back: held back until pods that were force-deleted there while they were lost cannot run any more.

A pod of a silent node is force-deleted so that another can take its place. Its processes do not know: when the node is
heard of again, its kubelet first has to be told, and then gives them their grace period. So before such a pod is
deleted the node gets an annotation, and until that is over no seat is given there, by this process or a later one.
"""

from collections.abc import Iterable, Mapping

import msgspec

from understudy.control.view.node_health import HealthFinding, graver
from understudy.decide.describe import until_clause
from understudy.kinds.annotations import FENCED, format_fence, read_fence
from understudy.model.nodes import Fence, Health, Verdict
from understudy.objects.errors import BadObject
from understudy.objects.nodes import Node
from understudy.objects.pods import Pod

_ENDED = ("Succeeded", "Failed")


class NodeFences:
    """What is known of fences: those on the nodes, and those that the nodes do not show yet."""

    def __init__(self, margin: float | None) -> None:
        """`margin` are the seconds added to the grace period of the pods; None: no node is held back."""
        self._margin = margin
        self._raised: dict[str, Fence] = {}  # not shown by the node yet
        self._returned: dict[str, float | None] = {}  # None: it was silent when it was looked at last
        self._notes: dict[str, str | None] = {}  # what nodes ought to say and do not

    @property
    def notes(self) -> Mapping[str, str | None]:
        return self._notes

    def wanted(self, node: Node, pods: Iterable[Pod], now: float) -> Fence | None:
        """What the node has to say before these pods are force-deleted; None where it says so already."""
        running = [pod for pod in pods if pod.status.phase not in _ENDED]
        if self._margin is None or not running:
            return None
        new = Fence(now, max(map(_grace, running)), node.status.node_info.boot_id)
        try:
            known = read_fence(node.metadata.annotations, node)
        except BadObject:  # what makes no sense is written anew
            known = None
        if known is None:
            return new
        return None if self._covers(node.metadata.name, known, new) else _both(known, new)

    def raise_for(self, name: str, fence: Fence) -> None:
        """It counts from now on, whenever the node shows it."""
        known = self._raised.get(name)
        if known is None or not self._covers(name, known, fence):
            self._raised[name] = fence if known is None else _both(known, fence)

    def _covers(self, name: str, known: Fence, new: Fence) -> bool:
        """Whether the known fence does for the new one as well: while a node is silent, its time has not begun."""
        is_silent = name in self._returned and self._returned[name] is None
        return is_silent and known.returned is None and known.boot == new.boot and known.grace >= new.grace

    def forget(self, name: str) -> None:
        """The node object is gone. Another one of its name is another node."""
        for book in (self._raised, self._returned, self._notes):
            book.pop(name, None)

    def judged(self, node: Node, finding: HealthFinding, silent: bool, now: float) -> HealthFinding:
        """The finding, or that the node is held back, where nothing worse is known of it.

        A node that is lost for another reason than silence hears of deletions: its time passes while it is lost."""
        name = node.metadata.name
        if self._margin is None or not (name in self._raised or FENCED in node.metadata.annotations):
            self._returned.pop(name, None)
            self._notes.pop(name, None)
            return finding
        fence = self._current(node, silent, now)
        self._note(node, fence)
        if fence is None or fence.returned is None:
            return finding
        return _held_back(fence, finding, fence.returned + fence.grace + self._margin)

    def _current(self, node: Node, silent: bool, now: float) -> Fence | None:
        """None where it is over."""
        name, fence = node.metadata.name, self._known(node)
        if silent:
            self._returned[name] = None
            return msgspec.structs.replace(fence, returned=None)
        returned = self._returned.get(name, fence.returned)
        # A time that is yet to come is one of a clock that was set back since.
        returned = now if returned is None or returned > now else returned
        if returned < fence.at <= now:  # pods that were deleted after it was back count from then
            returned = fence.at
        self._returned[name] = returned
        assert self._margin is not None
        if _has_rebooted(node, fence) or now >= returned + fence.grace + self._margin:
            self._raised.pop(name, None)
            return None
        return msgspec.structs.replace(fence, returned=returned)

    def _known(self, node: Node) -> Fence:
        """What the node shows, and what it is to show."""
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
    return HealthFinding(health if graver(health, finding.health) else finding.health, changes_at)


def _grace(pod: Pod) -> int:
    """The longest it may be given: whoever told it to go may have given it more than it asks for."""
    return max(pod.spec.termination_grace_period_seconds, pod.metadata.deletion_grace_period_seconds or 0)


def _has_rebooted(node: Node, fence: Fence) -> bool:
    """Nothing that ran before a boot runs after it."""
    boot = node.status.node_info.boot_id
    return bool(boot and fence.boot) and boot != fence.boot


def _both(one: Fence, other: Fence) -> Fence:
    """Where the node was booted in between, only the later counts."""
    older, newer = sorted((one, other), key=lambda fence: fence.at)
    if older.boot and newer.boot and older.boot != newer.boot:
        return newer
    return Fence(newer.at, max(one.grace, other.grace), newer.boot or older.boot)
