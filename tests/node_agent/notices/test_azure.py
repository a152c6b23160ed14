"""Scheduled Events of Azure into announcements, and the name of a machine by its provider ID."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from understudy.node_agent.notices.azure import machine_name, parse_events

SUBSCRIPTION = "azure:///subscriptions/1-2/resourceGroups/mc_rg/providers/Microsoft.Compute"


def event(**fields: Any) -> dict[str, Any]:
    plain = {"EventId": "f020ba2e", "EventStatus": "Scheduled", "EventType": "Preempt",
             "ResourceType": "VirtualMachine", "Resources": ["aks-spot-1-vmss_0"],
             "NotBefore": "Mon, 19 Sep 2026 18:29:47 GMT", "Description": "", "EventSource": "Platform",
             "DurationInSeconds": -1}  # fmt: skip
    return {**plain, **fields}


def document(*events: object) -> bytes:
    return json.dumps({"DocumentIncarnation": 2, "Events": list(events)}).encode()


def test_an_event_names_machines_cause_and_deadline() -> None:
    [found] = parse_events(document(event(Resources=["AKS-spot-1-vmss_0", "aks-spot-1-vmss_1"])))
    assert found.cause == "Preempt"
    assert found.deadline == datetime(2026, 9, 19, 18, 29, 47, tzinfo=UTC).timestamp()
    assert found.machines == {"aks-spot-1-vmss_0", "aks-spot-1-vmss_1"}


def test_an_event_that_has_started_may_end_the_machine_at_any_moment() -> None:
    for not_before in ("", "tomorrow", "Mon, 40 Sep 2026 18:29:47 GMT"):
        [found] = parse_events(document(event(EventStatus="Started", NotBefore=not_before)))
        assert (found.deadline, found.within) == (None, 0.0)


def test_events_that_end_no_machine_are_left_out() -> None:
    assert parse_events(document()) == ()
    assert parse_events(document(event(EventType="Upgrade"), event(EventStatus="Completed"))) == ()
    assert parse_events(document(event(Resources=[]))) == (), "an event that names no machine is about none"


@pytest.mark.parametrize(
    "body",
    [
        b"", b"null", b"[]", b"{}", b"<html>", b"\xff\xfe", b'{"Events": {}}', b'{"Events": [1]}',
        document(event(Resources="aks")), document(event(EventType=None)),
    ],
)  # fmt: skip
def test_garbage_is_no_document(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_events(body)


@pytest.mark.parametrize(
    ("provider_id", "name"),
    [
        (f"{SUBSCRIPTION}/virtualMachineScaleSets/aks-spot-1-vmss/virtualMachines/0", "aks-spot-1-vmss_0"),
        (f"{SUBSCRIPTION}/virtualMachines/worker-1", "worker-1"),
        (f"{SUBSCRIPTION}/virtualMachines/", ""),
        (f"{SUBSCRIPTION}/disks/d", ""),
        ("", ""),
    ],
)
def test_a_machine_is_called_as_events_call_it(provider_id: str, name: str) -> None:
    assert machine_name(provider_id) == name
