"""JSON patch and JSON merge patch, with the examples of their RFCs."""

from typing import Any

import pytest
from hypothesis import given

from tests.embedded.api.patches.json_strategies import DOCUMENTS, nested, without_nulls
from understudy.embedded.api.patches.json_patch import json_patch, merge_patch
from understudy.embedded.api.patches.json_values import copied, same
from understudy.embedded.schema.errors import ApiError


def add(path: str, value: Any) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}


def remove(path: str) -> dict[str, Any]:
    return {"op": "remove", "path": path}


def replace(path: str, value: Any) -> dict[str, Any]:
    return {"op": "replace", "path": path, "value": value}


def move(source: str, path: str) -> dict[str, Any]:
    return {"op": "move", "from": source, "path": path}


def copy(source: str, path: str) -> dict[str, Any]:
    return {"op": "copy", "from": source, "path": path}


def check(path: str, value: Any) -> dict[str, Any]:
    return {"op": "test", "path": path, "value": value}


@pytest.mark.parametrize(
    ("document", "operations", "expected"),
    [
        ({"foo": "bar"}, [add("/baz", "qux")], {"foo": "bar", "baz": "qux"}),
        ({"foo": ["bar", "baz"]}, [add("/foo/1", "qux")], {"foo": ["bar", "qux", "baz"]}),
        ({"foo": ["bar"]}, [add("/foo/1", "end")], {"foo": ["bar", "end"]}),
        ({"foo": ["bar"]}, [add("/foo/-", ["abc", "def"])], {"foo": ["bar", ["abc", "def"]]}),
        ({"foo": "bar"}, [add("/child", {"grand": {}})], {"foo": "bar", "child": {"grand": {}}}),
        ({"foo": 1}, [add("/foo", 2)], {"foo": 2}),
        ({"baz": "qux", "foo": "bar"}, [remove("/baz")], {"foo": "bar"}),
        ({"foo": ["bar", "qux", "baz"]}, [remove("/foo/1")], {"foo": ["bar", "baz"]}),
        ({"foo": None}, [remove("/foo")], {}),
        ({"baz": "qux"}, [replace("/baz", "boo")], {"baz": "boo"}),
        ({"foo": [1, 2]}, [replace("/foo/0", 3)], {"foo": [3, 2]}),
        ({"a": 1}, [replace("", {"b": 2})], {"b": 2}),
        ({"foo": {"bar": 1}, "qux": {}}, [move("/foo/bar", "/qux/thud")], {"foo": {}, "qux": {"thud": 1}}),
        ({"foo": ["a", "b", "c", "d"]}, [move("/foo/1", "/foo/3")], {"foo": ["a", "c", "d", "b"]}),
        ({"foo": 1}, [move("/foo", "/foo")], {"foo": 1}),
        ({"foo": {"x": [1]}}, [copy("/foo", "/bar"), add("/bar/x/-", 2)], {"foo": {"x": [1]}, "bar": {"x": [1, 2]}}),
        (
            {"baz": "qux", "foo": ["a", 2]},
            [check("/baz", "qux"), check("/foo/1", 2.0)],
            {"baz": "qux", "foo": ["a", 2]},
        ),
        ({"/": 9, "~1": 10}, [check("/~01", 10), check("/~1", 9)], {"/": 9, "~1": 10}),
        ({"": {"a": 1}}, [replace("//a", 2)], {"": {"a": 2}}),
        ({}, [check("/missing", None)], {}),
        ({}, [add("/a", {}), add("/a/b", 1), check("/a", {"b": 1})], {"a": {"b": 1}}),
        ({"a": 1}, [], {"a": 1}),
        (
            {"metadata": {"annotations": {}}},
            [add("/metadata/annotations/x.io~1y", "z")],
            {"metadata": {"annotations": {"x.io/y": "z"}}},
        ),
    ],
)
def test_operations(document: dict[str, Any], operations: list[Any], expected: dict[str, Any]) -> None:
    before = copied(document), copied(operations)
    assert json_patch(document, operations) == expected
    assert (document, operations) == before


@pytest.mark.parametrize(
    ("operations", "complaint"),
    [
        ([add("/x/y", 1)], r"operation 0 \(add '/x/y'\) does not apply: there is nothing at '/x'"),
        ([add("/text/y", 1)], "what is at '/text' has no fields"),
        ([add("/list/4", 1)], "the list has no place '4'"),
        ([add("/list/01", 1)], "the list has no place '01'"),
        ([add("/list/-1", 1)], "the list has no place '-1'"),
        ([remove("/list/-")], "the list has no place '-'"),
        ([remove("/missing")], "there is nothing at '/missing'"),
        ([check("/text", "here"), remove("/text"), remove("/text")], r"operation 2 \(remove '/text'\)"),
        ([replace("/missing", 1)], "there is nothing at '/missing'"),
        ([replace("/list/3", 1)], "the list has no place '3'"),
        ([move("/object", "/object/inner")], "nothing can be moved into itself"),
        ([copy("/missing", "/a")], "there is nothing at '/missing'"),
        ([check("/text", "there")], "testing value failed"),
        ([check("/one", True)], "testing value failed"),
        ([check("/missing", 1)], "there is nothing at '/missing'"),
        ([add("text", 1)], "a path begins with '/'"),
        ([remove("")], "nothing is left"),
        ([replace("", [])], "nothing is left"),
        ([add("/a~0b/c", 1)], "there is nothing at '/a~0b'"),
    ],
)
def test_what_does_not_apply_is_refused_with_its_place(operations: list[Any], complaint: str) -> None:
    document = {"text": "here", "list": [1, 2, 3], "object": {}, "one": 1}
    with pytest.raises(ApiError, match=complaint) as refusal:
        json_patch(document, operations)
    assert refusal.value.code == 422


