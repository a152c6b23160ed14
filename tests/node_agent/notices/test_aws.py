"""Instance metadata of EC2 into announcements."""

from datetime import UTC, datetime

import pytest

from understudy.node_agent.notices.announcements import Announcements
from understudy.node_agent.notices.aws import parse_instance_action, parse_lifecycle_state, parse_rebalance

AT = datetime(2026, 9, 18, 8, 22, tzinfo=UTC).timestamp()


@pytest.mark.parametrize("action", ["terminate", "stop", "hibernate"])
def test_an_instance_action_has_a_time(action: str) -> None:
    [found] = parse_instance_action(f'{{"action": "{action}", "time": "2026-09-18T08:22:00Z"}}'.encode())
    assert (found.cause, found.deadline) == (f"spot-{action}", AT)


def test_a_rebalance_recommendation_counts_from_its_notice() -> None:
    [found] = parse_rebalance(b'{"noticeTime": "2026-09-18T08:22:00Z"}')
    assert (found.cause, found.at, found.deadline) == ("rebalance-recommendation", AT, AT + 120)


@pytest.mark.parametrize("state", [b"InService", b"Standby", b"Warmed:Stopped", b"Warmed:Terminated", b"InService\n"])
def test_an_instance_that_its_group_keeps_stays(state: bytes) -> None:
    assert parse_lifecycle_state(state) == ()


def test_an_instance_that_its_group_terminates_has_two_minutes() -> None:
    [found] = parse_lifecycle_state(b"Terminated")
    assert (found.cause, found.deadline, found.within) == ("autoscaling-terminated", None, 120.0)


@pytest.mark.parametrize(
    "body",
    [
        b"", b"null", b"[1]", b"{}", b"<html>", b"\xff", b'{"action": "terminate"}', b'{"action": 7, "time": "now"}',
        b'{"action": "terminate", "time": "2026-09-18T08:22:00"}', b'{"noticeTime": 7}', b'{"noticeTime": null}',
    ],
)  # fmt: skip
def test_garbage_is_no_announcement(body: bytes) -> None:
    def refused(found: Announcements) -> None:
        raise AssertionError(found)

    for parse in (parse_instance_action, parse_rebalance, parse_lifecycle_state):
        with pytest.raises(ValueError, match=r"\w"):
            refused(parse(body))
