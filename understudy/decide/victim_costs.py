"""What it costs to preempt: turns a set of gangs into a Cost, and lists who may be preempted for whom."""

from collections import defaultdict
from collections.abc import Iterable, Set

from understudy.decide.proposal import Proposal
from understudy.model.gangs import Gang
from understudy.model.node_info import RunningGang
from understudy.model.plans import Cost

# Young, budget violations when alone, priority, work lost (accelerator-seconds since the last checkpoint, else the
# start), seats. The first four are the order of choice.
VictimWeight = tuple[int, int, int, float, int]
VictimClass = tuple[int, bool, int]  # young, violates a budget, priority: what counts before the work lost


class VictimCosts:
    """Prices for one preemptor, remembered while its victims are chosen."""

    def __init__(self, floor: Proposal, preemptor: Gang) -> None:
        self.floor = floor
        self.preemptor = preemptor
        self.weights: dict[str, VictimWeight] = {}  # of those weighed so far
        self.seatable: dict[object, list[str] | None] = {}  # where islands sit in domains they have to themselves
        self.offers: dict[object, dict[str, frozenset[str]]] = {}  # who blocks which domains
        self.spread_out = False  # whether any that was weighed has more than one seat
        self._candidates: list[RunningGang] | None = None
        self._budgets = floor.snapshot.budgets

    def candidates(self) -> list[RunningGang]:
        """Gangs of strictly lower priority with seats to give."""
        if self._candidates is None:
            running, rooms, mine = self.floor.snapshot.running, self.floor.snapshot.rooms, self.preemptor.priority
            lower = sorted(priority for priority in running if priority < mine)
            if sum(len(running[priority]) for priority in lower) <= 2 * len(rooms):
                self._candidates = [stake for priority in lower for stake in running[priority].values()]
            else:  # many small gangs: they are found sooner where they sit
                stakes = (seat.stake for room in rooms.values() for seat in room.seats)
                found = {stake.gang: stake for stake in stakes if stake is not None and stake.priority < mine}
                self._candidates = list(found.values())
        return self._candidates

    def weight(self, key: str) -> VictimWeight:
        if key not in self.weights:
            gang = self.floor.snapshot.gangs[key]
            self.weigh([self.floor.snapshot.running[gang.priority][key]])
        return self.weights[key]

    def weigh(self, stakes: Iterable[RunningGang]) -> dict[VictimClass, list[str]]:
        """Fills in `weights`, and sorts the gangs into classes, some of which are worse victims than others.

        With very many gangs this is much of what a plan costs, so it is one plain loop.
        """
        now, weights, budgets = self.floor.now, self.weights, self._budgets
        classes: dict[VictimClass, list[str]] = defaultdict(list)
        grown_up = now - self.floor.policy.min_runtime
        for stake in stakes:
            started, since = stake.started_at, stake.since
            work = 0.0 if since is None or since >= now else stake.accelerators * (now - since)
            young = 1 if started is None or started > grown_up else 0
            violations = self._violations([stake.gang], frozenset()) if budgets else 0
            priority, gang, seats = stake.priority, stake.gang, stake.seats
            if seats > 1:
                self.spread_out = True
            weights[gang] = (young, violations, priority, work, seats)
            classes[young, violations > 0, priority].append(gang)
        return classes

    def cost(self, gangs: Set[str], members: Set[tuple[str, str]]) -> Cost:
        """What it costs that these gangs go whole, and these members go while their gangs go on."""
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
        snapshot = self.floor.snapshot
        disturbed = [(snapshot.gangs[key], m) for key in gangs for m in snapshot.gangs[key].seated()]
        for key in {gang for gang, _ in members}:
            gang = snapshot.gangs[key]
            disturbed.extend((gang, m) for m in gang.seated() if (key, m.name) in members)
        return sum(
            max(0, sum(1 for gang, member in disturbed if budget.covers(gang, member)) - budget.allowed)
            for budget in self._budgets
        )
