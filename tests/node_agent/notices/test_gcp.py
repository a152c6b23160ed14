"""Values of Google Cloud's metadata server into announcements."""

import pytest

from understudy.node_agent.notices.gcp import gcp, parse_maintenance_event, parse_preempted


def test_a_preempted_vm_has_as_long_as_the_settings_say() -> None:
    assert parse_preempted(30.0, b"FALSE") == ()
    [found] = parse_preempted(120.0, b"TRUE\n")
    assert (found.cause, found.deadline, found.within) == ("preempted", None, 120.0)
    [endpoint, _] = gcp(spot_notice=120.0).endpoints
    assert endpoint.parse(b"TRUE")[0].within == 120.0


def test_only_maintenance_that_terminates_is_announced() -> None:
    assert parse_maintenance_event(b"NONE") == parse_maintenance_event(b"MIGRATE_ON_HOST_MAINTENANCE") == ()
    [found] = parse_maintenance_event(b"TERMINATE_ON_HOST_MAINTENANCE")
    assert (found.cause, found.within) == ("TERMINATE_ON_HOST_MAINTENANCE", 3600.0)


@pytest.mark.parametrize("body", [b"", b"true", b"<html>", b"\xff\x00", b"MAYBE" * 1000])
def test_garbage_is_no_value(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_preempted(30.0, body)
    with pytest.raises(ValueError, match=r"\w"):
        parse_maintenance_event(body)


def test_a_waiting_request_names_the_state_it_knows() -> None:
    [endpoint, _] = gcp().endpoints
    assert endpoint.waiting is not None
    path = "/computeMetadata/v1/instance/preempted?wait_for_change=true&timeout_sec=10&last_etag=a%2Fb"
    assert endpoint.waiting("a/b", 10.0) == path
