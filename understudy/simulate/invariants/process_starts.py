"""A process starts only while every member of its gang has a seat or a held one. The only excuse is the delay of news:
the loop cannot have answered yet to the loss of a seat that was there."""

from understudy.simulate.api_server import Version
from understudy.simulate.context import SimulationContext
from understudy.simulate.workloads import GangState

WHOLE = "no process starts before all members of its gang have seats"


class ProcessStarts:
    def __init__(self, context: SimulationContext) -> None:
        self._context = context
        self._lost: dict[str, dict[str, float]] = {}  # gang -> slot that had a seat or a held one -> when it lost that
        self._covered: dict[str, set[str]] = {}

    def observe(self, gang: GangState, covered: set[str]) -> None:
        """Called after every change of the gang, with the slots that have seats or held ones."""
        now = self._context.loop.time()
        before = self._covered.get(gang.key, set())
        self._covered[gang.key] = covered
        lost = self._lost.setdefault(gang.key, {})
        if covered == before:
            return
        for slot in before - covered:
            lost[slot] = now
        for slot in covered:
            lost.pop(slot, None)
        if not covered - gang.done:
            lost.clear()

    def started(self, gang: GangState, pod: Version, covered: set[str]) -> None:
        """Its first process, or one more, runs from now on."""
        self.observe(gang, covered)
        if len(covered) >= gang.needed:
            return
        lost = self._lost[gang.key]
        missing = sorted(slot for slot in set(gang.slots) - covered if not self._is_news(lost.get(slot)))
        if len(gang.slots) - len(missing) < gang.needed:
            self._context.fail(WHOLE, f"{pod.name[1]} started; no seat is held for {', '.join(missing)}")

    def _is_news(self, lost_at: float | None) -> bool:
        """Whether the loop could not have answered to this loss yet."""
        context = self._context
        if lost_at is None:
            return False
        return context.loop.time() - max(lost_at, context.hampered_at()) < context.reaction
