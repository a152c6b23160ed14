"""A gang for which others were preempted gets its seats. Only what touches it, its seats or its place in the queue
releases it from that."""

import msgspec

from understudy.kinds.annotations import CHECKPOINT_BY
from understudy.model.plans import Preempt
from understudy.simulate.cluster import SimulatedCluster
from understudy.simulate.invariants.limits import NO_PODS, PATIENCE, Explanations, Stopwatch
from understudy.simulate.invariants.node_troubles import NodeTroubles
from understudy.simulate.invariants.seat_losses import SeatLosses
from understudy.simulate.workloads import GangState

VAIN = "no gang is preempted in vain"


class Debt(msgspec.Struct):
    """A gang owes it to its victims to use their seats."""

    gang: GangState
    since: float
    nodes: set[str]  # of the victims and of what is held for the gang, with their slices where it needs domains
    watch: Stopwatch


class PreemptionUse:
    def __init__(
        self, cluster: SimulatedCluster, troubles: NodeTroubles, losses: SeatLosses, explanations: Explanations
    ) -> None:
        self._cluster = cluster
        self._context = cluster.context
        self._troubles = troubles
        self._losses = losses
        self._explanations = explanations
        self._debts: dict[str, Debt] = {}
        self._changed_at: dict[str, float] = {}  # gang -> when its user, or a fault that is aimed at it, changed it

    def preempted(self, action: Preempt, taker: GangState) -> None:
        """A plan took seats of a gang for another one; what the victim itself was owed is of no use any more."""
        now = self._context.loop.time()
        self._debts.pop(action.gang, None)
        nodes = self._losses.with_slices(taker, {*action.nodes, *taker.holds.values()})
        debt = self._debts.get(taker.key)
        if debt is None:
            debt = self._debts[taker.key] = Debt(taker, now, set(), Stopwatch(now, ""))
        debt.nodes |= nodes

    def changed(self, gang: GangState) -> None:
        """Its user, or a fault that is aimed at it, changes the gang."""
        self._changed_at[gang.key] = self._context.loop.time()
        self._debts.pop(gang.key, None)

    def settled(self, key: str) -> None:
        """The gang has its seats, or was requeued for a reason of its own."""
        self._debts.pop(key, None)

    def took(self, gang: GangState, nodes: set[str]) -> None:
        """Seats there were given to a gang, or are held for it. A more important one may take them, and one of the same
        importance that had to be repaired: the loop may have heard of it only after the preemption."""
        for key, debt in list(self._debts.items()):
            above = gang.plan.priority - debt.gang.plan.priority
            came_later = self._changed_at.get(gang.key, float("-inf")) >= debt.since
            repaired = gang.begun or self._explanations.had_loss(gang, debt.since)
            if gang.key != key and nodes & debt.nodes and (above > 0 or (above == 0 and (came_later or repaired))):
                del self._debts[key]

    def look(self) -> None:
        """Called once a second."""
        for key, debt in list(self._debts.items()):
            gang = debt.gang
            debt.nodes |= self._losses.with_slices(gang, gang.holds.values())
            troubled = any(self._troubles.last(node) >= debt.since - self._context.reaction for node in debt.nodes)
            endless = self._cluster.quotas.limits_for_ever(gang.plan)
            saves = "its job saves before it moves" if _is_asked_to_save(gang) else ""
            debt.watch.lap(self._context.loop.time(), self._explanations.why(gang) or saves)
            unmade = debt.watch.spent.get(NO_PODS, 0.0)
            if not gang.there or gang.suspended or troubled or endless or unmade >= PATIENCE.make:
                del self._debts[key]
            elif debt.watch.unexplained() > self._explanations.limit:
                self._context.fail(VAIN, f"others left for {key} at {debt.since:.1f}; it has no seats")


def _is_asked_to_save(gang: GangState) -> bool:
    """Its victims leave at once, so that it can move at the last moment."""
    return any(CHECKPOINT_BY in pod.metadata.get("annotations", {}) for _, pod in gang.pods.values())
