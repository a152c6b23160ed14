"""Ordinary writes to applied objects: the writer owns the fields it changes."""

from typing import Any

import pytest

from tests.embedded.api.patches.test_server_side_apply import EARLY, KEYS, LATE, applied, owned, thing, writer
from understudy.embedded.api.patches.json_values import copied
from understudy.embedded.api.patches.managed_fields import differ_only_in_times, manager_name
from understudy.embedded.api.patches.server_side_apply import track_update
from understudy.embedded.schema.errors import ApiError

Document = dict[str, Any]


def changed(live: Document, **spec: Any) -> Document:
    """As a client writes it back: managedFields and all."""
    return live | {"spec": live["spec"] | spec}


def test_who_changes_a_field_owns_it_alone() -> None:
    live = applied(None, "kubectl", thing(replicas=2, color="red"))
    new = changed(live, replicas=3)
    before = copied(live), copied(new)
    result = track_update(live, new, writer("scaler", LATE, "scale"), KEYS)
    assert (live, new) == before
    assert owned(result, "kubectl") == {"f:spec": {"f:color": {}}}
    [_, entry] = result["metadata"]["managedFields"]
    assert entry == {
        "manager": "scaler",
        "operation": "Update",
        "apiVersion": "v1",
        "time": LATE,
        "subresource": "scale",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:replicas": {}}},
    }


def test_a_removed_field_has_no_owner() -> None:
    live = applied(None, "kubectl", thing(replicas=2, color="red"))
    result = track_update(live, live | {"spec": {"color": "red"}}, writer("editor"), KEYS)
    assert owned(result, "kubectl") == {"f:spec": {"f:color": {}}}
    assert owned(result, "editor") is None


def test_a_write_that_changes_nothing_leaves_owners_and_times() -> None:
    live = applied(None, "kubectl", thing(replicas=2))
    live = track_update(live, changed(live, color="red"), writer("editor", EARLY), KEYS)
    assert track_update(live, live, writer("editor", LATE), KEYS) == live


def test_further_changes_add_to_what_a_manager_owns() -> None:
    live = applied(None, "kubectl", thing(replicas=2))
    live = track_update(live, changed(live, color="red"), writer("editor", EARLY), KEYS)
    live = track_update(live, changed(live, shape="round"), writer("editor", LATE), KEYS)
    assert owned(live, "editor") == {"f:spec": {"f:color": {}, "f:shape": {}}}
    assert [entry["time"] for entry in live["metadata"]["managedFields"]] == [EARLY, LATE]


def test_objects_that_were_never_applied_stay_without_managed_fields() -> None:
    result = track_update(thing(replicas=2), thing(replicas=3), writer("editor"), KEYS)
    assert result == thing(replicas=3)


def test_a_client_that_does_not_know_managed_fields_does_not_lose_them() -> None:
    live = applied(None, "kubectl", thing(replicas=2))
    for unaware in (thing(replicas=2), thing(replicas=2) | {"metadata": {"name": "a", "managedFields": []}}):
        assert owned(track_update(live, unaware, writer("editor"), KEYS), "kubectl") == {"f:spec": {"f:replicas": {}}}


def test_an_empty_entry_asks_for_managed_fields_to_be_forgotten() -> None:
    live = applied(None, "kubectl", thing(replicas=2))
    reset = live | {"metadata": {"name": "a", "managedFields": [{}]}}
    assert "managedFields" not in track_update(live, reset, writer("editor"), KEYS)["metadata"]


def test_kubectl_may_rewrite_managed_fields() -> None:
    live = applied(None, "kubectl", thing(replicas=2))
    renamed = [live["metadata"]["managedFields"][0] | {"manager": "helm"}]
    result = track_update(live, live | {"metadata": {"name": "a", "managedFields": renamed}}, writer("kubectl"), KEYS)
    assert owned(result, "helm") == {"f:spec": {"f:replicas": {}}}
    assert owned(result, "kubectl") is None


@pytest.mark.parametrize(
    "entries",
    [
        "text",
        [1],
        [{"manager": 1, "operation": "Apply"}],
        [{"manager": "x", "operation": "Steal", "fieldsV1": {"f:spec": {}}}],
        [{"manager": "x", "operation": "Apply", "fieldsV1": {"spec": {}}}],
        [{"manager": "x", "operation": "Apply", "fieldsV1": {"f:spec": 1}}],
        [{"manager": "x", "operation": "Apply", "fieldsV1": {"k:[]": {}}}],
        [{"manager": "x", "operation": "Apply", "fieldsV1": {"k:{": {}}}],
        [{"manager": "x", "operation": "Apply", "fieldsV1": {"k:" + "[" * 9000: {}}}],
        [{"manager": "x", "operation": "Apply", "fieldsType": "FieldsV9", "fieldsV1": {"f:spec": {}}}],
    ],
)
def test_managed_fields_that_make_no_sense_are_not_taken(entries: Any) -> None:
    live = applied(None, "kubectl", thing(replicas=2))
    hostile = live | {"metadata": {"name": "a", "managedFields": entries}}
    assert owned(track_update(live, hostile, writer("editor"), KEYS), "kubectl") == {"f:spec": {"f:replicas": {}}}


def test_of_many_who_write_only_the_latest_are_told_apart() -> None:
    live = applied(None, "kubectl", thing(replicas=2))
    for number in range(30):
        by = writer(f"w{number:02}", f"2026-01-01T00:{number:02}:00Z")
        live = track_update(live, changed(live, **{f"x{number}": number}), by, KEYS)
    managers = [entry["manager"] for entry in live["metadata"]["managedFields"]]
    assert managers == ["kubectl", "ancient-changes", *(f"w{number:02}" for number in range(21, 30))]
    assert set(owned(live, "ancient-changes")["f:spec"]) == {f"f:x{number}" for number in range(21)}


def test_a_write_that_says_nothing_new_is_known_by_its_times() -> None:
    """A quantity such as 1000m is applied anew every time, and every time becomes the 1 that is there."""
    early, late = (applied(None, "kubectl", thing(replicas=2), time=time) for time in (EARLY, LATE))
    other = applied(None, "helm", thing(replicas=2))
    assert early != late
    assert differ_only_in_times(early, late)
    assert not differ_only_in_times(early, other)
    assert not differ_only_in_times(early, changed(late, replicas=3))


@pytest.mark.parametrize(
    ("given", "agent", "manager"),
    [
        ("mine", "kubectl/v1.33", "mine"),
        ("", "kubectl/v1.33 (linux)", "kubectl"),
        ("", "a\x00b/1", "ab"),
        ("", "", "unknown"),
        ("", "x" * 500, "x" * 128),
    ],
)
def test_a_manager_is_named_by_the_request_or_its_program(given: str, agent: str, manager: str) -> None:
    assert manager_name(given, agent) == manager


@pytest.mark.parametrize("given", ["x" * 129, "a\nb"])
def test_a_managers_name_has_its_limits(given: str) -> None:
    with pytest.raises(ApiError) as refusal:
        manager_name(given, "")
    assert refusal.value.code == 422
