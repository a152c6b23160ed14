"""Hand-made histories: what must not happen is convicted, by whatever order the news came; what may happen is not."""

from collections.abc import Sequence
from typing import Any

import pytest

from bench.hotswap.replay import JobState, PodState
from tests.chaos.api_objects import ObservedEvent, ObservedNode
from tests.chaos.faults import Fault
from tests.chaos.invariants import A_SWAP, Case, judge
from tests.chaos.ledger import Holder, Line
from tests.chaos.observer import Gap, History
from tests.chaos.revision_times import Stamp, StoreClock
from tests.chaos.users import Submission
from tests.chaos.workloads import Workload
from understudy.objects.resources import JOB_SETS

# Revision r is stored between r seconds and a tenth of a second later.
CLOCK = StoreClock([Stamp(revision, float(revision), revision + 0.1) for revision in range(1000)])


def submission(name: str = "train", size: int = 2, priority: int = 100) -> Submission:
    return Submission(Workload(name, "job", JOB_SETS, {}, size, priority, ()), 0.0)


def pod(revision: int, uid: str, node: str = "", gang: str = "train", late: float = 0.0, **more: Any) -> PodState:
    given = {"name": uid, "place": f"{gang}-{uid}", "arrived": revision + late, **more}
    return PodState(revision=revision, uid=uid, gang=gang, node=node, **given)


def job(revision: int, holds: Sequence[str] = (), name: str = "train", **more: Any) -> JobState:
    return JobState(revision=revision, arrived=float(revision), kind="JobSet", name=name, holds=tuple(holds), **more)


def line(at: float, what: str, uid: str, gang: str = "train", **more: Any) -> Line:
    return Line(at=at, what=what, uid=uid, pod=uid, gang=gang, node="a", pid=1, **{"began": at, **more})


def told(reason: str, message: str, at: float, name: str = "train") -> ObservedEvent:
    return ObservedEvent(revision=int(at), arrived=at, kind="JobSet", name=name, reason=reason, message=message)


def kinds(case: Case) -> list[str]:
    return [violation.kind for violation in judge(case)]


def case(
    *observed_of: PodState | JobState,
    ledger: Sequence[Line] = (),
    events: Sequence[ObservedEvent] = (),
    nodes: Sequence[ObservedNode] = (),
    faults: Sequence[Fault] = (),
    gaps: Sequence[Gap] = (),
    gangs: Sequence[Submission] = (),
) -> Case:
    history = History(
        pods=[observed for observed in observed_of if isinstance(observed, PodState)],
        jobs=[observed for observed in observed_of if isinstance(observed, JobState)],
        events=list(events),
        nodes=list(nodes),
        gaps=list(gaps),
    )
    submitted = {one.workload.name: one for one in gangs or [submission()]}
    return Case(history, sorted(ledger, key=lambda one: one.at), CLOCK, submitted, list(faults), 900.0)


PARTIAL = (job(1), pod(10, "0", "a"), pod(11, "0", "a", running=True), pod(14, "1", "b"))


def test_a_process_that_starts_before_the_last_member_has_a_seat_is_convicted() -> None:
    assert kinds(case(*PARTIAL, ledger=[line(11.0, "start", "0"), line(15.0, "start", "1")])) == [
        "partial_start",
        "seated_in_part",
    ]


def test_a_process_that_starts_when_all_have_seats_is_not() -> None:
    seats = (job(1), pod(10, "0", "a"), pod(11, "1", "b"))
    assert kinds(case(*seats, ledger=[line(11.5, "start", "0"), line(12.0, "start", "1")])) == []


def test_late_events_are_not_reported_as_violations() -> None:
    """The seat was stored before the process started; the observer heard of it a minute later, and out of order."""
    seats = (pod(11, "1", "b", late=60.0), job(1), pod(10, "0", "a", late=61.0))
    assert kinds(case(*seats, ledger=[line(11.5, "start", "0"), line(12.0, "start", "1")])) == []


