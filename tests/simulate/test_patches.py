"""Patches: what is patched stays as it was, and the forms differ where Kubernetes' do."""

import pytest

from understudy.ports import PatchForm, Refused
from understudy.simulate.patches import Document, patched

POD: Document = {
    "metadata": {"uid": "1", "finalizers": ["a", "b"], "annotations": {"x": "1"}},
    "status": {"phase": "Pending", "conditions": [{"type": "Ready", "status": "False", "reason": "New"}]},
}


def test_a_merge_patch_replaces_lists_and_removes_by_null() -> None:
    patch = {"metadata": {"annotations": {"x": None, "y": "2"}}, "status": {"conditions": []}}
    found = patched(POD, patch, PatchForm.MERGE)
    assert found["metadata"]["annotations"] == {"y": "2"}
    assert found["status"] == {"phase": "Pending", "conditions": []}
    assert POD["metadata"]["annotations"] == {"x": "1"}


def test_a_strategic_patch_merges_conditions_by_type() -> None:
    patch = {
        "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "PodScheduled", "status": "True"}]}
    }
    conditions = patched(POD, patch, PatchForm.STRATEGIC)["status"]["conditions"]
    assert conditions == [
        {"type": "Ready", "status": "True", "reason": "New"},
        {"type": "PodScheduled", "status": "True"},
    ]


def test_a_strategic_patch_deletes_values_of_a_list() -> None:
    patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}}
    assert patched(POD, patch, PatchForm.STRATEGIC)["metadata"]["finalizers"] == ["b"]


def test_a_json_patch_tests_and_removes() -> None:
    operations = [
        {"op": "test", "path": "/metadata/finalizers/1", "value": "b"},
        {"op": "remove", "path": "/metadata/finalizers/1"},
        {"op": "add", "path": "/status/conditions/-", "value": {"type": "Done"}},
        {"op": "replace", "path": "/metadata/annotations/x", "value": "3"},
    ]
    found = patched(POD, operations, PatchForm.JSON)
    assert found["metadata"]["finalizers"] == ["a"]
    assert found["metadata"]["annotations"] == {"x": "3"}
    assert [one["type"] for one in found["status"]["conditions"]] == ["Ready", "Done"]
    assert POD["metadata"]["finalizers"] == ["a", "b"]


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/metadata/uid", "value": "2"},
        {"op": "remove", "path": "/metadata/finalizers/2"},
        {"op": "test", "path": "/spec/nodeName", "value": "n"},
    ],
)
def test_a_json_patch_that_does_not_fit_is_refused(operation: Document) -> None:
    with pytest.raises(Refused, match=r"is not|there is no"):
        patched(POD, [operation], PatchForm.JSON)
