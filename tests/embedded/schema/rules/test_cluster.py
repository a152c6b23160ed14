"""Namespaces, nodes, priority classes, budgets, leases and events."""

from typing import Any

import pytest

from tests.embedded.schema.forms import Refusal, changed, created, draft_of, refusal_of, updated


def test_a_namespace_begins_active_and_is_held_until_it_is_empty() -> None:
    made = created("Namespace", {"metadata": {"name": "team"}, "status": {"phase": "Terminating"}})
    assert made["status"] == {"phase": "Active"}
    assert made["spec"] == {"finalizers": ["kubernetes"]}
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": "team"}


def test_who_holds_a_namespace_is_changed_through_finalize_only() -> None:
    old = draft_of("Namespace", {"metadata": {"name": "team"}})
    freed = changed(old, "spec", to={"finalizers": []})
    assert updated("Namespace", old, freed)["spec"] == {"finalizers": ["kubernetes"]}
    assert updated("Namespace", old, freed, "finalize")["spec"] == {"finalizers": []}


def test_a_node_comes_with_its_status_and_keeps_it_on_other_updates() -> None:
    given = {"metadata": {"name": "n"}, "status": {"capacity": {"cpu": 4, "nvidia.com/gpu": 8}}}
    assert created("Node", given)["status"]["capacity"] == {"cpu": "4", "nvidia.com/gpu": "8"}
    old = draft_of("Node", given)
    cordoned = updated("Node", old, {"metadata": {"name": "n"}, "spec": {"unschedulable": True}})
    assert cordoned["spec"]["unschedulable"] is True
    assert cordoned["status"]["capacity"]["cpu"] == "4"


def test_taints_are_unique() -> None:
    taint = {"key": "a", "effect": "NoSchedule"}
    said = refusal_of("Node", {"spec": {"taints": [taint, {**taint, "value": "x"}]}})
    assert said.causes == ['metadata.taints[1]: Duplicate value: {"key":"a","effect":"NoSchedule"}']
    said = refusal_of("Node", {"spec": {"taints": [{"key": "a", "effect": "Sometimes"}]}})
    assert 'spec.taints[0].effect: Unsupported value: "Sometimes"' in said.causes[0]


def test_priority_classes_stay_below_those_of_the_system() -> None:
    said = refusal_of("PriorityClass", {"metadata": {"name": "a"}, "value": 1_000_000_001})
    assert said.causes == ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"]
    said = refusal_of("PriorityClass", {"metadata": {"name": "system-mine"}, "value": 1})
    assert "reserved for system use only" in said.causes[0]
    assert created("PriorityClass", {"metadata": {"name": "a"}, "value": -5})["preemptionPolicy"]


def test_the_value_of_a_priority_class_cannot_change() -> None:
    old = draft_of("PriorityClass", {"metadata": {"name": "a"}, "value": 1})
    with Refusal() as said:
        updated("PriorityClass", old, changed(old, "value", to=2))
    expected = 'PriorityClass.scheduling.k8s.io "a" is invalid: value: Forbidden: may not be changed in an update.'
    assert said.message == expected


@pytest.mark.parametrize(
    ("spec", "cause"),
    [
        ({"minAvailable": 1, "maxUnavailable": 1}, "cannot be both set"),
        ({"minAvailable": "half"}, "a valid percent string must be a numeric string followed by an ending '%'"),
        ({"minAvailable": "101%"}, "must not be greater than 100%"),
        ({"maxUnavailable": -1}, "must be greater than or equal to 0"),
    ],
)
def test_budgets_are_a_number_or_a_share(spec: dict[str, Any], cause: str) -> None:
    assert cause in refusal_of("PodDisruptionBudget", {"spec": spec}).causes[0]


def test_a_new_budget_allows_nothing_yet() -> None:
    made = created("PodDisruptionBudget", {"spec": {"minAvailable": "50%"}, "status": {"disruptionsAllowed": 9}})
    assert made["status"]["disruptionsAllowed"] == 0


def test_leases_last_for_a_while() -> None:
    said = refusal_of("Lease", {"spec": {"leaseDurationSeconds": 0}})
    assert said.causes == ["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"]


def test_events_live_where_their_object_does() -> None:
    event = {"metadata": {"name": "e", "namespace": "a"}, "involvedObject": {"namespace": "b", "name": "x"}}
    assert refusal_of("Event", event).causes[0].startswith("involvedObject.namespace: Invalid value")
    event["involvedObject"] = {"kind": "Node", "name": "n"}
    assert created("Event", event)["source"] == {}
