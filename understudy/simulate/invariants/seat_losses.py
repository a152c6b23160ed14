"""A gang that has begun keeps its seats and the seats held for it, unless something took a seat that no plan can keep.

What explains a loss: a node of it was lost or is leaving, a pod of it was taken away, its user changed it, the whole
gang was preempted, or its controller does not make its pods.
"""

from collections.abc import Iterable

import msgspec

from understudy.model.plans import Requeue
from understudy.simulate.api_server import Version
from understudy.simulate.cluster import SimulatedCluster
from understudy.simulate.invariants.node_troubles import NodeTroubles
from understudy.simulate.workloads import GangState

HOLDS_KEPT = "a seat held for a gang that has begun is given, kept, or lost for a reason"
LOSS_FIRST = "no gang is requeued without a loss"
NEWS = 3.5  # seconds by which the news of a loss may be late
LEAVES_WITHIN = 20.0  # seconds in which a gang that cannot be suspended has left after it gave up its holds
BY_SCHEDULER = ("PreemptionByScheduler", "DeletionByUnderstudy")


class Seating(msgspec.Struct):
    """What is known of the seats of one gang since it last had none."""

    held: dict[str, str] = {}  # slot without a seat -> the node that is held for it
    begun: bool = False
    ever: set[str] = set()  # slots that have had a seat
    used: set[str] = set()  # nodes of its seats and holds since it was last sound
    sound_at: float = float("-inf")  # when it last had no seat, or all its seats on nodes that were well
    loss_at: float = float("-inf")  # when a pod was last taken from it by anything but the scheduler
    changed_at: float = float("-inf")  # when its user last changed it
    ended_explained: bool = True  # whether its last seats went for a reason


class SeatLosses:
    def __init__(self, cluster: SimulatedCluster, troubles: NodeTroubles) -> None:
        self._context = cluster.context
        self._kubelets = cluster.kubelets
        self._troubles = troubles
        self._seatings: dict[str, Seating] = {}  # by key of the gang
        self._holders: dict[str, GangState] = {}  # gangs that have begun and for which seats are held
        self._leaving: dict[str, tuple[float, str]] = {}  # gang that gave up holds -> until when it leaves, and words

    def of(self, gang: GangState) -> Seating:
        return self._seatings.setdefault(gang.key, Seating())

    # What happens to gangs

    def user_changed(self, gang: GangState) -> None:
        self.of(gang).changed_at = self._context.loop.time()

    def pod_changed(self, gang: GangState, before: Version | None, after: Version | None) -> None:
        had_seat = before is not None and before.takes_room and not before.leaving
        lost = after is None or after.leaving or after.phase == "Failed"
        if had_seat and lost and not (after is not None and _is_released(after)):
            self.of(gang).loss_at = self._context.loop.time()

    def observe(self, gang: GangState, job: Version | None) -> None:
        """Called after every change of the gang: compares what it has with what it had."""
        seating, seats = self.of(gang), gang.seats()
        was_held, had_begun = seating.held, seating.begun
        kept = {*seats, *gang.done}
        seating.ever.update(seats)
        seating.held = {slot: node for slot, node in gang.holds.items() if slot not in kept}
        if had_begun and not seats:
            seating.ended_explained = self.is_explained(gang)
        seating.begun = bool(seats)
        self._note_use(gang, {*seats.values(), *gang.holds.values()}, whole=kept >= set(gang.slots))
        gone = sorted(set(was_held) - set(seating.held) - kept)
        if had_begun and seating.begun and gone and not gang.elastic and not (job is None or gang.requeued):
            words = f"{gang.key} has begun; nothing is held any more for {', '.join(gone)}"
            self._gave_up(gang, words)

    def _note_use(self, gang: GangState, nodes: set[str], whole: bool) -> None:
        seating, now = self.of(gang), self._context.loop.time()
        seating.used |= nodes
        if not seating.begun or (whole and self._trouble_at(gang) < now - NEWS):
            seating.sound_at, seating.used = now, nodes
        if seating.begun and seating.held and not gang.elastic:
            self._holders[gang.key] = gang
        else:
            self._holders.pop(gang.key, None)
        if not seating.begun:
            self._leaving.pop(gang.key, None)

    def _gave_up(self, gang: GangState, words: str) -> None:
        """A gang that can be suspended gives up everything in one write. Of others, the pods leave after that."""
        if self.is_explained(gang):
            return
        if gang.can_be_suspended:
            self._context.fail(HOLDS_KEPT, words)
        else:
            self._leaving.setdefault(gang.key, (self._context.loop.time() + LEAVES_WITHIN, words))

    def look(self) -> None:
        for until, words in self._leaving.values():
            if self._context.loop.time() > until:
                self._context.fail(HOLDS_KEPT, words)

    def bound(self, gang: GangState, pod: Version, taken: int) -> None:
        """A pod got a seat on a node where so many accelerators are taken now: what is held there has to fit, too."""
        offered = self._kubelets[pod.node].plan.accelerators
        for holder in self._holders.values():
            slots = [slot for slot, node in self.of(holder).held.items() if node == pod.node]
            amount = sum(holder.slots[slot].accelerators for slot in slots)
            if holder is not gang and taken + amount > offered and holder.there and not self.is_explained(holder):
                words = f"{pod.name[1]} got a seat on {pod.node}, which is held for {', '.join(slots)}"
                self._context.fail(HOLDS_KEPT, words)

    def requeued(self, gang: GangState, action: Requeue) -> None:
        """A plan took all seats of the gang, for no other gang."""
        lacks_pods = action.stalled and not set(gang.slots) <= gang.made()
        explained = self.is_explained(gang) if self.of(gang).begun else self.of(gang).ended_explained
        if gang.there and not lacks_pods and not explained:
            self._context.fail(LOSS_FIRST, f"{gang.key}: {action.why}")

    # Reasons

    def is_explained(self, gang: GangState) -> bool:
        seating = self.of(gang)
        if not gang.there or gang.suspended:
            return True
        return max(seating.loss_at, seating.changed_at, self._trouble_at(gang)) >= seating.sound_at - NEWS

    def _trouble_at(self, gang: GangState) -> float:
        """When something was last wrong with a node that concerns the gang."""
        return max((self._troubles.last(node) for node in self.concerned(gang)), default=float("-inf"))

    def concerned(self, gang: GangState) -> set[str]:
        """The nodes it used."""
        return self.with_slices(gang, self.of(gang).used)

    def with_slices(self, gang: GangState, nodes: Iterable[str]) -> set[str]:
        """These nodes, and all nodes of their slices where the gang needs domains."""
        known = {node for node in nodes if node in self._kubelets}
        if not gang.plan.topology:
            return known
        slices = {self._kubelets[node].plan.slice for node in known}
        return {name for name, kubelet in self._kubelets.items() if kubelet.plan.slice in slices}


def _is_released(pod: Version) -> bool:
    """Whether the scheduler took its seat."""
    conditions = pod.document.get("status", {}).get("conditions") or ()
    return any(one["type"] == "DisruptionTarget" and one.get("reason") in BY_SCHEDULER for one in conditions)