def test_a_start_within_the_time_in_which_the_seat_was_stored_is_not_convicted() -> None:
    seats = (job(1), pod(10, "0", "a"), pod(11, "1", "b"))
    assert kinds(case(*seats, ledger=[line(11.01, "start", "0")])) == []


@pytest.mark.parametrize(
    ("holds", "found"),
    [
        (("train-1",), []),
        (("train-0",), ["partial_start", "seated_in_part"]),  # for a member that has a seat already
        ((), ["partial_start", "seated_in_part"]),
    ],
)
def test_only_a_held_seat_for_each_missing_member_excuses(holds: Sequence[str], found: list[str]) -> None:
    seats = (job(9, holds), pod(10, "0", "a"), pod(11, "0", "a", running=True), pod(14, "1", "b"), job(15))
    assert kinds(case(*seats, ledger=[line(11.0, "start", "0"), line(15.0, "start", "1")])) == found


def test_what_happened_while_the_observer_had_no_watch_is_no_violation() -> None:
    assert kinds(case(*PARTIAL, ledger=[line(11.0, "start", "0")], gaps=[Gap(9, 13)])) == []


def test_a_gang_that_waits_for_a_swap_for_too_long_is_partly_seated() -> None:
    whole = (job(1), pod(10, "0", "a"), pod(11, "1", "b"))
    lost = pod(20, "1", "b", gone=True)
    assert kinds(case(*whole, lost, pod(30, "2", "c", place="train-1"))) == []
    assert kinds(case(*whole, lost, pod(int(22 + A_SWAP), "2", "c", place="train-1"))) == ["partly_seated"]
    assert kinds(case(*whole, lost, job(21, ["train-1"]))) == [], "a seat is held for it"
    suspended = job(21, suspended=True)
    assert kinds(case(*whole, lost, suspended)) == [], "the others are on their way out"


def test_a_gang_that_loses_its_seats_although_its_nodes_are_well_is_told() -> None:
    seats = (job(1), pod(10, "0", "a"), pod(11, "1", "b"))
    requeued = told("Requeued", "requeue JobSet/default/train: 1 member has no seat; nothing can replace it", 100.0)
    well = [ObservedNode(revision=1, arrived=1.0, name=name, ready=True) for name in "ab"]
    assert kinds(case(*seats, events=[requeued], nodes=well)) == ["requeued_without_loss"]
    lost = ObservedNode(revision=50, arrived=50.0, name="b", ready=False)
    assert kinds(case(*seats, events=[requeued], nodes=[*well, lost])) == []
    fault = Fault("node kill", "b", 95.0, 120.0, nodes=("b",))
    assert kinds(case(*seats, events=[requeued], nodes=well, faults=[fault])) == []


def test_a_seat_that_is_held_for_a_later_stage_is_given_to_it() -> None:
    begun = (job(9, ["train-1"]), pod(10, "0", "a"))
    assert kinds(case(*begun, pod(20, "1", "b"), job(21))) == []
    assert kinds(case(*begun, job(20), pod(21, "0", "a", gone=True))) == ["hold_broken"]
    assert kinds(case(*begun, job(20, suspended=True), pod(21, "0", "a", gone=True))) == []
    lost = ObservedNode(revision=15, arrived=15.0, name="a", ready=False)
    assert kinds(case(*begun, job(20), pod(21, "0", "a", gone=True), nodes=[lost])) == []


def test_an_accelerator_that_two_living_processes_have_is_told() -> None:
    holder = Holder("0", "0", "train", "a", 7)
    conflict = line(12.0, "conflict", "1", lock="accelerator-3", holder=holder, state="S")
    seats = (job(1), pod(10, "0", "a"), pod(11, "1", "a"))
    assert kinds(case(*seats, ledger=[conflict])) == ["accelerator_twice"]
    shadow = line(12.0, "shadow", "1", lock="accelerator-3", holder=holder, state="T")
    assert kinds(case(*seats, ledger=[shadow])) == []


