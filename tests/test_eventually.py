"""`eventually()` returns the first true answer, and names what it saw last when there is none."""

import asyncio
from collections.abc import Callable

import pytest

from tests.eventually import eventually, eventually_async

A_MOMENT = 0.02


def answering(*answers: str | Exception | None) -> Callable[[], str | None]:
    left = iter(answers)

    def look() -> str | None:
        answer = next(left)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return look


def test_it_returns_the_first_true_answer() -> None:
    assert eventually(answering(None, "", "ready", "later")) == "ready"
    assert asyncio.run(eventually_async(answering(None, "", "ready", "later"))) == "ready"


def test_a_predicate_can_choose_the_answer() -> None:
    assert eventually(answering("Pending", "Running"), until="Running".__eq__) == "Running"
    assert asyncio.run(eventually_async(answering("Pending", "Running"), until="Running".__eq__)) == "Running"


def test_a_coroutine_function_can_look() -> None:
    async def look() -> int:
        return 7

    assert asyncio.run(eventually_async(look)) == 7


def test_a_failed_assertion_and_an_ignored_error_mean_not_yet() -> None:
    refused = ConnectionError("refused")
    assert eventually(answering(AssertionError(), refused, "up"), ignoring=(ConnectionError,)) == "up"
    with pytest.raises(ConnectionError):
        eventually(answering(refused))


def test_a_failure_names_what_was_awaited_and_what_was_seen_last() -> None:
    with pytest.raises(AssertionError, match=r"(?s)not within 0 s: the pod runs.*last seen: 'Pending'"):
        eventually(lambda: "Pending", "the pod runs", until="Running".__eq__, seconds=0)
    with pytest.raises(AssertionError, match=r"(?s)bool\(\[\]\).*last seen: False"):
        eventually(lambda: bool([]), seconds=0)


def test_a_reason_to_stop_ends_the_waiting_at_once() -> None:
    with pytest.raises(AssertionError, match=r"(?s)exited with 1: never.*last seen: False"):
        eventually(lambda: False, "never", unless=lambda: "exited with 1")


def test_a_coroutine_that_hangs_is_cut_off() -> None:
    async def hang() -> bool:
        await asyncio.sleep(60)
        return True

    with pytest.raises(AssertionError, match=r"no answer"):
        asyncio.run(eventually_async(hang, seconds=A_MOMENT))
