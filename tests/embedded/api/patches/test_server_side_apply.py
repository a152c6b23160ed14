"""Server-side apply: owners, conflicts, and fields that lose their last owner."""

import re
from typing import Any

import pytest

from understudy.embedded.api.patches.json_values import copied
from understudy.embedded.api.patches.managed_fields import Writer
from understudy.embedded.api.patches.server_side_apply import FORCED, apply_configuration, track_update
from understudy.embedded.schema.errors import ApiError

KEYS: dict[str, tuple[str, ...]] = {
    "metadata.finalizers": (),
    "spec.containers": ("name",),
    "spec.containers.ports": ("containerPort", "protocol"),
}
Document = dict[str, Any]
EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"


def writer(manager: str, time: str = EARLY, subresource: str = "") -> Writer:
    return Writer(manager, "v1", time, subresource)


def thing(**spec: Any) -> Document:
    return {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": spec}


def applied(live: Document | None, manager: str, config: Document, **more: Any) -> Document:
    before = copied(live), copied(config)
    result = apply_configuration(live, config, writer(manager, more.pop("time", EARLY)), KEYS, **more)
    assert (live, config) == before
    return result


def spec(document: Document) -> Any:
    return document.get("spec")


def owned(document: Document, manager: str) -> Any:
    """What a manager owns, as FieldsV1."""
    entries = [entry for entry in document["metadata"].get("managedFields", ()) if entry["manager"] == manager]
    return entries[0]["fieldsV1"] if entries else None


def test_what_is_applied_first_is_made_and_owned() -> None:
    config = thing(replicas=2, containers=[{"name": "a", "image": "x", "ports": [{"containerPort": 80}]}], args=["x"])
    config["metadata"] |= {"labels": {"app": "web"}, "finalizers": ["hold"], "creationTimestamp": None}
    result = applied(None, "kubectl", config)
    assert spec(result) == spec(config)
    assert result["metadata"]["managedFields"] == [
        {
            "manager": "kubectl",
            "operation": "Apply",
            "apiVersion": "v1",
            "time": EARLY,
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:metadata": {"f:finalizers": {'v:"hold"': {}}, "f:labels": {"f:app": {}}},
                "f:spec": {
                    "f:args": {},
                    "f:containers": {
                        'k:{"name":"a"}': {
                            ".": {},
                            "f:image": {},
                            "f:name": {},
                            "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}},
                        }
                    },
                    "f:replicas": {},
                },
            },
        }
    ]


def test_applying_the_same_again_changes_nothing_not_even_the_time() -> None:
    config = thing(replicas=2, containers=[{"name": "a", "image": "x"}])
    live = applied(None, "kubectl", config)
    assert applied(live, "kubectl", config, time=LATE) is live


def test_defaults_filled_in_by_the_cluster_are_not_in_the_way() -> None:
    config = thing(containers=[{"name": "a"}])
    live = applied(None, "kubectl", config)
    live["spec"] |= {"replicas": 1}
    live["spec"]["containers"][0]["policy"] = "Always"
    assert applied(live, "kubectl", config) is live


def test_a_field_that_is_no_longer_wanted_goes() -> None:
    live = applied(None, "kubectl", thing(replicas=2, color="red", inner={"x": 1}))
    result = applied(live, "kubectl", thing(replicas=2))
    assert spec(result) == {"replicas": 2}


def test_a_field_that_others_want_too_stays() -> None:
    live = applied(None, "kubectl", thing(replicas=2, color="red"))
    live = applied(live, "other", thing(color="red"))
    result = applied(live, "kubectl", thing(replicas=2))
    assert spec(result) == {"replicas": 2, "color": "red"}
    assert owned(result, "other") == {"f:spec": {"f:color": {}}}


def test_an_item_goes_with_all_that_the_cluster_filled_in() -> None:
    live = applied(None, "kubectl", thing(containers=[{"name": "a"}, {"name": "b"}]))
    live["spec"]["containers"][0]["policy"] = "Always"
    assert spec(applied(live, "kubectl", thing(containers=[{"name": "b"}]))) == {"containers": [{"name": "b"}]}


def test_an_item_of_which_others_want_a_part_stays() -> None:
    live = applied(None, "kubectl", thing(containers=[{"name": "a", "image": "x"}, {"name": "b"}]))
    live = applied(live, "other", thing(containers=[{"name": "a", "env": "y"}]))
    result = applied(live, "kubectl", thing(containers=[{"name": "b"}]))
    assert spec(result) == {"containers": [{"name": "a", "env": "y"}, {"name": "b"}]}


def test_an_item_with_a_field_of_another_owner_stays_with_its_key() -> None:
    live = applied(None, "kubectl", thing(containers=[{"name": "a", "image": "x"}]))
    live = track_update(
        live, live | thing(containers=[{"name": "a", "image": "x", "env": "y"}]), writer("editor"), KEYS
    )
    assert spec(applied(live, "kubectl", thing())) == {"containers": [{"name": "a", "env": "y"}]}


def test_what_the_cluster_needs_to_know_the_object_by_never_goes() -> None:
    live = applied(None, "kubectl", thing(replicas=2) | {"metadata": {"name": "a", "labels": {"x": "y"}, "uid": "u"}})
    result = applied(live, "kubectl", {"spec": {"replicas": 2}})
    assert {key: value for key, value in result["metadata"].items() if key != "managedFields"} == {
        "name": "a",
        "uid": "u",
    }


def test_what_only_the_cluster_writes_cannot_be_applied() -> None:
    live = applied(None, "kubectl", thing(replicas=2))
    live["metadata"] |= {"creationTimestamp": EARLY, "generation": 1, "uid": "u"}
    config = thing(replicas=2)
    config["metadata"] |= {"creationTimestamp": None, "generation": 7, "uid": None}
    assert applied(live, "kubectl", config) is live