def test_a_place_may_have_a_successor_while_its_pod_is_on_its_way_out() -> None:
    holder = Holder("0", "0", "train", "a", 7)
    conflict = line(14.0, "conflict", "1", lock="name-train-0", holder=holder, state="S")
    seats = (job(1), pod(10, "0", "a"), pod(11, "1", "a"))
    assert kinds(case(*seats, ledger=[conflict])) == ["two_of_a_name"]
    after = (pod(12, "0", "a", leaving=True), pod(13, "2", "b", place="train-0"))
    assert kinds(case(*seats, *after, ledger=[conflict])) == []
    same = line(14.0, "conflict", "0", lock="name-0", holder=holder, state="S")
    assert kinds(case(*seats, *after, ledger=[same])) == ["two_of_a_name"]


def test_a_process_is_told_to_end_only_when_its_pod_is_deleted() -> None:
    seats = (job(1), pod(10, "0", "a"), pod(11, "1", "b"))
    term = line(20.0, "term", "0")
    assert kinds(case(*seats, ledger=[term])) == ["stopped_without_reason"]
    late = (pod(25, "0", "a", gone=True), job(25, suspended=True))
    assert kinds(case(*seats, *late, ledger=[term])) == ["stopped_without_reason"]
    assert kinds(case(*seats, pod(19, "0", "a", leaving=True), job(19, suspended=True), ledger=[term])) == []


def preempted(victim: str, taker: str, at: float) -> ObservedEvent:
    message = f"preempt JobSet/default/{victim} (2 pods) for Job/default/{taker}: priority 100 < 1000"
    return told("Preempted", message, at, victim)


def test_a_victim_is_less_important_than_the_gang_it_goes_for() -> None:
    gangs = [submission("low", priority=100), submission("high", priority=1000)]
    starts = [line(52.0, "start", "h", "high")]
    assert kinds(case(events=[preempted("low", "high", 50.0)], gangs=gangs, ledger=starts)) == []
    assert kinds(
        case(events=[preempted("high", "low", 50.0)], gangs=gangs, ledger=[line(52.0, "start", "l", "low")])
    ) == ["victim_priority"]


def test_a_gang_for_which_others_went_starts() -> None:
    gangs = [submission("low", priority=100), submission("high", priority=1000)]
    assert kinds(case(events=[preempted("low", "high", 50.0)], gangs=gangs)) == ["preemption_in_vain"]
    gangs[1].meddled.append(55.0)
    assert kinds(case(events=[preempted("low", "high", 50.0)], gangs=gangs)) == [], "its user suspended it"


def test_a_dead_node_does_not_come_back_to_life_by_itself() -> None:
    dead = Fault("node freeze", "a", 10.0, 60.0, ("a",), dead=True, healed=50.0)
    observed_of = [
        ObservedNode(revision=r, arrived=float(r), name="a", ready=ready) for r, ready in ((1, True), (14, False))
    ]
    returned = ObservedNode(revision=30, arrived=99.0, name="a", ready=True)
    assert kinds(case(nodes=[*observed_of, returned], faults=[dead])) == ["dead_node_ready"]
    healed = ObservedNode(revision=51, arrived=99.0, name="a", ready=True)
    assert kinds(case(nodes=[*observed_of, healed], faults=[dead])) == []


def test_the_clock_of_the_store_knows_no_more_than_what_was_acknowledged() -> None:
    clock = StoreClock([Stamp(10, 1.0, 2.0), Stamp(20, 1.5, 5.0), Stamp(30, 4.0, 4.5)])
    assert clock.not_before(5) == float("-inf")
    assert clock.not_before(25) == 1.5
    assert clock.not_after(15) == 4.5, "the later revision was acknowledged before the earlier one"
    assert clock.not_after(31) == float("inf")
