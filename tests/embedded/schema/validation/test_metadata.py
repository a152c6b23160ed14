"""What objects may say about themselves."""

from typing import Any

import pytest

from tests.embedded.schema.forms import changed, created, draft_of, pod, refusal_of, updated


def labelled(**metadata: Any) -> dict[str, Any]:
    return {**pod(), "metadata": {"name": "a", **metadata}}


@pytest.mark.parametrize("name", ["..", "a/b", "UPPER", "a" * 254, "-a"])
def test_hostile_names_are_refused(name: str) -> None:
    said = refusal_of("Pod", {**pod(), "metadata": {"name": name}})
    assert said.code == 422
    assert said.causes[0].startswith("metadata.name: Invalid value")


def test_namespaces_and_services_have_stricter_names() -> None:
    assert refusal_of("Namespace", {"metadata": {"name": "a.b"}}).code == 422
    port = {"spec": {"ports": [{"port": 80}]}}
    assert refusal_of("Service", {"metadata": {"name": "1a"}, **port}).code == 422
    assert created("Service", {"metadata": {"name": "a1"}, **port})


def test_labels_are_checked() -> None:
    said = refusal_of("Pod", labelled(labels={"a b": "fine", "fine": "a b"}))
    assert [cause.split(":")[0] for cause in said.causes] == ["metadata.labels", "metadata.labels"]


def test_label_bombs_are_refused() -> None:
    assert refusal_of("Pod", labelled(labels={"x" * 100_000: "y"})).code == 422
    assert refusal_of("Pod", labelled(labels={"x": "y" * 100_000})).code == 422


def test_labels_have_a_size_limit_wherever_they_stand() -> None:
    many = {f"a{n}": "b" for n in range(100_000)}
    assert refusal_of("Pod", labelled(labels=many)).causes == [
        "metadata.labels: Too long: may not be more than 262144 bytes"
    ]
    assert refusal_of("Pod", {**pod(), "spec": {**pod()["spec"], "nodeSelector": many}}).causes == [
        "spec.nodeSelector: Too long: may not be more than 262144 bytes"
    ]
    old, fair = draft_of("Pod", pod()), {f"b{n}": "" for n in range(1_000)}
    assert updated("Pod", old, changed(old, "metadata", to={"name": "trainer", "labels": fair}))


def test_annotations_are_free_text_up_to_a_size() -> None:
    assert created("Pod", labelled(annotations={"a/b": "any text, ünicode too\n"}))
    said = refusal_of("Pod", labelled(annotations={"a": "x" * (256 * 1024)}))
    assert said.causes == ["metadata.annotations: Too long: may not be more than 262144 bytes"]


def test_only_one_owner_is_the_controller() -> None:
    owner = {"apiVersion": "v1", "kind": "Job", "uid": "1", "controller": True}
    said = refusal_of("Pod", labelled(ownerReferences=[{**owner, "name": "a"}, {**owner, "name": "b"}]))
    assert 'Found "true" in references for a and b' in said.causes[0]


def test_what_only_the_server_sets_is_not_taken_from_outside() -> None:
    given = labelled(generation=7, deletionTimestamp="2024-05-01T10:00:00Z", selfLink="/x")
    metadata = created("Pod", given)["metadata"]
    assert metadata["generation"] == 1
    assert "deletionTimestamp" not in metadata
    assert "selfLink" not in metadata


def test_an_update_changes_labels_but_not_who_the_object_is() -> None:
    old = draft_of("Pod", pod())
    document = changed(old, "metadata", to={"name": "trainer", "labels": {"a": "b"}, "uid": "forged"})
    metadata = updated("Pod", old, document)["metadata"]
    assert metadata["labels"] == {"a": "b"}
    assert metadata["uid"] == old.metadata.uid
    assert metadata["creationTimestamp"] == old.metadata.creation_timestamp
    assert metadata["generation"] == 1
