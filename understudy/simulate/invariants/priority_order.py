"""At rest: nothing less important runs where something more important fits and waits, and nothing waits that fits.

Judged from the objects of the API server alone, by trying every way to seat a gang. No code of the planner is used, and
of its view only what a job's annotations say.
"""

from collections.abc import Iterator, Mapping

import msgspec

from understudy.kinds.annotations import FAILED_AT, STALLED_AT
from understudy.objects.resources import CLAIMS
from understudy.ports import Ref
from understudy.simulate.api_server import Version
from understudy.simulate.cluster import SimulatedCluster
from understudy.simulate.invariants.node_troubles import NodeTroubles
from understudy.simulate.kubelet import accelerators_of
from understudy.simulate.scenario import JobPlan, NodePlan
from understudy.simulate.workloads import JOB_LABEL, GangState, MemberSlot

ORDER = "nothing less important runs where something more important fits and waits"
GUARDS = (STALLED_AT, FAILED_AT)  # annotations of gangs that may have to wait for a while


class Occupant(msgspec.Struct, frozen=True):
    """A pod in its seat, or a seat that is held."""

    gang: GangState
    island: str
    node: str
    accelerators: int


class PriorityOrder:
    def __init__(self, cluster: SimulatedCluster, troubles: NodeTroubles, gangs: Mapping[str, GangState]) -> None:
        self._cluster = cluster
        self._gangs = gangs
        self._usable = {
            name: kubelet.plan
            for name, kubelet in cluster.kubelets.items()
            if not kubelet.plan.spare and not troubles.is_troubled(name) and not troubles.failed(name)
        }

    @property
    def gangs(self) -> list[GangState]:
        return [gang for gang in self._gangs.values() if gang.there and not gang.suspended]

    def check(self, gang: GangState, job: Version) -> None:
        """For a gang without seats whose pods exist."""
        if gang.done or any(mark in job.metadata.get("annotations", {}) for mark in GUARDS) or self._lacks_claim(gang):
            return
        occupants = list(self._occupants())
        if self._fits(gang, occupants):
            self._cluster.context.fail(ORDER, f"{gang.key} waits and fits into what is free")
            return
        lower = {one.gang.key for one in occupants if one.gang.plan.priority < gang.plan.priority}
        rest = [one for one in occupants if one.gang.key not in lower]
        if gang.plan.preempts and lower and self._fits(gang, rest):
            words = f"{gang.key} ({gang.plan.priority}) waits, and would fit without {', '.join(sorted(lower))}"
            self._cluster.context.fail(ORDER, words)

    def _lacks_claim(self, gang: GangState) -> bool:
        claim = gang.plan.claim
        return bool(claim) and self._cluster.server.get(Ref(CLAIMS, "default", claim)) is None

    def _occupants(self) -> Iterator[Occupant]:
        """Everything that takes room, by the labels of its pods, and every seat that is held."""
        seated: set[str] = set()
        for pod in self._cluster.server.objects["pods"].values():
            gang = self._gangs.get(pod.metadata.get("labels", {}).get(JOB_LABEL, ""))
            if gang is not None and pod.takes_room:
                slot = gang.pods[pod.uid][0]
                seated.add(slot)
                known = gang.slots.get(slot)
                yield Occupant(gang, known.island if known else "", pod.node, accelerators_of(pod))
        for gang in self._gangs.values():
            for slot, node in gang.holds.items():
                if gang.there and slot in gang.slots and slot not in seated | gang.done:
                    yield Occupant(gang, gang.slots[slot].island, node, gang.slots[slot].accelerators)

    def _fits(self, gang: GangState, occupants: list[Occupant]) -> bool:
        """Whether all members have seats beside these, in some way."""
        free = {name: plan.accelerators for name, plan in self._usable.items() if _is_of_kind(gang.plan, plan)}
        for one in occupants:
            if one.node in free:
                free[one.node] -= one.accelerators
        slots = sorted(gang.slots.values(), key=lambda slot: (slot.island, -slot.accelerators))
        return self._seat(Attempt(gang, occupants, free), slots[: gang.needed] if gang.elastic else slots, {}, ())

    def _seat(
        self, attempt: "Attempt", slots: list[MemberSlot], domains: dict[str, str], taken: tuple[str, ...]
    ) -> bool:
        """Backtracks over members in order; `domains` has the slice of each island that began, `taken` the seats."""
        if not slots:
            return True
        slot, rest, free = slots[0], slots[1:], attempt.free
        nodes = self._usable
        alike = {(nodes[node].slice, nodes[node].spot, free[node]): node for node in sorted(free, reverse=True)}
        for node in sorted(alike.values()):
            if free[node] < slot.accelerators or not self._joins(attempt, slot, node, domains):
                continue
            if self._breaks_mix(attempt.gang.plan, (*taken, node)):
                continue
            began = attempt.gang.plan.topology and slot.island not in domains
            free[node] -= slot.accelerators
            islands = {**domains, slot.island: nodes[node].slice} if began else domains
            if self._seat(attempt, rest, islands, (*taken, node)):
                return True
            free[node] += slot.accelerators
        return False

    def _breaks_mix(self, plan: JobPlan, taken: tuple[str, ...]) -> bool:
        on_spot = sum(self._usable[node].spot for node in taken)
        return (plan.one_kind and 0 < on_spot < len(taken)) or 0 <= plan.max_spot < on_spot

    def _joins(self, attempt: "Attempt", slot: MemberSlot, node: str, domains: dict[str, str]) -> bool:
        gang, place, kubelets = attempt.gang, self._usable[node].slice, self._cluster.kubelets
        neighbours = [o for o in attempt.occupants if o.node in kubelets and kubelets[o.node].plan.slice == place]
        if any(one.gang.plan.topology == "exclusive" and one.gang is not gang for one in neighbours):
            return False
        if not gang.plan.topology:
            return True
        if domains.get(slot.island, place) != place:
            return False
        if gang.plan.topology != "exclusive":
            return True
        whole = all(name in self._usable for name, one in kubelets.items() if one.plan.slice == place)
        alone = not any(other == place for island, other in domains.items() if island != slot.island)
        return whole and alone and not neighbours


class Attempt(msgspec.Struct):
    """One search for seats: the gang, what is there, and what is left on each node."""

    gang: GangState
    occupants: list[Occupant]
    free: dict[str, int]


def _is_of_kind(job: JobPlan, node: NodePlan) -> bool:
    return job.capacity not in ("spot", "on-demand") or node.spot is (job.capacity == "spot")
