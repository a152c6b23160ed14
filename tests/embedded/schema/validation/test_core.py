"""Defaults and checks of namespaces, nodes, ConfigMaps, Secrets, priority classes and disruption budgets."""

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


def test_plain_text_of_a_secret_becomes_data() -> None:
    made = created("Secret", {"stringData": {"a": "hello"}, "data": {"b": "aGk="}})
    assert made["data"] == {"a": "aGVsbG8=", "b": "aGk="}
    assert "stringData" not in made
    assert made["type"] == "Opaque"


def test_secrets_of_a_type_have_the_keys_of_the_type() -> None:
    said = refusal_of("Secret", {"type": "kubernetes.io/tls", "data": {"tls.crt": ""}})
    assert said.causes == ["data[tls.key]: Required value"]
    said = refusal_of("Secret", {"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "{"}})
    assert said.causes == ['data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": invalid JSON']


def test_keys_become_names_of_files_and_lead_nowhere_else() -> None:
    for key in ("..", ".", "a/b", "../x", "a b"):
        assert refusal_of("ConfigMap", {"data": {key: ""}}).causes[0].startswith(f"data[{key}]: Invalid value")
    assert created("ConfigMap", {"data": {".hidden": "", "a.b_c-d": ""}})


def test_there_is_a_limit_to_their_size() -> None:
    assert "Too long" in refusal_of("ConfigMap", {"data": {"a": "x" * (1024 * 1024 + 1)}}).message
    assert "Too long" in refusal_of("Secret", {"stringData": {"a": "x" * (1024 * 1024 + 1)}}).message


def test_what_is_immutable_cannot_change() -> None:
    old = draft_of("ConfigMap", {"data": {"a": "b"}, "immutable": True})
    with Refusal() as said:
        updated("ConfigMap", old, changed(old, "data", to={"a": "c"}))
    assert said.causes == ["data: Forbidden: field is immutable when `immutable` is set"]
    with Refusal() as said:
        updated("ConfigMap", old, changed(old, "immutable", to=None))
    assert said.causes == ["immutable: Forbidden: field is immutable when `immutable` is set"]
    assert updated("ConfigMap", old, changed(old, "metadata", "labels", to={"x": "y"}))


def test_the_type_of_a_secret_cannot_change() -> None:
    old = draft_of("Secret", {})
    with Refusal() as said:
        updated("Secret", old, changed(old, "type", to="mine"))
    assert said.causes == ['type: Invalid value: "mine": field is immutable']
