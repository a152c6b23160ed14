"""What explains that a gang waits, one reason at a time, and a stopwatch that counts only the time without a reason."""

from collections.abc import Mapping

import msgspec

from understudy.control.apply.deferred_gangs import PodPatience
from understudy.simulate.api_server import Version
from understudy.simulate.cluster import SimulatedCluster
from understudy.simulate.invariants.node_troubles import NodeTroubles
from understudy.simulate.invariants.seat_losses import SeatLosses
from understudy.simulate.workloads import JOB_LABEL, GangState

SETTLE = 10.0  # seconds that a plan, its writes and a second plan may take on top of what the messages take
DETECTION = 75.0  # seconds in which a silent node is given up: its lease, the node controller, and its pods' end
PATIENCE = PodPatience()
NO_PODS = "its controller makes no pods"
HAMPERED = "the loops are kept from hearing or writing"


class Stopwatch(msgspec.Struct):
    """Runs in stretches, each with one explanation; `spent` has the seconds of each."""

    at: float
    why: str
    spent: dict[str, float] = {}
    absent: frozenset[str] = frozenset()  # slots without a pod

    def lap(self, now: float, why: str) -> None:
        self.spent[self.why] = self.spent.get(self.why, 0.0) + now - self.at
        self.at, self.why = now, why
        if why == HAMPERED:  # a loop that starts anew gives the controller its full time again
            self.spent.pop(NO_PODS, None)

    def unexplained(self) -> float:
        return self.spent.get("", 0.0)


class Explanations:
    def __init__(
        self,
        cluster: SimulatedCluster,
        troubles: NodeTroubles,
        losses: SeatLosses,
        gangs: Mapping[str, GangState],
    ) -> None:
        self._cluster = cluster
        self._context = cluster.context
        self._troubles = troubles
        self._losses = losses
        self._gangs = gangs

    @property
    def limit(self) -> float:
        """Seconds that a gang may wait without an explanation: short where no message is late."""
        return SETTLE + 2 * self._context.reaction

    def why(self, gang: GangState) -> str:
        """Why no plan could have helped the gang yet; '' if nothing explains it."""
        now, context = self._context.loop.time(), self._context
        if now - context.hampered_at() < context.reaction + SETTLE:
            return HAMPERED
        if self._cluster.silent or self._cluster.leases.stand_still:
            return "all nodes are silent"
        if any(now - self._troubles.since(node) < DETECTION for node in self._losses.concerned(gang)):
            return "a node is not given up yet"
        if any(pod.leaving for _, pod in gang.pods.values()):
            return "its old pods leave"
        if any(self._is_being_left(node) for node in self._losses.with_slices(gang, gang.holds.values())):
            return "others leave the seats that are held for it"
        if self._is_wanted_without_pods(gang):
            return "a more important gang, whose controller makes no pods, is waited for"
        return self._why_no_pods(gang)

    def _is_wanted_without_pods(self, gang: GangState) -> bool:
        """A plan that preempts the gang is not carried out until the pods of the other are there."""
        above = (other for other in self._gangs.values() if other.plan.priority > gang.plan.priority)
        return any(o.there and not o.suspended and not o.next_stage() <= o.made() for o in above)

    def had_loss(self, gang: GangState, since: float) -> bool:
        """Whether a pod was taken from the gang since then, or a node of it was in trouble."""
        nodes = self._losses.concerned(gang)
        return self._losses.of(gang).loss_at >= since or any(self._troubles.last(node) >= since for node in nodes)

    def _is_being_left(self, node: str) -> bool:
        """Whether a pod leaves the node, or has to: it is of a job that the scheduler suspended."""
        pods = self._cluster.server.objects["pods"].values()
        there = [pod for pod in pods if pod.node == node and pod.takes_room]
        return any(pod.leaving or self._has_to_leave(pod) for pod in there)

    def _has_to_leave(self, pod: Version) -> bool:
        gang = self._gangs.get(pod.metadata.get("labels", {}).get(JOB_LABEL, ""))
        return gang is not None and gang.requeued

    def _why_no_pods(self, gang: GangState) -> str:
        absent = set(gang.slots) - gang.made()
        if not absent or set(gang.slots) - gang.seated() > absent:
            return ""  # there is a pod that could have a seat
        if any(pod.phase != "Running" for slot, pod in gang.pods.values() if slot in gang.seated() - gang.done):
            return "its next stage waits until the pods of this one run"
        return NO_PODS

    def patience(self, gang: GangState) -> float:
        """Seconds for which a controller may make no pods: more for members that have had seats."""
        absent = set(gang.slots) - gang.made()
        first = min((gang.slots[slot].stage for slot in absent), default=0)
        due = {slot for slot in absent if gang.slots[slot].stage == first}
        return (PATIENCE.remake if due <= self._losses.of(gang).ever else PATIENCE.make) + self.limit
