"""Hand-made histories for the tests of the judge, and faults as dense as those of a run."""

import random
from collections.abc import Sequence
from typing import Any

from bench.hotswap.replay import JobState, PodState
from tests.chaos.api_objects import ObservedClaim, ObservedEvent, ObservedNode
from tests.chaos.fault_schedule import SCHEDULE, Fault, draw_kind, draw_pause, draw_seconds
from tests.chaos.judge.case import Case
from tests.chaos.judge.invariants import judge
from tests.chaos.judge.revision_times import Stamp, StoreClock
from tests.chaos.ledger import Line
from tests.chaos.observer import Gap, History
from tests.chaos.users import Submission
from tests.chaos.workloads import Workload
from understudy.objects.resources import JOB_SETS

# Revision r is stored between r seconds and a tenth of a second later.
CLOCK = StoreClock([Stamp(revision, float(revision), revision + 0.1) for revision in range(1000)])
END = 900.0
NODES = tuple("abcdefghijkl")
SEEDS = range(25)

Observed = PodState | JobState | ObservedEvent | ObservedNode | ObservedClaim


def submission(name: str = "train", size: int = 2, priority: int = 100, **more: Any) -> Submission:
    return Submission(Workload(name, "job", JOB_SETS, {}, size, priority, (), **more), 0.0)


def pod(revision: int, uid: str, node: str = "", gang: str = "train", late: float = 0.0, **more: Any) -> PodState:
    given = {"name": uid, "place": f"{gang}-{uid}", "arrived": revision + late, **more}
    return PodState(revision=revision, uid=uid, gang=gang, node=node, **given)


def job(revision: int, holds: Sequence[str] = (), name: str = "train", **more: Any) -> JobState:
    return JobState(revision=revision, arrived=float(revision), kind="JobSet", name=name, holds=tuple(holds), **more)


def line(at: float, what: str, uid: str, gang: str = "train", **more: Any) -> Line:
    return Line(at=at, what=what, uid=uid, pod=uid, gang=gang, node="a", pid=1, **{"began": at, **more})


def told(reason: str, message: str, at: float, name: str = "train") -> ObservedEvent:
    return ObservedEvent(revision=int(at), arrived=at, kind="JobSet", name=name, reason=reason, message=message)


def preempted(victim: str, taker: str, at: float) -> ObservedEvent:
    message = f"preempt JobSet/default/{victim} (2 pods) for Job/default/{taker}: priority 100 < 1000"
    return told("Preempted", message, at, victim)


def node(revision: int, name: str, ready: bool = True, **more: Any) -> ObservedNode:
    return ObservedNode(revision=revision, arrived=float(revision), name=name, ready=ready, **more)


def claim(revision: int, name: str) -> ObservedClaim:
    return ObservedClaim(revision=revision, arrived=float(revision), name=name)


def case(
    *observed: Observed,
    ledger: Sequence[Line] = (),
    faults: Sequence[Fault] = (),
    gaps: Sequence[Gap] = (),
    gangs: Sequence[Submission] = (),
) -> Case:
    history = History(gaps=list(gaps))
    for one in observed:
        history.keep(one)
    submitted = {one.workload.name: one for one in gangs or [submission()]}
    return Case(history, sorted(ledger, key=lambda one: one.at), CLOCK, submitted, list(faults), END)


def kinds(case: Case) -> list[str]:
    return [violation.kind for violation in judge(case)]


def storm(seed: int, seconds: float = END) -> list[Fault]:
    """Faults as a run draws them, on a cluster of twelve nodes."""
    chance = random.Random(seed)
    found: list[Fault] = []
    at = draw_pause(chance)
    while at < seconds:
        kind = draw_kind(chance, list(SCHEDULE))
        lasts = draw_seconds(chance, kind) if SCHEDULE[kind].longest else chance.uniform(0.3, 2.0)
        found.append(Fault(_word(kind), "", at, at + lasts, _struck(chance, kind)))
        at += draw_pause(chance)
    return found


def _word(kind: str) -> str:
    """As the run writes it down."""
    return "kill" if kind.startswith("kill") else "node kill" if "node" in kind else kind


def _struck(chance: random.Random, kind: str) -> tuple[str, ...]:
    if "node" not in kind:
        return ()
    return tuple(chance.sample(NODES, chance.randint(2, 4) if kind.startswith("several") else 1))


def share_convicted(kind: str, story: Case) -> float:
    """In how many of the storms the judge finds this violation."""
    found = 0
    for seed in SEEDS:
        story.faults = storm(seed)
        found += kind in kinds(story)
    return found / len(SEEDS)
