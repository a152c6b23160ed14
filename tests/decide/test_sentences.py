"""Every action in a sentence, every reason in a line."""

import pytest

from understudy.decide.sentences import at_length, describe, summary
from understudy.model.plans import (
    Action,
    Code,
    Grow,
    Hold,
    Holder,
    Move,
    Preempt,
    Reason,
    Refusal,
    Requeue,
    Shrink,
    Source,
    Start,
    Swap,
    Wait,
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
        (Swap("g", (Move("g-0", "a", "b", Source.SPARE),), "a lost"), "swap g: g-0 a -> b (spare); a lost"),
        (
            Swap("g", (Move("g-0", "", "b", Source.VICTIM),), "a lost", ("low",)),
            "swap g: g-0 (no seat) -> b (victim), once low left; a lost",
        ),
        (Shrink("g", ("g-3",), "a lost"), "shrink g by g-3: a lost"),
        (Requeue("g", ("g-0",), "a lost"), "requeue g: a lost"),
        (Hold("g", (("g-0", "b"),), "a is suspect"), "hold b for g: a is suspect"),
        (Hold("g", (), "it is whole"), "give up the seats held for g: it is whole"),
        (Wait("g", Reason(Code.SUSPENDED, "")), "g waits: it is suspended by its owner"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_every_action_is_a_sentence(action: Action, sentence: str) -> None:
    assert describe(action) == sentence


@pytest.mark.parametrize(
    ("reason", "line"),
    [
        (Reason(Code.GATED, "x", refusals=(Refusal("gate g has to be lifted", 2),)), "gate g has to be lifted"),
        (Reason(Code.VICTIMS_LEAVING, "x", holders=(Holder("low", 1, 2, ""),)), "until low left its seats"),
        (Reason(Code.VICTIMS_LEAVING, "x"), "until those who sit there left its seats"),
        (Reason(Code.GUARDED, "1 pod", guard="back-off: twice"), "back-off: twice; needs 1 pod"),
        (
            Reason(Code.NO_ROOM, "2 pods", 2, 1, (Refusal("is cordoned", 3), Refusal("is lost", 1))),
            "needs 2 pods; room for 1 of 2 pods; 3 x is cordoned; 1 x is lost",
        ),
        (Reason(Code.BLOCKED_DOMAINS, "2 islands", 2, 0), "needs 2 islands; room for 0 of 2 islands"),
    ],
)
def test_a_reason_in_a_line(reason: Reason, line: str) -> None:
    assert summary(reason) == line


def test_whoever_waits_is_told_who_has_the_seats() -> None:
    full = Reason(Code.NO_ROOM, "2 x 1 cpu", 2, 0, holders=(Holder("low", 5, 3, "so"), Holder("lower", 4, 1, "so too")))
    assert at_length(full) == f"{summary(full)}; held by low, 3 seats: so"
    assert at_length(Reason(Code.SUSPENDED, "")) == "it is suspended by its owner"
