"""What plans do about losses, in the words incidents are made of."""

from understudy.control.record.gang_losses import decisions
from understudy.model.incidents import IncidentDecision, IncidentOutcome
from understudy.model.plans import Dismiss, Move, Plan, Preempt, SeatSource, Swap
from understudy.model.snapshot import Snapshot


def test_victims_and_understudies_are_told_from_what_else_is_in_the_plan() -> None:
    swap = Swap(
        "Job/d/j", (Move("j-0", "a", "b", SeatSource.SPARE), Move("j-1", "a", "c", SeatSource.VICTIM)), "a lost"
    )
    plan = Plan(
        (
            Preempt("Job/d/low", "Job/d/j", ("low-0",), ("c",), True, "priority"),
            Preempt("Job/d/else", "Job/d/other", ("else-0",), ("e",), True, "priority"),
            swap,
            Dismiss("Pod/d/j-warm-0", "b", "it steps in as j-0", "Job/d/j", "j-0"),
            Dismiss("Pod/d/k-warm-0", "c", "another gang needs its seat", "Job/d/k"),
        )
    )
    moves = (Move("j-0", "a", "b", SeatSource.WARM), Move("j-1", "a", "c", SeatSource.VICTIM))
    expected = IncidentDecision(IncidentOutcome.SWAPPED, moves, ("Job/d/low",))
    assert list(decisions(Snapshot.of(), plan)) == [("Job/d/j", expected)]
