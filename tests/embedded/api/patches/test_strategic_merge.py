"""Strategic merge patches as kubectl and the client libraries write them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.embedded.api.patches.json_strategies import DOCUMENTS, nested, without_nulls
from understudy.embedded.api.patches.json_patch import merge_patch
from understudy.embedded.api.patches.json_values import copied
from understudy.embedded.api.patches.strategic_merge import strategic_merge_patch
from understudy.embedded.schema.errors import ApiError

KEYS: dict[str, tuple[str, ...]] = {
    "metadata.finalizers": (),
    "spec.containers": ("name",),
    "spec.containers.env": ("name",),
    "spec.containers.ports": ("containerPort", "protocol"),
    "status.conditions": ("type",),
}
Case = tuple[dict[str, Any], dict[str, Any], dict[str, Any]]


def containers(*items: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"containers": list(items)}}


A, B, C = {"name": "a", "image": "1"}, {"name": "b", "image": "2"}, {"name": "c", "image": "3"}

CASES: dict[str, Case] = {
    "fields are set, added and taken away": (
        {"spec": {"x": 1, "y": 2}},
        {"spec": {"x": 3, "y": None, "z": 4, "w": None}},
        {"spec": {"x": 3, "z": 4}},
    ),
    "a list without a key is replaced": (
        {"spec": {"taints": [{"key": "a"}, {"key": "b"}]}},
        {"spec": {"taints": [{"key": "c"}]}},
        {"spec": {"taints": [{"key": "c"}]}},
    ),
    "items are merged by key": (
        containers(A, B),
        containers({"name": "b", "image": "9"}),
        containers(A, {"name": "b", "image": "9"}),
    ),
    "a new item goes to the end": (containers(A), containers(B), containers(A, B)),
    "lists inside of items": (
        containers(A | {"env": [{"name": "x", "value": "1"}, {"name": "y", "value": "2"}]}),
        containers({"name": "a", "env": [{"name": "y", "value": "3"}, {"name": "z", "value": "4"}]}),
        containers(
            A | {"env": [{"name": "x", "value": "1"}, {"name": "y", "value": "3"}, {"name": "z", "value": "4"}]}
        ),
    ),
    "an item is deleted": (containers(A, B), containers({"name": "a", "$patch": "delete"}), containers(B)),
    "an item that is not there is deleted": (
        containers(A),
        containers({"name": "x", "$patch": "delete"}),
        containers(A),
    ),
    "an item is deleted and made anew": (
        containers(A, B),
        containers({"name": "a", "$patch": "delete"}, {"name": "a", "image": "7"}),
        containers(B, {"name": "a", "image": "7"}),
    ),
    "a list is replaced by directive": (containers(A, B), containers({"$patch": "replace"}, C), containers(C)),
    "an object is replaced by directive": (
        {"spec": {"x": 1, "y": {"z": 1}}},
        {"spec": {"y": {"$patch": "replace", "w": 2}}},
        {"spec": {"x": 1, "y": {"w": 2}}},
    ),
    "an object is emptied by directive": (
        {"spec": {"y": {"z": 1}}},
        {"spec": {"y": {"$patch": "delete"}}},
        {"spec": {"y": {}}},
    ),
    "merging may be said aloud": (
        containers(A),
        {"spec": {"$patch": "merge", "containers": [{"name": "a", "image": "5", "$patch": "merge"}]}},
        containers({"name": "a", "image": "5"}),
    ),
    "one field of a union is kept": (
        {"spec": {"volume": {"name": "v", "emptyDir": {}}}},
        {"spec": {"volume": {"$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}}},
        {"spec": {"volume": {"name": "v", "hostPath": {"path": "/x"}}}},
    ),
    "values join a set": (
        {"metadata": {"finalizers": ["a", "b"]}},
        {"metadata": {"finalizers": ["b", "c", "c"]}},
        {"metadata": {"finalizers": ["a", "b", "c"]}},
    ),
    "values leave a set": (
        {"metadata": {"finalizers": ["a", "b", "c"]}},
        {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a", "c", "x"]}},
        {"metadata": {"finalizers": ["b"]}},
    ),
    "values leave a list that is not there": (
        {"metadata": {}},
        {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}},
        {"metadata": {}},
    ),
    "the order of items is set": (
        containers(A, B),
        {"spec": {"containers": [C], "$setElementOrder/containers": [{"name": "c"}, {"name": "b"}, {"name": "a"}]}},
        containers(C, B, A),
    ),
    "an item the patch does not know keeps its place": (
        containers(A, C, B),
        {"spec": {"$setElementOrder/containers": [{"name": "a"}, {"name": "b"}]}},
        containers(A, C, B),
    ),
    "the order of a set is set": (
        {"metadata": {"finalizers": ["a", "b"]}},
        {"metadata": {"$setElementOrder/finalizers": ["c", "b", "a"], "finalizers": ["c"]}},
        {"metadata": {"finalizers": ["c", "b", "a"]}},
    ),
    "the order of what is not there": (
        {"spec": {}},
        {"spec": {"$setElementOrder/containers": [{"name": "a"}]}},
        {"spec": {}},
    ),
    "ports that differ in protocol survive": (
        containers(A | {"ports": [{"containerPort": 53, "protocol": "TCP"}, {"containerPort": 53, "protocol": "UDP"}]}),
        containers({"name": "a", "ports": [{"containerPort": 80}]}),
        containers(
            A
            | {
                "ports": [
                    {"containerPort": 53, "protocol": "TCP"},
                    {"containerPort": 53, "protocol": "UDP"},
                    {"containerPort": 80},
                ]
            }
        ),
    ),
    "nothing is left of directives and nulls in new parts": (
        {},
        containers({"name": "a", "image": None, "$setElementOrder/env": [{"name": "x"}], "env": [{"name": "x"}]}),
        containers({"name": "a", "env": [{"name": "x"}]}),
    ),
    "a value of another type gives way": ({"spec": {"containers": "none"}}, containers(A), containers(A)),
    "a condition of a pod": (
        {"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "x"}]}},
        {"status": {"conditions": [{"type": "Ready", "status": "True", "reason": None}]}},
        {"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
    ),
}


@pytest.mark.parametrize(("document", "patch", "expected"), CASES.values(), ids=CASES.keys())
def test_patches(document: dict[str, Any], patch: dict[str, Any], expected: dict[str, Any]) -> None:
    before = copied(document), copied(patch)
    assert strategic_merge_patch(document, patch, KEYS) == expected
    assert (document, patch) == before


@pytest.mark.parametrize(
    ("patch", "code", "complaint"),
    [
        ([], 400, "must be an object"),
        (nested(5000), 400, "levels deep"),
        (containers({"image": "1"}), 422, "merged by 'name'"),
        (containers({"name": {}}), 422, "merged by 'name'"),
        ({"spec": {"containers": ["a"]}}, 422, "merged by 'name'"),
        ({"spec": {"$patch": "destroy"}}, 422, "'destroy', not delete, merge or replace"),
        ({"spec": {"$retainKeys": "containers"}}, 422, "a list of texts"),
        ({"spec": {"$setElementOrder/containers": {}}}, 422, "must be a list"),
        ({"spec": {"$setElementOrder/containers": [{"x": 1}]}}, 422, "merged by 'name'"),
        ({"metadata": {"finalizers": [{}]}}, 422, "a list of texts"),
    ],
)
def test_a_patch_that_makes_no_sense_is_refused(patch: Any, code: int, complaint: str) -> None:
    with pytest.raises(ApiError, match=complaint) as refusal:
        strategic_merge_patch(containers(A), patch, KEYS)
    assert refusal.value.code == code


PODS = st.fixed_dictionaries(
    {},
    optional={
        "metadata": st.fixed_dictionaries({"finalizers": st.lists(st.sampled_from("abc"), unique=True)}),
        "spec": st.fixed_dictionaries(
            {
                "containers": st.lists(
                    st.fixed_dictionaries({"name": st.sampled_from("abcd")}, optional={"image": st.sampled_from("xy")}),
                    unique_by=lambda item: str(item["name"]),
                )
            }
        ),
    },
)


@given(PODS)
def test_an_object_patched_with_itself_does_not_change(document: dict[str, Any]) -> None:
    assert strategic_merge_patch(document, document, KEYS) == document


@given(PODS, PODS)
def test_a_patch_applied_twice_is_a_patch_applied_once(document: dict[str, Any], patch: dict[str, Any]) -> None:
    once = strategic_merge_patch(document, patch, KEYS)
    assert strategic_merge_patch(once, patch, KEYS) == once


@given(DOCUMENTS, DOCUMENTS)
def test_without_keys_it_is_a_merge_patch(document: dict[str, Any], patch: dict[str, Any]) -> None:
    clean = without_nulls(document)
    assert strategic_merge_patch(clean, patch, {}) == merge_patch(clean, patch)
