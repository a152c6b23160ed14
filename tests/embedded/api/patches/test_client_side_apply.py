"""From `kubectl apply` to server-side apply and back: the first owners, and the annotation."""

from typing import Any

import msgspec
import pytest

from tests.embedded.api.patches.test_server_side_apply import KEYS, applied, conflict, owned, spec, thing, writer
from understudy.embedded.api.patches.client_side_apply import LAST_APPLIED, kubectl_fields, with_first_owners
from understudy.embedded.api.patches.field_sets import Shape
from understudy.embedded.api.patches.server_side_apply import track_update

Document = dict[str, Any]
ANNOTATION: Document = {"f:metadata": {"f:annotations": {f"f:{LAST_APPLIED}": {}}}}


def first_applied(live: Document, manager: str, config: Document, **defaults: Any) -> Document:
    """Applied to an object without managedFields, to which the server adds these defaults when it is created."""
    return applied(with_owners_for(live, manager, **defaults), manager, config)


def with_owners_for(live: Document, manager: str, **defaults: Any) -> Document:
    def created_from(configuration: Document) -> Document:
        return {**configuration, "spec": {**defaults, **configuration.get("spec", {})}}

    return with_first_owners(live, writer(manager), Shape(KEYS), created_from)


def client_side(document: Document, **added: Any) -> Document:
    """As plain `kubectl apply` leaves an object, with fields that were added since."""
    annotations = {LAST_APPLIED: msgspec.json.encode(document).decode()}
    metadata = document["metadata"] | {"annotations": annotations}
    return document | {"metadata": metadata, "spec": document["spec"] | added}


def last_applied(document: Document) -> Any:
    return msgspec.json.decode(document["metadata"]["annotations"][LAST_APPLIED])


def test_an_object_that_was_never_applied_belongs_to_before_the_first_apply() -> None:
    live = thing(replicas=2, color="red")
    refusal = conflict(with_owners_for(live, "kubectl"), "kubectl", thing(replicas=3))
    assert (
        refusal.message == 'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .spec.replicas'
    )
    result = first_applied(live, "kubectl", thing(replicas=2))
    assert owned(result, "before-first-apply") == {"f:spec": {"f:color": {}, "f:replicas": {}}}
    assert owned(result, "kubectl") == {"f:spec": {"f:replicas": {}}}


def test_kubectl_may_move_from_client_side_to_server_side() -> None:
    live = client_side(thing(replicas=2, color="red"))
    assert spec(first_applied(live, "kubectl", thing(replicas=3))) == {"replicas": 3}
    refusal = conflict(with_owners_for(live, "another"), "another", thing(replicas=3))
    assert '"kubectl-client-side-apply"' in refusal.message


def test_what_the_server_added_belongs_to_no_manager() -> None:
    """kubectl takes the fields of the manager that owns the annotation for its own, and removes those it does not
    apply."""
    live = client_side(thing(replicas=2), selector="made", color="red")
    result = first_applied(live, "kubectl", thing(replicas=2), selector="made", color="blue")
    assert owned(result, "kubectl") == {"f:spec": {"f:replicas": {}}}
    assert owned(result, "before-first-apply") == {"f:spec": {"f:color": {}}}
    assert owned(result, "kubectl-last-applied") == ANNOTATION
    assert spec(applied(result, "kubectl", thing(replicas=2, selector="mine")))["selector"] == "mine"


def test_for_other_managers_kubectl_stays_the_owner_of_what_it_applied() -> None:
    result = first_applied(client_side(thing(replicas=2), selector="made"), "argo", thing(size=1), selector="made")
    expected = {**ANNOTATION, "f:spec": {"f:replicas": {}}}
    assert owned(result, "kubectl-client-side-apply") == expected
    assert owned(result, "before-first-apply") is None


def test_a_value_that_is_written_in_another_way_is_unchanged() -> None:
    live = client_side(thing(cpu="1000m")) | {"spec": {"cpu": "1"}}

    def canonical(configuration: Document) -> Document:
        return {**configuration, "spec": {"cpu": "1"}}

    known = with_first_owners(live, writer("kubectl"), Shape(KEYS), canonical)
    assert owned(known, "kubectl") == {"f:spec": {"f:cpu": {}}}


def test_what_changed_since_the_last_client_side_apply_is_a_conflict_all_the_same() -> None:
    live = client_side(thing(replicas=2))
    live["spec"]["replicas"] = 5
    conflict(with_owners_for(live, "kubectl"), "kubectl", thing(replicas=3))


@pytest.mark.parametrize("text", ["not JSON", "[]", '{"spec":{"containers":[1]}}', '{"a":' * 5000 + "1" + "}" * 5000])
def test_a_last_configuration_that_cannot_be_read_is_none(text: str) -> None:
    live = client_side(thing(replicas=2))
    live["metadata"]["annotations"][LAST_APPLIED] = text
    conflict(with_owners_for(live, "kubectl"), "kubectl", thing(replicas=3))


def test_the_annotation_follows_what_kubectl_applies() -> None:
    live = client_side(thing(replicas=2))
    config = thing(replicas=3)
    config["metadata"]["annotations"] = {"mine": "yes"}
    result = first_applied(live, "kubectl", config)
    assert last_applied(result) == config
    assert result["metadata"]["annotations"]["mine"] == "yes"
    assert last_applied(applied(result, "argo", thing(size=1))) == config
    assert applied(result, "kubectl", config) is result


def test_kubectl_may_change_back_and_forth() -> None:
    """A client-side apply is an update by another manager, whose fields kubectl may take again."""
    served = first_applied(client_side(thing(replicas=2, color="red")), "kubectl", thing(replicas=2, color="red"))
    back = track_update(served, client_side(thing(replicas=3, color="red")), writer("kubectl-client-side-apply"), KEYS)
    config = thing(replicas=4, color="red")
    assert "kubectl-client-side-apply" in conflict(back, "kubectl", config).message

    def taken_by(manager: str) -> Any:
        return kubectl_fields(back, writer(manager), Shape(KEYS), lambda configuration: configuration)

    assert taken_by("argo") == frozenset()
    again = applied(back, "kubectl", config, may_take=taken_by("kubectl"))
    assert (spec(again), last_applied(again)) == (config["spec"], config)
    back["spec"]["replicas"] = 7
    assert ("f:spec", "f:replicas") not in taken_by("kubectl")


def test_the_annotation_is_not_made_where_there_is_none() -> None:
    assert "annotations" not in applied(applied(None, "kubectl", thing(a=1)), "kubectl", thing(a=2))["metadata"]


def test_an_annotation_that_grows_too_large_is_removed() -> None:
    result = first_applied(client_side(thing(a="x")), "kubectl", thing(a="x" * 262144))
    assert LAST_APPLIED not in result["metadata"]["annotations"]


def test_an_object_keeps_its_annotation_with_the_last_of_its_own() -> None:
    noted = thing(replicas=2)
    noted["metadata"]["annotations"] = {"mine": "yes"}
    live = client_side(noted)
    live["metadata"]["annotations"]["mine"] = "yes"
    result = first_applied(live, "kubectl", thing(replicas=2))
    assert last_applied(result) == thing(replicas=2)
    assert set(result["metadata"]["annotations"]) == {LAST_APPLIED}
