"""A gang is seated in part only as long as something explains it. Checked after every change, while faults act, too."""

from understudy.simulate.context import SimulationContext
from understudy.simulate.invariants.limits import NO_PODS, Explanations, Stopwatch
from understudy.simulate.workloads import GangState

PARTLY = "no gang is partly seated for long"


class PartialSeats:
    def __init__(self, context: SimulationContext, explanations: Explanations) -> None:
        self._context = context
        self._explanations = explanations
        self._watches: dict[str, tuple[GangState, Stopwatch]] = {}  # gangs that are seated in part

    def observe(self, gang: GangState, partly: bool) -> None:
        """Called after every change of the gang."""
        if not partly or gang.suspended or not gang.there:
            self._watches.pop(gang.key, None)
        elif gang.key in self._watches:
            self._lap(gang, self._watches[gang.key][1])
        else:
            self._watches[gang.key] = (gang, Stopwatch(self._context.loop.time(), self._explanations.why(gang)))

    def look(self) -> None:
        """Called once a second: an explanation may end without a change."""
        for gang, watch in list(self._watches.values()):
            self._lap(gang, watch)

    def _lap(self, gang: GangState, watch: Stopwatch) -> None:
        watch.lap(self._context.loop.time(), self._explanations.why(gang))
        if (absent := frozenset(gang.slots) - gang.made()) != watch.absent:
            watch.absent, watch.spent[NO_PODS] = absent, 0.0  # patience begins anew with each pod that comes or goes
        limit, patience = self._explanations.limit, self._explanations.patience(gang)
        unmade = watch.spent.get(NO_PODS, 0.0)
        if watch.unexplained() > limit or unmade > patience:
            missing = ", ".join(sorted(set(gang.slots) - gang.seated()))
            spent = ", ".join(f"{seconds:.1f} s {why or 'unexplained'}" for why, seconds in sorted(watch.spent.items()))
            self._context.fail(PARTLY, f"{gang.key} has no seats for {missing}: {spent}")
