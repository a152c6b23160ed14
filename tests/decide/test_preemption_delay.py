"""How long a gang waits for new machines before it preempts."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.decide.builders import NOW, cluster, leaving, lost, node, nodes, planned, queued, running
from understudy.decide.cycle import plan
from understudy.decide.describe import reason_summary
from understudy.decide.policy import Policy
from understudy.model.gangs import Gang
from understudy.model.plans import Grow, Plan, Preempt, Requeue, Shrink, Start, Swap, Wait, WaitCode

LATER = Policy(preemption_delay=300.0)
LOW = running("low", on="a", priority=1)


def waiting(since: float, delay: float | None = None, name: str = "high", priority: int = 9) -> Gang:
    return queued(name, priority=priority, queued_at=since, unseated_since=since, preemption_delay=delay)


def kinds(made: Plan) -> list[str]:
    return [type(action).__name__ for action in made.actions]


def the_wait(made: Plan) -> Wait:
    return next(action for action in made.actions if isinstance(action, Wait))


def test_a_gang_preempts_at_once_unless_something_else_is_said() -> None:
    assert "Preempt" in kinds(planned(node("a"), LOW, waiting(NOW)))


@pytest.mark.parametrize(("since", "policy", "own"), [(NOW - 299.0, LATER, None), (NOW - 1.0, Policy(), 2.0)])
def test_it_waits_for_new_machines_first_and_says_until_when(since: float, policy: Policy, own: float | None) -> None:
    made = planned(node("a"), LOW, waiting(since, own), policy=policy)
    assert kinds(made) == ["Wait"]
    reason = the_wait(made).reason
    assert reason.code is WaitCode.GUARDED
    assert reason.until == made.recheck_at == NOW + 1.0
    assert reason.guard == "preemption delay: it waits for new machines before it preempts"
    assert "it preempts, until 1970-01-02T03:46:41Z" in reason_summary(reason)
    assert reason.holders[0].gang == LOW.key


def test_it_preempts_once_the_time_is_over() -> None:
    assert "Preempt" in kinds(planned(node("a"), LOW, waiting(NOW - 300.0), policy=LATER))


def test_what_the_job_says_goes_before_the_policy() -> None:
    assert "Preempt" in kinds(planned(node("a"), LOW, waiting(NOW, delay=0.0), policy=LATER))


def test_it_starts_at_once_where_there_is_room() -> None:
    made = planned(*nodes("a b"), LOW, waiting(NOW), policy=LATER)
    assert [a for a in made.actions if isinstance(a, Start)] == [Start("Job/default/high", (("high-0", "b"),))]


def test_the_plan_without_reasons_is_looked_at_again_in_time() -> None:
    made = plan(cluster(node("a"), LOW, waiting(NOW)), LATER, NOW, explaining=False)
    assert made.recheck_at == NOW + 300.0


def test_a_gang_that_waits_does_not_keep_one_like_it_from_preempting() -> None:
    """The first one has the better place in the queue, since it was preempted itself a moment ago."""
    first = replace(waiting(NOW - 900.0, name="victim"), unseated_since=NOW)
    made = planned(node("a"), LOW, first, waiting(NOW - 800.0), policy=LATER)
    assert [a.by for a in made.actions if isinstance(a, Preempt)] == ["Job/default/high"]


def test_nothing_is_said_of_a_delay_where_no_gang_could_be_preempted() -> None:
    made = planned(node("a"), running("peer", on="a", priority=9), waiting(NOW), policy=LATER)
    assert the_wait(made).reason.guard == ""


# Repairs


def broken(delay: float | None, **rest: Any) -> Gang:
    return replace(running("high", on="b c", priority=9), preemption_delay=delay, **rest)


def test_a_repair_does_not_wait_unless_its_job_says_so() -> None:
    made = planned(node("a"), node("b"), lost(node("c")), LOW, broken(None), policy=LATER)
    assert "Swap" in kinds(made)


def test_a_repair_whose_job_says_so_waits_in_its_seats() -> None:
    made = planned(node("a"), node("b"), lost(node("c"), NOW - 5.0), LOW, broken(300.0))
    assert kinds(made) == ["Wait"]
    assert the_wait(made).reason.until == made.recheck_at == NOW + 295.0
    made = planned(node("a"), node("b"), lost(node("c"), NOW - 300.0), LOW, broken(300.0))
    assert any(isinstance(action, Swap) for action in made.actions)


def test_the_wait_counts_from_the_new_pod_where_the_node_is_gone() -> None:
    gang = broken(300.0, unseated_since=NOW - 100.0).reseated({"high-1": ""})
    assert the_wait(planned(node("a"), node("b"), LOW, gang)).reason.until == NOW + 200.0


def test_a_repair_that_no_preemption_could_help_does_not_wait() -> None:
    made = planned(node("b"), lost(node("c")), broken(300.0))
    assert any(isinstance(action, Requeue) for action in made.actions)


def test_an_elastic_gang_goes_on_with_fewer_members_meanwhile() -> None:
    gang = replace(broken(300.0), min_members=1)
    made = planned(node("a"), node("b"), lost(node("c")), LOW, gang)
    assert any(isinstance(action, Shrink) for action in made.actions)
    assert not any(isinstance(action, Preempt | Grow) for action in made.actions)


def test_a_gang_on_a_leaving_node_runs_on_while_it_waits_and_is_asked_to_save() -> None:
    made = planned(node("a"), node("b"), leaving(node("c")), LOW, broken(300.0))
    assert kinds(made) == ["Wait", "RequestCheckpoint"]
    assert made.recheck_at == NOW + 295.0
