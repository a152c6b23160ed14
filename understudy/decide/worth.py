"""What it costs to preempt: turns a set of gangs into a Cost, and lists who may be preempted for whom."""

from collections.abc import Iterable, Iterator, Set

from understudy.decide.floor import Floor
from understudy.model.gangs import Gang
from understudy.model.plans import Cost

Weight = tuple[int, int, int, float]  # young, budget violations when alone, priority, work lost


def work_lost(gang: Gang, now: float) -> float:
    """Accelerator-seconds since the last checkpoint, else since the start."""
    since = gang.checkpoint_at if gang.checkpoint_at is not None else gang.started_at
    if since is None or since >= now:
        return 0.0
    return sum(m.shape.accelerators for m in gang.seated()) * (now - since)


class Ledger:
    """Prices for one preemptor, remembered while its victims are chosen."""

    def __init__(self, floor: Floor, preemptor: Gang) -> None:
        self.floor = floor
        self.preemptor = preemptor
        self._weights: dict[str, Weight] = {}

    def candidates(self) -> Iterator[str]:
        """Gangs of strictly lower priority with seats to give."""
        running = self.floor.snapshot.running
        for priority in sorted(running):
            if priority >= self.preemptor.priority:
                return
            yield from running[priority]

    def rank(self, key: str) -> tuple[int, bool, int]:
        """What counts before the work lost: whole classes of gangs are worse victims than others."""
        gang = self.floor.snapshot.gangs[key]
        violates = bool(self.floor.snapshot.budgets) and self._violations([key], frozenset()) > 0
        return (self._is_young(gang), violates, gang.priority)

    def weight(self, key: str) -> Weight:
        if key not in self._weights:
            gang = self.floor.snapshot.gangs[key]
            violations = self._violations([key], frozenset()) if self.floor.snapshot.budgets else 0
            self._weights[key] = (self._is_young(gang), violations, gang.priority, work_lost(gang, self.floor.now))
        return self._weights[key]

    def cost(self, gangs: Set[str], members: Set[tuple[str, str]]) -> Cost:
        """What it costs that these gangs go whole, and these members go while their gangs go on."""
        weights = [self.weight(key) for key in gangs]
        return Cost(
            young=sum(weight[0] for weight in weights),
            budget_violations=self._violations(gangs, members) if self.floor.snapshot.budgets else 0,
            highest_priority=max((weight[2] for weight in weights), default=-(2**31)),
            work_lost=sum(sorted(weight[3] for weight in weights)),
            gangs=len(gangs),
            surplus=len(members),
            names=tuple(sorted([*gangs, *(f"{gang}/{member}" for gang, member in members)])),
        )

    def _is_young(self, gang: Gang) -> bool:
        return gang.started_at is None or self.floor.now - gang.started_at < self.floor.policy.min_runtime

    def _violations(self, gangs: Iterable[str], members: Set[tuple[str, str]]) -> int:
        snapshot = self.floor.snapshot
        disturbed = [(snapshot.gangs[key], m) for key in gangs for m in snapshot.gangs[key].seated()]
        for key in {gang for gang, _ in members}:
            gang = snapshot.gangs[key]
            disturbed.extend((gang, m) for m in gang.seated() if (key, m.name) in members)
        return sum(
            max(0, sum(1 for gang, member in disturbed if budget.covers(gang, member)) - budget.allowed)
            for budget in snapshot.budgets
        )