@pytest.mark.parametrize(
    "operations",
    [
        {"op": "add"},
        "add",
        [1],
        [{"op": "destroy", "path": "/a"}],
        [{"op": "add", "path": "/a"}],
        [{"op": "test", "path": "/a"}],
        [{"op": "move", "path": "/a"}],
        [{"op": "add", "value": 1}],
        [{"op": "add", "path": 7, "value": 1}],
        [add("/a", nested(5000))],
    ],
)
def test_what_is_no_patch_is_refused(operations: Any) -> None:
    with pytest.raises(ApiError) as refusal:
        json_patch({}, operations)
    assert refusal.value.code == 400


def test_a_patch_has_at_most_ten_thousand_operations() -> None:
    assert json_patch({}, [add("/a", 1)] * 10_000) == {"a": 1}
    with pytest.raises(ApiError, match="10000, got 10001") as refusal:
        json_patch({}, [add("/a", 1)] * 10_001)
    assert refusal.value.code == 413


def test_copies_of_copies_end_before_memory_does() -> None:
    doubling = [copy("/a", f"/a/{n}") for n in range(60)]
    with pytest.raises(ApiError, match="are copied") as refusal:
        json_patch({"a": {"text": "x" * 100}}, doubling)
    assert refusal.value.code == 413


@pytest.mark.parametrize(
    "operations",
    [
        pytest.param([copy("/a", "/a" * n) for n in (2, 3, 5, 9, 17, 33, 65, 129, 257)], id="a copy at the bottom"),
        pytest.param(
            [op for _ in range(300) for op in (move("/a", "/b"), add("/a", {}), move("/b", "/a/a"))],
            id="moved down again and again",
        ),
    ],
)
def test_nothing_becomes_too_deep(operations: list[Any]) -> None:
    with pytest.raises(ApiError, match="levels deep"):
        json_patch({"a": {}}, operations)


def escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def difference(old: Any, new: Any, path: str = "") -> list[dict[str, Any]]:
    """The operations from one document to another, one field at a time."""
    if isinstance(old, dict) and isinstance(new, dict):
        gone = [remove(f"{path}/{escaped(key)}") for key in old if key not in new]
        made = [add(f"{path}/{escaped(key)}", new[key]) for key in new if key not in old]
        kept = [op for key in old if key in new for op in difference(old[key], new[key], f"{path}/{escaped(key)}")]
        return gone + kept + made
    if isinstance(old, list) and isinstance(new, list):
        both = min(len(old), len(new))
        kept = [op for place in range(both) for op in difference(old[place], new[place], f"{path}/{place}")]
        return kept + [remove(f"{path}/{both}")] * (len(old) - both) + [add(f"{path}/-", one) for one in new[both:]]
    return [] if same(old, new) else [replace(path, new)]


@given(DOCUMENTS, DOCUMENTS)
def test_applying_the_difference_gives_the_other_document(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert same(json_patch(old, [*difference(old, new), check("", new)]), new)


def test_many_changes_to_the_front_of_a_long_list_are_refused() -> None:
    document = {"list": ["x"] * 100_000}
    for change in (add("/list/0", 1), remove("/list/0"), move("/list/0", "/list/90000")):
        assert json_patch(document, [change] * 100)["list"]
        with pytest.raises(ApiError) as refused:
            json_patch(document, [change] * 9_000)
        assert refused.value.code == 413


def test_a_refusal_does_not_repeat_a_path_of_any_length() -> None:
    with pytest.raises(ApiError) as refused:
        json_patch({}, [add("/a" * 100_000, 1)])
    assert len(refused.value.message) < 1_000


# Appendix A of the RFC; those whose target or patch is no object are not for Kubernetes objects.
@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({"a": "foo"}, {"a": {"b": {"c": None}}}, {"a": {"b": {}}}),
    ],
)
def test_examples_of_the_rfc(document: dict[str, Any], patch: dict[str, Any], expected: dict[str, Any]) -> None:
    assert merge_patch(document, patch) == expected


@given(DOCUMENTS, DOCUMENTS)
def test_inputs_stay_as_they_were(document: dict[str, Any], patch: dict[str, Any]) -> None:
    before = copied(document), copied(patch)
    merge_patch(document, patch)
    assert (document, patch) == before


@given(DOCUMENTS, DOCUMENTS)
def test_a_patch_applied_twice_is_a_patch_applied_once(document: dict[str, Any], patch: dict[str, Any]) -> None:
    once = merge_patch(document, patch)
    assert merge_patch(once, patch) == once


@given(DOCUMENTS)
def test_a_document_patched_with_itself_does_not_change(document: dict[str, Any]) -> None:
    clean = without_nulls(document)
    assert merge_patch(clean, clean) == clean


@given(DOCUMENTS)
def test_nothing_patched_is_nothing_changed(document: dict[str, Any]) -> None:
    assert merge_patch(document, {}) == document


@pytest.mark.parametrize("patch", [[], "text", 1, None, nested(5000)])
def test_what_is_no_merge_patch_is_refused(patch: Any) -> None:
    with pytest.raises(ApiError) as refusal:
        merge_patch({"a": 1}, patch)
    assert refusal.value.code == 400