def test_managers_share_a_field_they_agree_on() -> None:
    live = applied(None, "one", thing(replicas=2))
    result = applied(live, "two", thing(replicas=2))
    assert owned(result, "one") == owned(result, "two") == {"f:spec": {"f:replicas": {}}}


def test_items_of_a_list_come_from_several_managers() -> None:
    live = applied(None, "one", thing(containers=[{"name": "a"}, {"name": "c"}]))
    result = applied(live, "two", thing(containers=[{"name": "b"}, {"name": "c"}]))
    assert [item["name"] for item in spec(result)["containers"]] == ["a", "b", "c"]


def test_the_order_of_items_is_that_of_who_applied_last() -> None:
    live = applied(None, "one", thing(containers=[{"name": "a"}, {"name": "b"}]))
    result = applied(live, "one", thing(containers=[{"name": "b"}, {"name": "a"}]))
    assert [item["name"] for item in spec(result)["containers"]] == ["b", "a"]


def test_null_takes_away() -> None:
    live = applied(None, "kubectl", thing(replicas=2, color="red"))
    result = applied(live, "kubectl", thing(replicas=2, color=None, missing=None))
    assert spec(result) == {"replicas": 2}
    assert owned(result, "kubectl") == {"f:spec": {"f:replicas": {}}}


def conflict(live: Document, manager: str, config: Document) -> ApiError:
    with pytest.raises(ApiError) as refusal:
        applied(live, manager, config)
    assert (refusal.value.code, refusal.value.reason) == (409, "Conflict")
    return refusal.value


def test_one_conflict() -> None:
    live = track_update(applied(None, "kubectl", thing(replicas=2)), thing(replicas=3), writer("scaler"), KEYS)
    refusal = conflict(live, "kubectl", thing(replicas=2))
    assert refusal.message == 'Apply failed with 1 conflict: conflict with "scaler" using v1: .spec.replicas'
    assert refusal.details is not None
    [cause] = refusal.details.causes
    assert cause.reason == "FieldManagerConflict"
    assert cause.message == 'conflict with "scaler" using v1'
    assert cause.field == ".spec.replicas"


def test_several_conflicts() -> None:
    live = applied(None, "one", thing(replicas=2, containers=[{"name": "a", "image": "x"}]))
    live["metadata"]["finalizers"] = ["hold"]
    live = apply_configuration(live, thing(color="red"), writer("two", subresource="status"), KEYS)
    refusal = conflict(live, "three", thing(replicas=3, color="blue", containers=[{"name": "a", "image": "y"}]))
    assert refusal.message == (
        "Apply failed with 3 conflicts: "
        'conflicts with "one":\n- .spec.containers[name="a"].image\n- .spec.replicas\n'
        'conflicts with "two" with subresource "status":\n- .spec.color'
    )


def test_of_very_many_conflicts_the_first_hundred_are_told() -> None:
    live = applied(None, "one", thing(**{f"field{n:03}": 1 for n in range(300)}))
    refusal = conflict(live, "two", thing(**{f"field{n:03}": 2 for n in range(300)}))
    assert refusal.message.startswith('Apply failed with 300 conflicts: conflicts with "one":\n- .spec.field000\n')
    assert refusal.details is not None
    assert len(refusal.details.causes) == refusal.message.count("- .spec") == 100


def test_an_object_in_the_place_of_anothers_value_is_a_conflict() -> None:
    live = applied(None, "one", thing(inner={"x": 1}))
    assert conflict(live, "two", thing(inner="text")).message.endswith(".spec.inner.x")
    assert conflict(live, "two", thing(inner=None)).message.endswith(".spec.inner.x")


def test_force_takes_ownership() -> None:
    live = applied(None, "one", thing(replicas=2, color="red"))
    result = applied(live, "two", thing(replicas=3), may_take=FORCED)
    assert spec(result) == {"replicas": 3, "color": "red"}
    assert owned(result, "one") == {"f:spec": {"f:color": {}}}
    assert owned(result, "two") == {"f:spec": {"f:replicas": {}}}


def test_who_loses_everything_is_forgotten() -> None:
    live = applied(None, "one", thing(replicas=2))
    assert owned(applied(live, "two", thing(replicas=3), may_take=FORCED), "one") is None


def test_kubectl_writes_its_annotation_under_a_name_of_its_own() -> None:
    live = applied(None, "kubectl", thing(replicas=2))
    text = '{"apiVersion":"v1","kind":"Thing","metadata":{"name":"a"},"spec":{"replicas":2}}\n'
    note: Document = {"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": text}}}
    result = applied(live, "kubectl-last-applied", note)
    assert spec(result) == {"replicas": 2}
    assert applied(result, "kubectl", thing(replicas=2)) is result


@pytest.mark.parametrize(
    ("config", "manager", "code", "complaint"),
    [
        ([], "kubectl", 400, "must be an object"),
        (thing(), "", 422, "fieldManager: Required value: is required for apply patch"),
        ({"metadata": {"managedFields": [{}]}}, "kubectl", 400, "metadata.managedFields must be nil"),
        (thing(containers=[{"image": "x"}]), "kubectl", 400, ".spec.containers: associative list with keys has an"),
        (thing(containers=["x"]), "kubectl", 400, "must be an object"),
        (thing(containers=[{"name": "a"}, {"name": "a"}]), "kubectl", 400, 'duplicate entries for key [name="a"]'),
    ],
)
def test_what_cannot_be_applied_is_refused(config: Any, manager: str, code: int, complaint: str) -> None:
    with pytest.raises(ApiError, match=re.escape(complaint)) as refusal:
        apply_configuration(None, config, writer(manager), KEYS)
    assert refusal.value.code == code
