"""The planner against an exhaustive search: it finds a way wherever there is one, and pays the least for it.

Seeded clusters of up to six domains and eight gangs, 2,000 of them in thorough tests, in three families: one gang waits
in a full house, one gang lost a node, several gangs wait. Every decision is compared in the state in which it was made.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import msgspec
import pytest

from tests.decide import exhaustive_search
from tests.decide.random_clusters import Cluster, ClusterOptions, seeded
from tests.examples import seeds
from understudy.decide.cycle import plan
from understudy.decide.policy import Policy
from understudy.decide.projection import apply_actions
from understudy.model.gangs import Gang
from understudy.model.nodes import Health, Verdict
from understudy.model.plans import Action, Cost, Hold, Preempt, Requeue, Start, Swap, Wait
from understudy.model.snapshot import Snapshot

CASES = {
    "one waits": 1_000,
    "one is broken": 500,
    "several wait": 500,
    "one waits, on spot": 500,
    "one is broken, on spot": 500,
}

FULL_HOUSE = ClusterOptions(
    domains=6,
    nodes_in_domain=2,
    running=7,
    waiting=1,
    sick=0,
    odd_nodes=4,
    topology=65,
    guards=0,
    holds=0,
    asleep=0,
    leaving=0,
    never_preempts=5,
    full=True,
    foreign=4,
    picky=8,
    islands=(1, 1, 2, 2, 3),
    members=(1, 2, 1, 2, 3),
)
ON_SPOT = msgspec.structs.replace(FULL_HOUSE, spot=50)
SEVERAL = msgspec.structs.replace(FULL_HOUSE, running=5, waiting=3)


class Decision(NamedTuple):
    """What a decision cost, and what it should have cost. None: no way was found, or there is none."""

    gang: str
    paid: Cost | None
    least: Cost | None


def case(family: str, seed: int) -> Cluster:
    if family == "several wait":
        return seeded(seed, SEVERAL)
    cluster = seeded(seed, ON_SPOT if family.endswith("on spot") else FULL_HOUSE)
    return with_a_lost_node(cluster, seed) if family.startswith("one is broken") else cluster


def with_a_lost_node(cluster: Cluster, seed: int) -> Cluster:
    """A node with a gang is lost, and no gang waits."""
    gangs = tuple(g for g in cluster.gangs if g.seated())
    taken = sorted({m.node for g in gangs for m in g.seated()})
    if not taken:
        return msgspec.structs.replace(cluster, gangs=gangs)
    lost = taken[seed % len(taken)]
    health = Health(Verdict.LOST, "by chance", cluster.now - 1.0)
    nodes = tuple(msgspec.structs.replace(n, health=health) if n.name == lost else n for n in cluster.nodes)
    return msgspec.structs.replace(cluster, nodes=nodes, gangs=gangs)


# One decision


def decisions(cluster: Cluster, policy: Policy) -> Iterator[Decision]:
    """Every gang that wanted something, in the state in which its turn came."""
    snapshot = cluster.snapshot()
    actions = plan(snapshot, policy, cluster.now).actions
    for key in sorted(snapshot.gangs):
        gang = snapshot.gangs[key]
        if not wants(snapshot, gang):
            continue
        mine = [i for i, a in enumerate(actions) if key in (a.gang, a.by if isinstance(a, Preempt) else "")]
        first = next((i for i in mine if not isinstance(actions[i], Wait)), len(actions))
        if any(isinstance(a, Preempt) and a.gang == key for a in actions[first : first + 1]):
            continue  # a more important gang preempts it before its turn
        state = apply_actions(snapshot, actions[:first])
        if state.gangs[key].leaving:
            continue  # a victim: its own pods have to leave first
        setting = exhaustive_search.Setting(state, policy, cluster.now)
        yield Decision(key, paid(setting, [actions[i] for i in mine], key), least(setting, state.gangs[key]))


def wants(snapshot: Snapshot, gang: Gang) -> bool:
    if not gang.managed or gang.infrastructure:
        return False
    return not gang.seated() or any(is_lost(snapshot, m.node) for m in gang.seated())


def new_seats(action: Action) -> list[str]:
    match action:
        case Start() | Hold():
            return [name for name, _ in action.seats]
        case Swap():
            return [move.member for move in action.moves]
        case _:
            return []


def is_lost(snapshot: Snapshot, node: str) -> bool:
    return snapshot.nodes[node].node.health.verdict is Verdict.LOST


def paid(setting: exhaustive_search.Setting, actions: Iterable[Action], key: str) -> Cost | None:
    actions = list(actions)
    if any(isinstance(a, Requeue) and a.gang == key for a in actions):
        return None  # what it gets after that in the same plan is a start, at another size perhaps, and no repair
    seats = {name for a in actions if a.gang == key for name in new_seats(a)}
    if not seats >= set(wanted_by(setting.snapshot, setting.snapshot.gangs[key])):
        return None
    losses = []
    for action in actions:
        if isinstance(action, Preempt) and action.by == key:
            victim = setting.snapshot.gangs[action.gang]
            members = tuple(m for m in victim.seated() if m.name in action.members)
            losses.append(exhaustive_search.Loss(victim, members, action.whole))
    return exhaustive_search.cost_of(losses, setting)


def least(setting: exhaustive_search.Setting, gang: Gang) -> Cost | None:
    feasible = exhaustive_search.makes_room(setting, gang, wanted_by(setting.snapshot, gang))
    board = exhaustive_search.board_for(gang, setting)
    if not gang.preempts:
        return exhaustive_search.cost_of([], setting) if feasible(board) else None
    return exhaustive_search.cheapest(setting, gang, board, feasible)


def wanted_by(snapshot: Snapshot, gang: Gang) -> list[str]:
    return exhaustive_search.displaced(snapshot, gang) if gang.seated() else exhaustive_search.essential(gang)


# All of them


class Tally(msgspec.Struct):
    """What a run of cases came to."""

    cases: int = 0
    possible: int = 0
    victims: int = 0
    missed: int = 0
    dearer: Counter[str] = msgspec.field(default_factory=Counter)  # by the part of the cost that is first too high
    work_lost: float = 0.0
    least_work_lost: float = 0.0

    def add(self, decision: Decision) -> None:
        ours, best = decision.paid, decision.least
        self.cases += 1
        if best is None:
            assert ours is None, f"{decision.gang} got what the rules do not allow: {ours}"
            return
        self.possible += 1
        self.victims += best.gangs + best.surplus > 0
        if ours is None:
            self.missed += 1
            return
        assert ours >= best, f"{decision.gang} paid {ours}, less than the least the oracle knows: {best}"
        self.work_lost += ours.work_lost
        self.least_work_lost += best.work_lost
        if ours > best:
            self.dearer[next(f for f in Cost.__struct_fields__ if getattr(ours, f) != getattr(best, f))] += 1

    def line(self, title: str) -> str:
        found = f"{self.cases} decisions, {self.possible} possible, {self.victims} of these only with victims"
        share = 100.0 * self.dearer.total() / max(1, self.victims)
        excess = 100.0 * (self.work_lost / self.least_work_lost - 1.0) if self.least_work_lost else 0.0
        where = ", ".join(f"{count} by {field}" for field, count in sorted(self.dearer.items()))
        worse = f"{self.dearer.total()} not optimal ({share:.1f} %{': ' + where if where else ''})"
        return f"{title}: {found}; {self.missed} not found, {worse}; {excess:+.1f} % work lost over all"


def tally(family: str, cases: int, **options: int) -> Tally:
    total = Tally()
    for seed in seeds(cases):
        cluster = case(family, seed)
        for decision in decisions(cluster, msgspec.structs.replace(cluster.policy, **options)):
            total.add(decision)
    return total


Measure = Callable[[str, object], None]


@pytest.mark.law
@pytest.mark.parametrize("family", CASES)
def test_the_planner_finds_a_way_and_pays_the_least(family: str, record_property: Measure) -> None:
    total = tally(family, CASES[family])
    record_property("measured", total.line(f"oracle, {family}"))
    assert total.missed == 0
    assert total.dearer.total() <= 0.02 * total.victims
    assert total.victims >= total.cases / 10


@pytest.mark.law
@pytest.mark.parametrize("family", ["one waits", "one waits, on spot"])
def test_the_heuristic_for_large_cases_is_not_far_off(family: str, record_property: Measure) -> None:
    total = tally(family, CASES["one waits"] // 3, exact_victims=0)
    record_property("measured", total.line(f"oracle, {family}, heuristic forced"))
    assert total.missed == 0
    assert total.dearer.total() <= 0.25 * total.victims
