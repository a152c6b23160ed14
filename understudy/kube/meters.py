"""What is measured of a replica: turns of its loop into figures, and the last of them into how many run and wait."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from understudy.control.scheduling import Cycle
from understudy.decide.policy import Policy
from understudy.decide.spares import occupants, spare_nodes, why_unfit
from understudy.kube.figures import Asked, Counter, Figure, Histogram, Samples
from understudy.kube.observed import Observed
from understudy.kube.replica import Replica
from understudy.model.gangs import Suspension
from understudy.model.plans import Wait
from understudy.model.snapshot import Snapshot
from understudy.ports import Clock

PLAN_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Turns:
    """The loop's listener: counts what it decides, and remembers what it saw last."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._guarded: frozenset[tuple[str, str]] = frozenset()  # (gang, guard), when it was last explained
        self.snapshot: Snapshot | None = None
        self.decided_at = 0.0
        self.cycles = Counter("understudy_cycles_total", "Plans made.")
        self.plan_seconds = Histogram("understudy_plan_seconds", "Seconds it took to make a plan.", PLAN_SECONDS)
        self.actions = Counter("understudy_actions_total", "Actions carried out, or begun, by kind.", ["action"])
        self.guards = Counter("understudy_guard_activations_total", "Gangs that a guard began to hold back.", ["guard"])

    def hear(self, cycle: Cycle) -> None:
        self.snapshot, self.decided_at = cycle.snapshot, self._clock.now()
        self.cycles.add()
        self.plan_seconds.observe(cycle.took)
        for action in cycle.done:
            self.actions.add(type(action).__name__.lower())
        waits = [action for action in cycle.plan.actions if isinstance(action, Wait)]
        if waits or not cycle.done:
            guarded = frozenset((wait.gang, wait.reason.guard) for wait in waits if wait.reason.guard)
            for _, guard in sorted(guarded - self._guarded):
                self.guards.add(guard)
            self._guarded = guarded


class Measured(NamedTuple):
    """Whom the figures are about."""

    replica: Replica
    cluster: Observed
    turns: Turns
    policy: Policy
    clock: Clock


def figures_of(about: Measured) -> Iterator[Figure]:
    replica, cluster, turns = about.replica, about.cluster, about.turns

    yield Asked("understudy_leader", "1 while this replica leads.", lambda: [((), replica.leadership.leads)])
    yield _total("understudy_leader_transitions", "Times this replica began to lead.", lambda: [((), replica.terms)])
    yield Asked("understudy_synced", "1 once everything has been seen.", lambda: [((), replica.standing.synced)])
    yield Asked("understudy_view_age_seconds", "Age of what is known of the cluster.", lambda: [((), cluster.age())])
    yield Asked("understudy_objects", "Objects followed.", lambda: _by_name(cluster.objects), ["resource"])
    yield turns.cycles
    yield turns.plan_seconds
    yield turns.actions
    yield turns.guards
    yield _total("understudy_pods_bound", "Pods that were given a seat.", lambda: [((), cluster.bound)])
    yield _total("understudy_pods_released", "Pods that were told to go.", lambda: [((), cluster.released)])
    yield _total(
        "understudy_plans_broken_off", "Plans cut short, unanswered.", lambda: [((), replica.standing.stumbles)]
    )
    yield Asked("understudy_incidents_open", "Incidents under way.", lambda: [((), replica.standing.incidents)])
    yield _total("understudy_incidents", "Incidents opened in this term.", lambda: [((), replica.standing.opened)])
    yield Asked("understudy_gangs", "Gangs of ours, by state.", lambda: _gangs(turns.snapshot), ["state"])
    yield Asked("understudy_spares", "Spares, by state.", lambda: _spares(about), ["state"])
    yield Asked("understudy_last_decision_timestamp_seconds", "When it last planned.", lambda: [((), turns.decided_at)])


def _total(name: str, about: str, ask: Callable[[], Samples]) -> Asked:
    return Asked(f"{name}_total", about, ask, kind="counter")


def _by_name(counts: dict[str, int]) -> Samples:
    return [((name,), count) for name, count in counts.items()]


def _gangs(snapshot: Snapshot | None) -> Samples:
    if snapshot is None:
        return []
    counts = dict.fromkeys(("running", "waiting", "suspended"), 0)
    for gang in snapshot.gangs.values():
        if gang.managed:
            counts[_state(gang.seated(), gang.suspension)] += 1
    return _by_name(counts)


def _state(seated: object, suspension: Suspension) -> str:
    if seated:
        return "running"
    return "suspended" if suspension is Suspension.BY_OWNER else "waiting"


def _spares(about: Measured) -> Samples:
    snapshot, now = about.turns.snapshot, about.clock.now()
    if snapshot is None:
        return []
    counts = dict.fromkeys(("free", "taken", "unfit"), 0)
    for name in spare_nodes(snapshot, about.policy, now):
        if why_unfit(snapshot, name, about.policy, now):
            counts["unfit"] += 1
        else:
            counts["taken" if occupants(snapshot, name) else "free"] += 1
    return _by_name(counts)
