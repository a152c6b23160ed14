"""Every action in a sentence, every reason in a line."""

import pytest

from understudy.decide.describe import describe, reason_summary, reason_with_holder
from understudy.model.plans import (
    Action,
    Grow,
    Hold,
    Holder,
    Move,
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


@pytest.mark.parametrize(
    ("action", "sentence"),
    [
        (Start("g", (("g-0", "b"), ("g-1", "a"))), "start g on a, b"),
        (Start("g", (("g-0", "a"), ("g-1", "a"))), "start g on a x2"),
        (Start("g", (("g-0", "a"),), ("x", "y")), "start g on a once x, y left"),
        (Grow("g", (("g-2", "c"),)), "grow g by 1 on c"),
        (Preempt("low", "g", ("l-0", "l-1"), ("a", "b"), True, "so"), "preempt low (2 pods) for g: so"),
        (Preempt("low", "g", ("l-0",), ("a",), True, "so"), "preempt low (1 pod) for g: so"),
        (Preempt("low", "g", ("l-1", "l-2"), ("a", "b"), False, "so"), "take l-1, l-2 from low for g: so"),
        (Swap("g", (Move("g-0", "a", "b", SeatSource.SPARE),), "a lost"), "swap g: g-0 a -> b (spare); a lost"),
        (
            Swap("g", (Move("g-0", "", "b", SeatSource.VICTIM),), "a lost", ("low",)),
            "swap g: g-0 (no seat) -> b (victim), once low left; a lost",
        ),
        (Shrink("g", ("g-3",), "a lost"), "shrink g by g-3: a lost"),
        (Requeue("g", ("g-0",), "a lost"), "requeue g: a lost"),
        (Hold("g", (("g-0", "b"),), "a is suspect"), "hold b for g: a is suspect"),
        (Hold("g", (), "it is whole"), "give up the seats held for g: it is whole"),
        (RequestCheckpoint("g", 65.0, "a leaves"), "ask g to save a checkpoint by 1970-01-01T00:01:05Z: a leaves"),
        (RequestCheckpoint("g", None, "so"), "withdraw the request to g to save a checkpoint: so"),
        (Wait("g", WaitReason(WaitCode.SUSPENDED, "")), "g waits: it is suspended by its owner"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_every_action_is_a_sentence(action: Action, sentence: str) -> None:
    assert describe(action) == sentence


@pytest.mark.parametrize(
    ("reason", "line"),
    [
        (WaitReason(WaitCode.GATED, "x", refusals=(Refusal("gate g has to be lifted", 2),)), "gate g has to be lifted"),
        (WaitReason(WaitCode.VICTIMS_LEAVING, "x", holders=(Holder("low", 1, 2, ""),)), "until low left its seats"),
        (WaitReason(WaitCode.VICTIMS_LEAVING, "x"), "until those who sit there left its seats"),
        (WaitReason(WaitCode.GUARDED, "1 pod", guard="back-off: twice"), "back-off: twice; needs 1 pod"),
        (
            WaitReason(WaitCode.NO_ROOM, "2 pods", 2, 1, (Refusal("is cordoned", 3), Refusal("is lost", 1))),
            "needs 2 pods; room for 1 of 2 pods; 3 nodes are cordoned; 1 node is lost",
        ),
        (WaitReason(WaitCode.BLOCKED_DOMAINS, "2 islands", 2, 0), "needs 2 islands; room for 0 of 2 islands"),
    ],
)
def test_a_reason_in_a_line(reason: WaitReason, line: str) -> None:
    assert reason_summary(reason) == line


def test_a_reason_names_the_holders_of_the_seats() -> None:
    full = WaitReason(
        WaitCode.NO_ROOM, "2 x 1 cpu", 2, 0, holders=(Holder("low", 5, 3, "so"), Holder("lower", 4, 1, "so too"))
    )
    assert reason_with_holder(full) == f"{reason_summary(full)}; held by low, 3 seats: it so"
    assert reason_with_holder(WaitReason(WaitCode.SUSPENDED, "")) == "it is suspended by its owner"
