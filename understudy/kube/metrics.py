"""The metrics of a replica: turns of its loop, requests, and the gangs and spares of its last snapshot."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from understudy.client.request_metrics import NO_ANSWER, RequestMetrics
from understudy.control.loop import Cycle
from understudy.decide.policy import Policy
from understudy.decide.spares import occupants, spare_nodes, why_unfit
from understudy.kube.counting_client import CountingClient
from understudy.kube.liveness import Heartbeat
from understudy.kube.prometheus import CallbackMetric, Counter, Histogram, Metric, Samples
from understudy.kube.replica import Replica
from understudy.model.gangs import Suspension
from understudy.model.plans import Wait
from understudy.model.snapshot import Snapshot
from understudy.ports import Clock

PLAN_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class CycleMetrics:
    """Listens to the scheduling loop: counts its decisions and keeps its last snapshot."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._guarded: frozenset[tuple[str, str]] = frozenset()  # (gang, guard) in the last explanation
        self.snapshot: Snapshot | None = None
        self.decided_at = 0.0
        self.cycles = Counter("understudy_cycles_total", "Plans made.")
        self.plan_seconds = Histogram("understudy_plan_seconds", "Seconds it took to make a plan.", PLAN_SECONDS)
        self.actions = Counter("understudy_actions_total", "Actions carried out, or begun, by kind.", ["action"])
        self.guards = Counter("understudy_guard_activations_total", "Gangs that a guard began to hold back.", ["guard"])

    def observe(self, cycle: Cycle) -> None:
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


class MetricSources(NamedTuple):
    """The objects that the metrics read."""

    replica: Replica
    cluster: CountingClient
    turns: CycleMetrics
    requests: RequestMetrics
    policy: Policy
    clock: Clock


def metrics_of(about: MetricSources, heartbeat: Heartbeat) -> Iterator[Metric]:
    yield from _of_replica(about.replica, about.cluster)
    yield _gauge("understudy_loop_silence_seconds", "Since the main loop last turned.", lambda: heartbeat.silence)
    yield from _of_requests(about.requests)
    yield from _of_turns(about.turns)
    yield from _of_what_it_saw(about)


def _of_replica(replica: Replica, cluster: CountingClient) -> Iterator[Metric]:
    yield _gauge("understudy_leader", "1 while this replica leads.", lambda: replica.leadership.leads)
    yield _total("understudy_leader_transitions", "Times this replica began to lead.", lambda: replica.terms)
    yield _gauge("understudy_synced", "1 once everything there is has been seen.", lambda: replica.status.synced)
    yield _gauge("understudy_view_age_seconds", "Age of what is known of the cluster.", cluster.age)
    yield CallbackMetric("understudy_objects", "Objects followed.", lambda: _by_name(cluster.objects), ["resource"])
    yield _total("understudy_pods_bound", "Pods that were given a seat.", lambda: cluster.bound)
    yield _total("understudy_pods_released", "Pods that were told to go.", lambda: cluster.released)
    yield _total("understudy_plans_broken_off", "Plans that got no answer.", lambda: replica.status.interrupted_plans)
    yield _gauge("understudy_incidents_open", "Incidents under way.", lambda: replica.status.incidents)
    yield _total("understudy_incidents", "Incidents opened in this term.", lambda: replica.status.opened)
    yield _total("understudy_notices", "Notices that cost a gang its seats.", lambda: replica.status.notices)
    yield _total(
        "understudy_notices_beaten", "Notices before whose end it had moved.", lambda: replica.status.notices_beaten
    )


def _of_requests(metrics: RequestMetrics) -> Iterator[Metric]:
    def answers() -> Samples:
        now = list(metrics.answers.items())  # a copy: another thread adds to it
        return [((method, resource, _code(code)), count) for (method, resource, code), count in now]

    labels = ("method", "resource", "code")
    yield CallbackMetric("understudy_requests_total", "Requests to the cluster, by answer.", answers, labels, "counter")
    yield _total("understudy_request_repeats", "Requests that were asked again.", lambda: metrics.repeats)


def _of_turns(turns: CycleMetrics) -> Iterator[Metric]:
    yield turns.cycles
    yield turns.plan_seconds
    yield turns.actions
    yield turns.guards
    yield _gauge("understudy_last_decision_timestamp_seconds", "When a plan was last made.", lambda: turns.decided_at)


def _of_what_it_saw(about: MetricSources) -> Iterator[Metric]:
    """Only the leader reports these, so that they can be summed up over all replicas."""

    def seen() -> Snapshot | None:
        return about.turns.snapshot if about.replica.leadership.leads else None

    yield CallbackMetric("understudy_gangs", "Gangs of ours, by state.", lambda: _gangs(seen()), ["state"])
    yield CallbackMetric("understudy_spares", "Spares, by state.", lambda: _spares(seen(), about), ["state"])


def _gauge(name: str, about: str, ask: Callable[[], float]) -> CallbackMetric:
    return CallbackMetric(name, about, lambda: [((), ask())])


def _total(name: str, about: str, ask: Callable[[], float]) -> CallbackMetric:
    return CallbackMetric(f"{name}_total", about, lambda: [((), ask())], kind="counter")


def _code(code: int) -> str:
    return "none" if code == NO_ANSWER else str(code)


def _by_name(counts: dict[str, int]) -> Samples:
    return [((name,), count) for name, count in list(counts.items())]  # a copy: another thread adds to it


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


def _spares(snapshot: Snapshot | None, about: MetricSources) -> Samples:
    if snapshot is None:
        return []
    now = about.clock.now()
    counts = dict.fromkeys(("free", "taken", "unfit"), 0)
    for name in spare_nodes(snapshot, about.policy, now):
        if why_unfit(snapshot, name, about.policy, now):
            counts["unfit"] += 1
        else:
            counts["taken" if occupants(snapshot, name) else "free"] += 1
    return _by_name(counts)
