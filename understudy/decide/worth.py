"""What it costs to preempt: turns a set of gangs into a Cost, and lists who may be preempted for whom."""

from collections.abc import Iterable, Set

from understudy.decide.floor import Floor
from understudy.model.gangs import Gang
from understudy.model.plans import Cost

# Young, budget violations when alone, priority, work lost (accelerator-seconds since the last checkpoint, else the
# start), seats. The first four are the order of choice.
Weight = tuple[int, int, int, float, int]


class Ledger:
    """Prices for one preemptor, remembered while its victims are chosen."""

    def __init__(self, floor: Floor, preemptor: Gang) -> None:
        self.floor = floor
        self.preemptor = preemptor
        self.weights: dict[str, Weight] = {}  # of those weighed so far
        self._candidates: list[Gang] | None = None
        self._budgets = floor.snapshot.budgets
        self._min_runtime = floor.policy.min_runtime

    def candidates(self) -> list[Gang]:
        """Gangs of strictly lower priority with seats to give."""
        if self._candidates is None:
            running, gangs = self.floor.snapshot.running, self.floor.snapshot.gangs
            lower = sorted(priority for priority in running if priority < self.preemptor.priority)
            self._candidates = [gangs[key] for priority in lower for key in running[priority]]
        return self._candidates

    def weight(self, key: str) -> Weight:
        weight = self.weights.get(key)
        return self.weigh(self.floor.snapshot.gangs[key]) if weight is None else weight

    def weigh(self, gang: Gang) -> Weight:
        accelerators = seats = 0
        for island in gang.islands:
            for member in island.members:
                if member.node:
                    accelerators += member.shape.accelerators
                    seats += 1
        started, now = gang.started_at, self.floor.now
        since = started if gang.checkpoint_at is None else gang.checkpoint_at
        work = 0.0 if since is None or since >= now else accelerators * (now - since)
        young = started is None or now - started < self._min_runtime
        violations = self._violations([gang.key], frozenset()) if self._budgets else 0
        weight = self.weights[gang.key] = (int(young), violations, gang.priority, work, seats)
        return weight

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
