"""Reports on checkpoints: the newest, not too often, and never in the way."""

import threading

import pytest

from tests.eventually import eventually
from understudy.train.reports import Reporter, written


def test_moments_are_written_as_kubernetes_does_and_never_too_late() -> None:
    assert written(1767225599.9) == "2025-12-31T23:59:59.900000Z"
    assert written(1767225599.0) == "2025-12-31T23:59:59Z"


def test_the_newest_is_told_and_the_last_one_always() -> None:
    sent: list[str] = []
    first = threading.Event()

    def send(moment: str) -> None:
        sent.append(moment)
        first.set()

    reporter = Reporter(send, pause=1000.0)
    reporter.tell(10.0)
    assert first.wait(60)
    for moment in (20.0, 30.0):
        reporter.tell(moment)
    reporter.close(60.0)
    assert sent == [written(10.0), written(30.0)]


def test_what_is_urgent_does_not_wait_for_the_pause() -> None:
    sent: list[str] = []
    reporter = Reporter(sent.append, pause=1000.0)
    reporter.tell(10.0)
    eventually(lambda: sent)
    reporter.tell(20.0, at_once=True)
    eventually(lambda: sent, until=[written(10.0), written(20.0)].__eq__)
    reporter.close(60.0)


def test_nothing_is_told_twice() -> None:
    sent: list[str] = []
    reporter = Reporter(sent.append)
    reporter.tell(10.0)
    eventually(lambda: sent)
    reporter.close(60.0)
    assert sent == [written(10.0)]


def test_a_failure_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    tried = []

    def send(moment: str) -> None:
        tried.append(moment)
        raise OSError("403 Forbidden")

    reporter = Reporter(send, pause=0.0)
    for moment in (10.0, 20.0):
        reporter.tell(moment)
        eventually(lambda: tried[-1:], until=[written(moment)].__eq__)
    reporter.close(60.0)
    assert [record.getMessage() for record in caplog.records] == [
        "the last checkpoint is not reported on the job: 403 Forbidden"
    ]


def test_who_waits_for_an_answer_does_not_hold_up_the_end() -> None:
    never = threading.Event()

    def send(_: str) -> None:
        never.wait(60)

    reporter = Reporter(send)
    reporter.tell(10.0)
    reporter.close(0.01)
    never.set()
