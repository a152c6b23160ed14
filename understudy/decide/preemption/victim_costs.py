"""What it costs to preempt: turns a set of gangs into a Cost, and lists the gangs that may be preempted."""

from collections import defaultdict
from collections.abc import Iterable, Set

from understudy.decide.proposal import Proposal
from understudy.model.gangs import Gang
from understudy.model.node_info import RunningGang
from understudy.model.plans import Cost

# Young, budget violations of this gang alone, priority, work lost (accelerator-seconds since the last checkpoint, else
# since the start), seats. The first four are in the order of `Cost`.
VictimWeight = tuple[int, int, int, float, int]
VictimClass = tuple[int, bool, int]  # young, violates a budget, priority: what counts before the work lost


class VictimCosts:
    """Costs of victims for one preemptor, remembered while its victims are chosen."""

    def __init__(self, proposal: Proposal, preemptor: Gang) -> None:
        self.proposal = proposal
        self.preemptor = preemptor
        self.weights: dict[str, VictimWeight] = {}  # of the gangs weighed so far
        self.seatable: dict[object, list[str] | None] = {}  # where exclusive islands sit in their domains
        self.offers: dict[object, dict[str, frozenset[str]]] = {}  # for a kind of island: domain -> blockers
        self.spread_out = False  # whether any weighed gang has more than one seat
        self._candidates: list[RunningGang] | None = None
        self._budgets = proposal.snapshot.budgets

    def candidates(self) -> list[RunningGang]:
        """Gangs of strictly lower priority that have seats."""
        if self._candidates is None:
            running, nodes, limit = (
                self.proposal.snapshot.running,
                self.proposal.snapshot.nodes,
                self.preemptor.priority,
            )
            lower = sorted(priority for priority in running if priority < limit)
            if sum(len(running[priority]) for priority in lower) <= 2 * len(nodes):
                self._candidates = [gang for priority in lower for gang in running[priority].values()]
            else:  # with many small gangs, walking over the nodes is faster
                on_nodes = (seat.running for info in nodes.values() for seat in info.seats)
                found = {gang.gang: gang for gang in on_nodes if gang is not None and gang.priority < limit}
                self._candidates = list(found.values())
        return self._candidates

    def weight(self, key: str) -> VictimWeight:
        if key not in self.weights:
            gang = self.proposal.snapshot.gangs[key]
            self.classify([self.proposal.snapshot.running[gang.priority][key]])
        return self.weights[key]

    def classify(self, gangs: Iterable[RunningGang]) -> dict[VictimClass, list[str]]:
        """Fills in `weights` and sorts the gangs into classes.

        With very many gangs this is much of the cost of a plan, so it is one plain loop.
        """
        now, weights, budgets = self.proposal.now, self.weights, self._budgets
        classes: dict[VictimClass, list[str]] = defaultdict(list)
        young_since = now - self.proposal.policy.min_runtime
        for running in gangs:
            started, since = running.started_at, running.since
            work = 0.0 if since is None or since >= now else running.accelerators * (now - since)
            young = 1 if started is None or started > young_since else 0
            violations = self._violations([running.gang], frozenset()) if budgets else 0
            priority, gang, seats = running.priority, running.gang, running.seats
            if seats > 1:
                self.spread_out = True
            weights[gang] = (young, violations, priority, work, seats)
            classes[young, violations > 0, priority].append(gang)
        return classes

    def cost(self, gangs: Set[str], members: Set[tuple[str, str]]) -> Cost:
        """The cost of preempting these gangs whole, and these members of gangs that continue."""
        weights = [self.weight(key) for key in gangs]
        return Cost(
            young=sum(weight[0] for weight in weights),
            budget_violations=self._violations(gangs, members) if self._budgets else 0,
            highest_priority=max((weight[2] for weight in weights), default=-(2**31)),
            work_lost=sum(sorted(weight[3] for weight in weights)),
            gangs=len(gangs),
            surplus=len(members),
            names=tuple(sorted([*gangs, *(f"{gang}/{member}" for gang, member in members)])),
        )

    def _violations(self, gangs: Iterable[str], members: Set[tuple[str, str]]) -> int:
        snapshot = self.proposal.snapshot
        disrupted = [(snapshot.gangs[key], m) for key in gangs for m in snapshot.gangs[key].seated()]
        for key in {gang for gang, _ in members}:
            gang = snapshot.gangs[key]
            disrupted.extend((gang, m) for m in gang.seated() if (key, m.name) in members)
        return sum(
            max(0, sum(1 for gang, member in disrupted if budget.covers(gang, member)) - budget.allowed)
            for budget in self._budgets
        )
