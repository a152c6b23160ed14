"""All that is known at the end of a run, and what the rules ask of it: what explains what, how long without delays."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from bench.hotswap.replay import GangReplay, replayed
from tests.chaos.api_objects import JobState, ObservedEvent, PodState
from tests.chaos.fault_schedule import Fault
from tests.chaos.judge.revision_times import StoreClock
from tests.chaos.judge.spans import Span, moment_after, outside, union
from tests.chaos.ledger import Line
from tests.chaos.observer import History
from tests.chaos.users import Submission

RESTART = 2.0  # seconds that a part of the cluster needs after it is there again, until it works
LATE = 5.0  # seconds by which the news of a fault or of a user's action may be late
NOTICE = 20.0  # seconds in which a fault or a user's action still explains what happens to a gang
MEMORY = 60.0  # seconds in which the loss of a node still explains that its gang gives up its seats


class Violation(msgspec.Struct, frozen=True):
    kind: str
    words: str
    at: float | None = None  # by the monotonic clock
    gangs: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    timeline: tuple[str, ...] = ()


class Case(msgspec.Struct):
    history: History
    ledger: Sequence[Line]
    clock: StoreClock
    submitted: Mapping[str, Submission]
    faults: Sequence[Fault] = ()
    ended: float = float("inf")  # when the cluster was told to go down: what happens after that is its end
    cordons: Sequence[tuple[str, float]] = ()  # nodes that users closed, and when

    def gangs(self) -> dict[str, GangReplay]:
        observed_of: dict[str, list[PodState | JobState]] = {name: [] for name in self.submitted}
        for pod in self.history.pods:
            if pod.gang in observed_of:
                observed_of[pod.gang].append(pod)
        for job in self.history.jobs:
            if job.name in observed_of:
                observed_of[job.name].append(job)
        return {name: replayed(name, self.submitted[name].workload.size, seen) for name, seen in observed_of.items()}

    def blind(self, first: int, last: int) -> bool:
        """Whether the observer missed something between these revisions."""
        return any(gap.after <= last and first <= (gap.until or last) for gap in self.history.gaps)

    # Faults that only delay

    def delays(self) -> list[Span]:
        """Times in which faults kept parts of the cluster from working, or starved them."""
        return union(Span(fault.began, self._until(fault)) for fault in self.faults if fault.delays)

    def _until(self, fault: Fault) -> float:
        ended = fault.ended if fault.ended is not None else self.ended
        return ended + RESTART if fault.kind == "kill" else ended

    def undelayed(self, begin: float, end: float) -> float:
        """Seconds of this time in which no fault delayed anything."""
        return outside(self.delays(), begin, end)

    def deadline(self, begin: float, seconds: float) -> float:
        """When so many seconds without a delay have passed."""
        return moment_after(self.delays(), begin, seconds)

    # Faults that can cost seats

    def struck(self, nodes: set[str], begin: float, end: float) -> bool:
        """Whether one of these nodes was down at some moment of this time."""
        return any(
            set(fault.nodes) & nodes and fault.began <= end and (fault.ended is None or fault.ended >= begin)
            for fault in self.faults
        )

    def blows(self, nodes: set[str], begin: float, end: float) -> list[float]:
        """When faults and users took one of these nodes away in this time."""
        faults = [fault.began for fault in self.faults if set(fault.nodes) & nodes]
        cordons = [at for node, at in self.cordons if node in nodes]
        return sorted(at for at in (*faults, *cordons) if begin < at <= end)

    def was_unwell(self, nodes: set[str], begin: float, end: float) -> bool:
        """Whether the API said in this time that one of these nodes is not ready, or ill. What is decided because of it
        may be written before it is."""
        first, before = self.clock.revision_at(begin), dict[str, bool]()
        for observed in sorted(self.history.nodes, key=lambda one: one.revision):
            well = observed.ready and not observed.ill
            if observed.name in nodes and observed.revision <= first:
                before[observed.name] = well
            elif observed.name in nodes and observed.arrived <= end and not well:
                return True
        return not all(before.values())

    def is_down(self, node: str, revision: int) -> bool:
        """Whether pods on this node may have been given up at this revision: a fault took it away, or the API said so
        before, or soon after it."""
        begin, end = self.clock.not_before(revision) - LATE, self.clock.not_after(revision)
        return self.struck({node}, begin, end) or self.was_unwell({node}, begin, end + LATE)

    # Users

    def meddled(self, name: str, begin: float, end: float) -> bool:
        one = self.submitted.get(name)
        return one is None or any(begin <= at <= end for at in one.meddled)


class Preemption(msgspec.Struct, frozen=True):
    victim: str
    taker: str
    at: float
    revision: int


def counted(events: Sequence[ObservedEvent], reason: str) -> Iterator[ObservedEvent]:
    """Each time it happened once: an event that happens again is the same object with a higher count."""
    seen: set[tuple[str, str, str, int]] = set()
    for event in sorted(events, key=lambda one: one.revision):
        key = (event.kind, event.name, event.message, event.count)
        if event.reason == reason and key not in seen:
            seen.add(key)
            yield event
