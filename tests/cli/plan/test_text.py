"""A plan told to people: nothing of it is left out."""

import msgspec
import pytest

from understudy.cli.plan.text import PlanContext, action_counts, plan_text
from understudy.model.gangs import Gang, Island, Member, Shape
from understudy.model.plans import (
    Grow,
    Hold,
    Holder,
    Move,
    Plan,
    Preempt,
    Refusal,
    RequestCheckpoint,
    Requeue,
    SeatSource,
    Shrink,
    Start,
    Swap,
    Wait,
    WaitCode,
    WaitReason,
)

HIGH, LOW = "JobSet/default/high", "JobSet/default/low"
GANGS = {
    HIGH: Gang(HIGH, "JobSet", "default", "high", priority=2000),
    LOW: Gang(LOW, "JobSet", "default", "low", priority=1000),
}
CONTEXT = PlanContext(GANGS, now=1000.0)
REASON = WaitReason(
    WaitCode.NO_ROOM,
    needs="4 pods with 8 nvidia.com/gpu each",
    wanted=4,
    free=1,
    refusals=(Refusal("has no nvidia.com/gpu", 3, ("a", "b", "c")), Refusal("is cordoned", 1)),
    holders=(Holder(HIGH, 2000, 2, "has a higher priority (2000)"),),
    guard="backs off after 2 failures",
    until=1300.0,
)


def lines(*actions: object) -> list[str]:
    return [line.strip() for line in plan_text(Plan(actions), CONTEXT).splitlines()]  # type: ignore[arg-type]


def test_sections_come_in_a_fixed_order_after_the_summary() -> None:
    told = lines(
        Wait(LOW, REASON),
        Requeue(LOW, ("a",), "no room"),
        Shrink(LOW, ("a",), "lost"),
        Hold(HIGH, (("a", "n"),), "victims leave"),
        RequestCheckpoint(HIGH, 65.0, "n leaves"),
        RequestCheckpoint(HIGH, None, "it sits on no leaving node"),
        Grow(LOW, (("a", "n"),)),
        Start(HIGH, (("a", "n"),)),
        Preempt(LOW, HIGH, ("a",), ("n",), True, "priority"),
        Swap(HIGH, (Move("a", "n", "m", SeatSource.SPARE),), "lost"),
    )
    assert (
        told[0]
        == "plan: 1 swap, 1 preemption, 1 start, 1 grows, 1 hold, 1 shrinks, 1 requeue, 2 checkpoint requests, 1 waits"
    )
    headings = ["Swaps", "Preemptions", "Starts", "Growth", "Holds", "Shrinks", "Requeues", "Checkpoints", "Waiting"]
    assert [line for line in told if line in headings] == headings
    asked = "JobSet default/high (priority 2000) is asked to save a checkpoint by 1970-01-01T00:01:05Z: n leaves"
    assert asked in " ".join(told)


def test_every_pod_is_under_its_node() -> None:
    told = lines(Start(HIGH, (("w-0", "node-1"), ("w-1", "node-10"), ("w-2", "node-1"))))
    assert "node-1   w-0, w-2" in told
    assert "node-10  w-1" in told


def test_volumes_that_are_made_first_are_named_once() -> None:
    members = tuple(Member(name, Shape(unmade=(("data", None),))) for name in ("w-0", "w-1"))
    gang = msgspec.structs.replace(GANGS[HIGH], islands=(Island("w", members),))
    start = Start(HIGH, (("w-0", "node-1"), ("w-1", "node-2")))
    told = plan_text(Plan((start,)), PlanContext({HIGH: gang}, now=1000.0)).splitlines()
    assert [line.strip() for line in told].count("after: the volumes of data are made") == 1


def test_a_preemption_says_for_whom_and_what_it_costs() -> None:
    told = lines(Preempt(LOW, HIGH, ("p-0", "p-1"), ("a", "b"), True, "it is more important", 7200.0, 1))
    headline = "JobSet default/low (priority 1000) gives up all its seats for JobSet default/high (priority 2000)"
    assert headline in told
    assert "why: it is more important" in told
    cost = "2h of accelerator time since its start lost; 1 more than its disruption budgets allow"
    assert f"cost: {cost}" in told
    assert "a  p-0" in told
    assert "b  p-1" in told


def test_a_swap_shows_every_move() -> None:
    moves = (Move("p-0", "a", "b", SeatSource.IDLE), Move("p-1", "", "c", SeatSource.SPARE))
    told = lines(Swap(HIGH, moves, "a is lost", waits_for=(LOW,)))
    assert "JobSet default/high (priority 2000), once JobSet default/low has left" in told
    assert "why: a is lost" in told
    assert "p-0: a -> b (idle)" in told
    assert "p-1: (its seat is gone) -> c (spare)" in told


def test_a_wait_tells_all_of_its_reason() -> None:
    told = lines(Wait(LOW, REASON))
    for line in (
        "needs: 4 pods with 8 nvidia.com/gpu each",
        "room now: for 1 of 4 pods",
        "why not: a, b and c have no nvidia.com/gpu",
        "why not: 1 node is cordoned",
        "held by: JobSet default/high (priority 2000), 2 seats: it has a higher priority (2000)",
        "guard: backs off after 2 failures",
        "until: 1970-01-01T00:21:40Z (in 5m)",
    ):
        assert line in told


def test_long_lines_are_wrapped_between_names_and_lose_nothing() -> None:
    pods = tuple((f"a-rather-long-pod-name-{number}", "n") for number in range(20))
    told = plan_text(Plan((Start(HIGH, pods),)), PlanContext(GANGS, 1000.0, width=80))
    assert max(map(len, told.splitlines())) <= 80
    assert [pod for pod, _ in pods if pod not in told.replace("\n", " ")] == []


@pytest.mark.parametrize(
    ("actions", "words"),
    [
        ((), "Nothing to do."),
        ((Start(HIGH, ()), Start(LOW, ()), Wait(LOW, REASON)), "2 starts, 1 waits"),
        ((Wait(HIGH, REASON), Wait(LOW, REASON)), "2 wait"),
    ],
)
def test_counted(actions: tuple[Start | Wait, ...], words: str) -> None:
    assert action_counts(Plan(actions)) == words


def test_when_to_look_again() -> None:
    assert "Stands until 1970-01-01T00:17:40Z (in 1m), unless the cluster changes." in plan_text(
        Plan((), 1060.0), CONTEXT
    )
