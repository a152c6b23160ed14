"""Hand-made histories: what must not happen is convicted, by whatever order the news came; what may happen is not."""

from collections.abc import Sequence

import pytest

from tests.chaos.fault_schedule import Fault
from tests.chaos.judge.invariants import A_SWAP
from tests.chaos.judge.revision_times import Stamp, StoreClock
from tests.chaos.judge.stories import case, job, kinds, line, node, pod, share_convicted, told
from tests.chaos.ledger import Holder
from tests.chaos.observer import Gap

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


HALF = (job(1), pod(300, "0", "a"))
WHOLE = (job(1), pod(300, "0", "a"), pod(300, "1", "b"))


def test_a_gang_that_never_gets_all_its_seats_is_convicted_among_as_many_faults_as_a_run_has() -> None:
    assert share_convicted("seated_in_part", case(*HALF)) == 1.0
    assert share_convicted("seated_in_part", case(*HALF, pod(320, "1", "b"))) > 0.9, "after 20 s"
    assert share_convicted("seated_in_part", case(*HALF, pod(301, "1", "b"))) == 0.0, "after one"
    assert share_convicted("seated_in_part", case(*WHOLE)) == 0.0


def test_a_gang_that_starts_may_lose_a_seat_with_its_node() -> None:
    """Each member had a seat, or a held one, and never all at once."""
    first = (job(1), pod(300, "0", "a"), pod(301, "1", "b"), pod(301, "0", "a", gone=True))
    story = (*first, pod(310, "2", "c", place="train-0"))
    assert kinds(case(*story)) == ["seated_in_part"]
    assert kinds(case(*story, faults=[Fault("node kill", "a", 299.0, 340.0, ("a",))])) == []
    assert kinds(case(*story, faults=[Fault("node kill", "h", 299.0, 340.0, ("h",))])) == ["seated_in_part"]


def test_overlapping_delays_extend_the_limit_by_the_time_they_lasted_together() -> None:
    four_seconds = (job(1), pod(10, "0", "a"), pod(14, "1", "b"))
    one = Fault("busy processors", "", 10.5, 11.5)
    assert kinds(case(*four_seconds, faults=[one])) == ["seated_in_part"]
    assert kinds(case(*four_seconds, faults=[one, one, one, one])) == ["seated_in_part"], "it was one second"
    assert kinds(case(*four_seconds, faults=[Fault("stop", "control", 10.5, 13.0)])) == []
    node = Fault("node kill", "h", 10.0, 14.0, ("h",))
    assert kinds(case(*four_seconds, faults=[node])) == ["seated_in_part"], "the loss of another node delays nothing"


def test_a_swap_that_never_comes_is_convicted_among_as_many_faults_as_a_run_has() -> None:
    lost = (*WHOLE, pod(310, "1", "b", gone=True))
    assert share_convicted("partly_seated", case(*lost)) == 1.0
    assert share_convicted("partly_seated", case(*lost, pod(320, "2", "c", place="train-1"))) == 0.0


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
    well = [node(1, "a"), node(1, "b")]
    assert kinds(case(*seats, requeued, *well)) == ["requeued_without_loss"]
    assert kinds(case(*seats, requeued, *well, node(50, "b", ready=False))) == []
    fault = Fault("node kill", "b", 95.0, 120.0, nodes=("b",))
    assert kinds(case(*seats, requeued, *well, faults=[fault])) == []
    healed = [node(12, "b", ready=False), node(20, "b")]
    assert kinds(case(*seats, requeued, *well, *healed)) == ["requeued_without_loss"], "it was well again long ago"


def test_a_seat_that_is_held_for_a_later_stage_is_given_to_it() -> None:
    begun = (job(9, ["train-1"]), pod(10, "0", "a"))
    assert kinds(case(*begun, pod(20, "1", "b"), job(21))) == []
    assert kinds(case(*begun, job(20), pod(21, "0", "a", gone=True))) == ["hold_broken"]
    assert kinds(case(*begun, job(20, suspended=True), pod(21, "0", "a", gone=True))) == []
    assert kinds(case(*begun, job(20), pod(21, "0", "a", gone=True), node(15, "a", ready=False))) == []


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


def test_a_dead_node_does_not_come_back_to_life_by_itself() -> None:
    dead = Fault("node freeze", "a", 10.0, 60.0, ("a",), dead=True, healed=50.0)
    lost = (node(1, "a"), node(14, "a", ready=False))
    assert kinds(case(*lost, node(30, "a"), faults=[dead])) == ["dead_node_ready"]
    assert kinds(case(*lost, node(51, "a"), faults=[dead])) == []


def test_the_clock_of_the_store_knows_no_more_than_what_was_acknowledged() -> None:
    clock = StoreClock([Stamp(10, 1.0, 2.0), Stamp(20, 1.5, 5.0), Stamp(30, 4.0, 4.5)])
    assert clock.not_before(5) == float("-inf")
    assert clock.not_before(25) == 1.5
    assert clock.not_after(15) == 4.5, "the later revision was acknowledged before the earlier one"
    assert clock.not_after(31) == float("inf")
