"""Laws of reading: what was read reads back the same, and nothing from outside can do worse than be refused."""

import copy
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import inspect

from tests.embedded.schema.forms import FORMS, no_object
from tests.examples import examples
from understudy.embedded.schema.decoding_errors import without_metadata
from understudy.embedded.schema.errors import ApiError
from understudy.embedded.schema.served_resource import Draft, Form, Strictness
from understudy.embedded.schema.typed_form import TypedForm
from understudy.embedded.schema.types.values import TIME

_WORDS = st.sampled_from(["a", "web", "x-1", "b" * 63, "é", ""])
_DEPTH = 8


def documents(kind: inspect.Type, depth: int = _DEPTH) -> st.SearchStrategy[Any]:
    """Documents that have the types they should have."""
    match without_metadata(kind):
        case inspect.StructType():
            return structs(kind, depth)
        case inspect.ListType(item_type=item, min_length=least):
            return st.lists(documents(item, depth), min_size=least or 0, max_size=2)
        case inspect.DictType(value_type=item):
            return st.dictionaries(_WORDS, documents(item, depth), max_size=2)
        case inspect.LiteralType(values=values):
            return st.sampled_from(values)
        case inspect.UnionType(types=types):
            return st.one_of(*(documents(one, depth) for one in types))
        case inspect.CustomType():
            return st.sampled_from(["1", "500m", "1.5Gi", 2, 0.5, "0"])
        case inspect.AnyType():
            return st.sampled_from([1, "a", [], {"b": True}])
    return _scalars(without_metadata(kind))


@st.composite
def structs(draw: st.DrawFn, kind: inspect.Type, depth: int) -> dict[str, Any]:
    """What is required, and a few of the other fields."""
    inner = without_metadata(kind)
    assert isinstance(inner, inspect.StructType)
    optional = [field for field in inner.fields if not field.required and _fits(field.type, depth)]
    chosen = draw(st.lists(st.sampled_from(optional), max_size=4, unique_by=id)) if optional else []
    fields = [field for field in inner.fields if field.required] + chosen
    return {field.encode_name: draw(documents(field.type, depth - 1)) for field in fields}


def _scalars(kind: inspect.Type) -> st.SearchStrategy[Any]:
    match kind:
        case inspect.IntType(ge=low, le=high):
            return st.integers(low, high)
        case inspect.FloatType():
            return st.floats(allow_nan=False, allow_infinity=False)
        case inspect.BoolType():
            return st.booleans()
        case inspect.BytesType():
            return st.sampled_from(["", "aGVsbG8="])
        case inspect.StrType(pattern=pattern) if pattern == TIME:
            return st.sampled_from(["2024-05-01T10:00:00Z", "2024-05-01T10:00:00.5+02:00"])
        case inspect.StrType(min_length=least):
            return _WORDS.filter(lambda word: len(word) >= (least or 0))
    raise AssertionError(kind)


def _fits(kind: inspect.Type, depth: int) -> bool:
    return depth > 0 or not isinstance(without_metadata(kind), inspect.StructType | inspect.ListType | inspect.DictType)


def shape(kind: str) -> inspect.Type:
    form = FORMS[kind]
    assert isinstance(form, TypedForm)
    found = inspect.type_info(form.struct)
    assert isinstance(found, inspect.StructType)
    content = [field for field in found.fields if field.encode_name not in ("apiVersion", "kind")]
    return inspect.StructType(found.cls, tuple(content))


@pytest.mark.parametrize("kind", ["Pod", "Job", "Node", "Service", "Secret", "Event", "PersistentVolume", "Lease"])
@settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_what_was_read_reads_back_the_same(kind: str, data: st.DataObject) -> None:
    form = FORMS[kind]
    document = data.draw(documents(shape(kind)))
    draft = form.convert(copy.deepcopy(document), Strictness.STRICT).draft
    assert form.read(draft.encode(), Strictness.STRICT).draft == draft
    assert form.load(draft.encode()) == draft
    assert form.convert(draft.document(), Strictness.STRICT).draft == draft
    assert form.read(json.dumps(document).encode(), Strictness.STRICT).draft == draft


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("kind", ["Pod", "Job", "CustomResourceDefinition", "Secret"])
@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_whatever_stands_in_a_field_is_taken_or_refused(kind: str, data: st.DataObject) -> None:
    document = data.draw(documents(shape(kind)))
    for _ in range(data.draw(st.integers(1, 3))):
        _spoil(document, data)
    for strictness in Strictness:
        code = answer(kind, document, strictness)
        assert code in (200, 400, 403, 422)


def answer(kind: str, document: Any, strictness: Strictness) -> int:
    form = FORMS[kind]
    try:
        draft = form.read(json.dumps(document).encode(), strictness).draft
    except ApiError as error:
        return error.code
    assert form.read(draft.encode(), Strictness.STRICT).draft == draft
    return admission(form, draft, form.load(draft.encode()))


def admission(form: Form, draft: Draft, other: Draft) -> int:
    """Through the checks as a new object, and then as a change of itself."""
    try:
        form.admit_create(draft, no_object)
        same = form.load(draft.encode())
        form.admit_update(same, draft, "", no_object)
        assert same == draft
        form.admit_update(other, draft, "", no_object)
        form.admit_update(other, draft, "status", no_object)
    except ApiError as error:
        return error.code
    assert form.load(draft.encode()) == draft
    return 200


def _spoil(place: Any, data: st.DataObject) -> None:
    """Puts something where it need not belong."""
    while isinstance(place, dict) and place:
        key = data.draw(st.sampled_from(sorted(place)))
        inner = place[key]
        if not isinstance(inner, dict) or not inner or data.draw(st.booleans()):
            place[data.draw(st.sampled_from([key, "zzz", "spec"]))] = data.draw(anything)
            return
        place = inner
