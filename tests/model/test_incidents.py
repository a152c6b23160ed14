"""Incidents: times never run backwards, what is closed stays as it is, and the figures add up."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.model.incidents import (
    STEPS,
    GangLoss,
    GangProgress,
    Incident,
    IncidentDecision,
    IncidentOutcome,
    merged_records,
    percentile,
    step_seconds,
    step_statistics,
    with_decision,
    with_loss,
    with_progress,
)
from understudy.model.plans import Move, SeatSource

OPEN = Incident(
    name="train-1",
    gang="Job/default/train",
    uid="u",
    cause="node a lost",
    nodes=("a",),
    members=("train-0",),
    wanted=2,
    detected_at=10.1,
    failed_at=10.0,
)
SWAP = IncidentDecision(IncidentOutcome.SWAPPED, (Move("train-0", "a", "b", SeatSource.SPARE),))
BROKEN, SEATED, RUNNING = GangProgress(2, 2, 2, broken=True), GangProgress(2, 2, 1), GangProgress(2, 2, 2)

moments = st.floats(0, 100)
names = st.sampled_from(["a", "b", "c"])
moves = st.builds(Move, names, names, names, st.sampled_from(SeatSource))
happenings = st.one_of(
    st.builds(GangLoss, st.tuples(names), st.tuples(names), st.just("lost"), st.none() | moments),
    st.tuples(
        st.builds(
            IncidentDecision,
            st.sampled_from([IncidentOutcome.SWAPPED, IncidentOutcome.SHRUNK, IncidentOutcome.REQUEUED]),
            st.tuples(moves),
            st.lists(names, max_size=2).map(tuple),
            st.none() | st.integers(0, 3),
        ),
        moments,
    ),
    st.tuples(
        st.builds(
            GangProgress, *(st.integers(0, 3),) * 3, broken=st.booleans(), victims_in=st.booleans(), gone=st.booleans()
        ),
        moments,
    ),
)


def after(incident: Incident, happening: object) -> Incident:
    match happening:
        case GangLoss():
            return with_loss(incident, happening)
        case (IncidentDecision() as decision, float(at)):
            return with_decision(incident, decision, at)
        case (GangProgress() as observed, float(at)):
            return with_progress(incident, observed, at)
    raise AssertionError(happening)


@given(st.lists(happenings, max_size=12))
def test_times_never_run_backwards_and_what_is_closed_stays_as_it_is(scenario: list[object]) -> None:
    incident = OPEN
    for happening in scenario:
        before, incident = incident, after(incident, happening)
        times = [at for step in STEPS if (at := incident.at(step)) is not None]
        assert times == sorted(times)
        assert before.open or incident == before
        assert (incident.running_at is not None) == (
            incident.outcome not in (IncidentOutcome.OPEN, IncidentOutcome.ENDED)
        )
        assert incident.open or merged_records(incident, OPEN) == incident


def test_a_swap_goes_through_its_steps() -> None:
    incident = with_decision(OPEN, SWAP, 10.2)
    incident = with_progress(incident, BROKEN, 10.3)
    assert incident.seated_at is None
    incident = with_progress(incident, SEATED, 10.4)
    assert (incident.seated_at, incident.open) == (10.4, True)
    incident = with_progress(incident, RUNNING, 10.5)
    assert (incident.outcome, incident.sources, incident.victims_out_at) == (IncidentOutcome.SWAPPED, ("spare",), None)
    told = {"detected": 0.1, "decided": 0.2, "seated": 0.4, "running": 0.5, "total": 0.5}
    assert step_seconds(incident) == pytest.approx(told)


def test_victims_have_to_be_out_first() -> None:
    incident = with_decision(OPEN, msgspec.structs.replace(SWAP, victims=("Job/default/v",)), 11.0)
    incident = with_progress(incident, GangProgress(2, 1, 1, victims_in=True), 12.0)
    assert incident.victims_out_at is None
    incident = with_progress(incident, GangProgress(2, 1, 1), 13.0)
    assert with_progress(incident, RUNNING, 14.0).victims_out_at == 13.0


def test_a_spare_that_dies_while_stepping_in_extends_the_incident() -> None:
    incident = with_progress(with_decision(OPEN, SWAP, 10.2), SEATED, 10.4)
    incident = with_loss(incident, GangLoss(("b",), ("train-0",), "node b lost"))
    assert (incident.nodes, incident.cause) == (("a", "b"), "node a lost; node b lost")
    assert (incident.moves, incident.seated_at) == ((), None)
    again = IncidentDecision(IncidentOutcome.SWAPPED, (Move("train-0", "", "c", SeatSource.IDLE),))
    incident = with_progress(with_decision(incident, again, 11.0), RUNNING, 12.0)
    assert [move.to_node for move in incident.moves] == ["c"]
    assert (incident.decided_at, incident.seated_at, incident.total) == (10.2, 12.0, 2.0)


@pytest.mark.parametrize(("seated_at", "beaten"), [(59.0, True), (60.0, True), (61.0, False)])
def test_a_notice_is_beaten_when_all_members_sit_elsewhere_before_its_deadline(seated_at: float, beaten: bool) -> None:
    noticed = msgspec.structs.replace(OPEN, deadline=60.0)
    decided = with_decision(noticed, SWAP, 11.0)
    assert (OPEN.beaten, decided.beaten) == (None, None)
    seated = with_progress(decided, SEATED, seated_at)
    assert seated.beaten is beaten
    assert with_progress(seated, RUNNING, 70.0).beaten is beaten


def test_a_node_that_went_before_its_deadline_was_too_early_to_be_beaten() -> None:
    noticed = with_decision(msgspec.structs.replace(OPEN, deadline=60.0), SWAP, 11.0)
    lost = with_loss(noticed, GangLoss(("a",), ("train-0",), "lost", 20.0, deadline=20.0))
    assert lost.deadline == 20.0
    assert with_progress(lost, SEATED, 25.0).beaten is False


def test_a_job_that_ends_by_itself_says_nothing_of_its_notice() -> None:
    noticed = msgspec.structs.replace(OPEN, deadline=60.0)
    assert with_progress(noticed, GangProgress(gone=True), 70.0).beaten is None


def test_a_node_that_comes_back_by_itself_and_a_job_that_is_gone() -> None:
    assert with_progress(OPEN, RUNNING, 11.0).outcome is IncidentOutcome.RECOVERED
    ended = with_progress(with_decision(OPEN, SWAP, 10.2), GangProgress(gone=True), 11.0)
    assert (ended.outcome, ended.total) == (IncidentOutcome.ENDED, None)


def test_the_gravest_decision_names_the_outcome_and_fewer_members_may_do() -> None:
    incident = with_decision(OPEN, IncidentDecision(IncidentOutcome.SHRUNK, wanted=1), 10.2)
    incident = with_decision(incident, SWAP, 10.3)
    assert with_progress(incident, GangProgress(2, 1, 1), 11.0).outcome is IncidentOutcome.SHRUNK


def test_an_understudy_that_steps_in_is_known_when_its_member_is_there() -> None:
    incident = with_decision(OPEN, SWAP, 10.2)
    again = IncidentDecision(IncidentOutcome.SWAPPED, (Move("train-0-x", "", "b", SeatSource.WARM),))
    incident = with_decision(incident, again, 10.3)
    assert [(move.member, move.source) for move in incident.moves] == [("train-0", SeatSource.WARM)]


def test_a_new_loop_goes_on_with_what_was_written() -> None:
    kept = with_decision(OPEN, SWAP, 10.2)
    seen = msgspec.structs.replace(OPEN, name="other", detected_at=20.0, nodes=("a", "c"), cause="node a, c lost")
    both = merged_records(kept, with_decision(seen, SWAP, 20.1))
    assert (both.name, both.detected_at, both.decided_at, both.nodes) == ("train-1", 10.1, 10.2, ("a", "c"))


def test_median_and_p99_of_every_step() -> None:
    closed = [with_progress(with_decision(OPEN, SWAP, 10.2), RUNNING, 10.0 + took) for took in (1.0, 2.0, 3.0, 9.0)]
    figures = step_statistics([*closed, OPEN])
    assert figures["total"].count == 4
    assert (figures["total"].median, figures["total"].p99) == pytest.approx((2.5, 9.0))
    assert (figures["detected"].count, list(figures)) == (5, ["detected", "decided", "seated", "running", "total"])
    assert percentile([3.0, 1.0, 2.0], 50) == 2.0
    assert percentile(list(range(1, 201)), 99) == 198
