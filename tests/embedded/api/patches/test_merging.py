"""JSON merge patch: the examples of RFC 7386 and the laws behind them."""

from typing import Any

import pytest
from hypothesis import given

from tests.embedded.api.patches.values import DOCUMENTS, nested, without_nulls
from understudy.embedded.api.errors import ApiError
from understudy.embedded.api.patches import merge
from understudy.embedded.api.patches.values import copied


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
    assert merge(document, patch) == expected


@given(DOCUMENTS, DOCUMENTS)
def test_inputs_stay_as_they_were(document: dict[str, Any], patch: dict[str, Any]) -> None:
    before = copied(document), copied(patch)
    merge(document, patch)
    assert (document, patch) == before


@given(DOCUMENTS, DOCUMENTS)
def test_a_patch_applied_twice_is_a_patch_applied_once(document: dict[str, Any], patch: dict[str, Any]) -> None:
    once = merge(document, patch)
    assert merge(once, patch) == once


@given(DOCUMENTS)
def test_a_document_patched_with_itself_does_not_change(document: dict[str, Any]) -> None:
    clean = without_nulls(document)
    assert merge(clean, clean) == clean


@given(DOCUMENTS)
def test_nothing_patched_is_nothing_changed(document: dict[str, Any]) -> None:
    assert merge(document, {}) == document


@pytest.mark.parametrize("patch", [[], "text", 1, None, nested(5000)])
def test_what_is_no_patch_is_refused(patch: Any) -> None:
    with pytest.raises(ApiError) as refusal:
        merge({"a": 1}, patch)
    assert refusal.value.code == 400
