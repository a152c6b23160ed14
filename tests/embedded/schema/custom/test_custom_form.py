"""Objects of custom kinds against the schemas of their definitions."""

import json
from typing import Any

import pytest

from tests.embedded.schema.custom.definitions import (
    POD_TEMPLATE,
    TEXT,
    WHOLE,
    definition,
    form,
    objects,
    served,
    trial,
    version,
)
from tests.embedded.schema.forms import Refusal, changed, created, draft_of, refusal_of, updated
from understudy.embedded.schema.served_resource import Strictness

REPLICA = {"type": "object", "properties": {"replicas": WHOLE, "template": POD_TEMPLATE}}


def test_objects_are_kept_as_they_are() -> None:
    made = created(form({"a": TEXT, "n": WHOLE}), trial(a="x", n=1))
    assert made["spec"] == {"a": "x", "n": 1}
    assert (made["apiVersion"], made["kind"]) == ("example.com/v1", "Trial")
    assert made["metadata"]["generation"] == 1


def test_unknown_fields_are_refused_as_in_built_in_kinds() -> None:
    said = refusal_of(form({"a": TEXT}), trial(a="x", b=1, c={}))
    assert said.message == (
        'Trial in version "v1" cannot be handled as a Trial: strict decoding error: '
        'unknown field "spec.b", unknown field "spec.c"'
    )


def test_a_spec_where_a_template_belongs_gets_a_hint() -> None:
    workers = form({"replicaSpecs": {"type": "object", "additionalProperties": REPLICA}})
    said = refusal_of(workers, trial(replicaSpecs={"Worker": {"replicas": 2, "spec": {"nodeSelector": {}}}}))
    assert said.message == (
        'Trial in version "v1" cannot be handled as a Trial: strict decoding error: '
        'unknown field "spec.replicaSpecs.Worker.spec"; did you mean spec.replicaSpecs.Worker.template.spec?'
    )


def test_unknown_fields_are_pruned_with_a_warning_where_that_was_asked_for() -> None:
    reading = form({"a": TEXT}).read(json.dumps(trial(a="x", b=1)).encode(), Strictness.WARN)
    assert reading.warnings == ('unknown field "spec.b"',)
    assert reading.draft.document()["spec"] == {"a": "x"}


def test_unknown_metadata_is_refused_too() -> None:
    said = refusal_of(form({}), {"metadata": {"name": "t", "lables": {}}})
    assert said.message.endswith('unknown field "metadata.lables"; did you mean metadata.labels?')


def test_what_is_to_be_preserved_is_preserved() -> None:
    free = form({"a": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"n": WHOLE}}})
    assert created(free, trial(a={"any": [1, None, {"x": 2.5}]}))["spec"]["a"] == {"any": [1, None, {"x": 2.5}]}
    assert refusal_of(free, trial(a={"n": "x"})).code == 422


def test_an_embedded_object_has_metadata() -> None:
    schema = {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"spec": {"type": "object"}}}
    whole = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {}}
    assert created(form({"a": schema}), trial(a=whole))["spec"]["a"] == whole


def test_defaults_are_filled_in() -> None:
    inner = {"type": "object", "properties": {"n": {"type": "integer", "default": 3}}}
    filled = form({"a": {**inner, "default": {}}, "list": {"type": "array", "items": inner}, "b": inner})
    assert created(filled, trial(list=[{}, {"n": 1}]))["spec"] == {"a": {"n": 3}, "list": [{"n": 3}, {"n": 1}]}


def test_defaults_are_not_shared_between_objects() -> None:
    shared = form({"a": {"type": "object", "default": {}, "x-kubernetes-preserve-unknown-fields": True}})
    first = draft_of(shared, trial())
    first.content["spec"]["a"]["mine"] = True  # type: ignore[attr-defined]
    assert created(shared, trial())["spec"]["a"] == {}


def test_nulls_are_dropped_unless_they_are_values() -> None:
    nullable = form({"a": TEXT, "b": {"type": "string", "nullable": True}, "c": {"type": "string", "default": "x"}})
    assert created(nullable, trial(a=None, b=None, c=None))["spec"] == {"b": None, "c": "x"}


def test_numbers_that_are_whole_are_whole() -> None:
    gpus = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
    limits = {"type": "object", "additionalProperties": gpus}
    made = created(form({"n": WHOLE, "limits": limits}), trial(n=2.0, limits={"nvidia.com/gpu": 1.0}))
    assert json.dumps(made["spec"]) == '{"n": 2, "limits": {"nvidia.com/gpu": 1}}'


CHOICES = {"type": "object", "properties": {"x": WHOLE, "y": WHOLE}}
WRONG: list[tuple[dict[str, Any], Any, str]] = [
    (WHOLE, "x", 'Invalid value: "string": spec.a in body must be of type integer: "string"'),
    (TEXT, 1, 'Invalid value: "integer": spec.a in body must be of type string: "integer"'),
    (WHOLE, True, 'Invalid value: "boolean": spec.a in body must be of type integer: "boolean"'),
    ({"type": "string", "enum": ["a", "b"]}, "c", 'Unsupported value: "c": supported values: "a", "b"'),
    ({"type": "string", "pattern": "^[a-z]+$"}, "A", "Invalid value: \"A\": spec.a in body should match '^[a-z]+$'"),
    ({"type": "integer", "minimum": 1}, 0, "Invalid value: 0: spec.a in body should be greater than or equal to 1"),
    (
        {"type": "integer", "maximum": 5, "exclusiveMaximum": True},
        5,
        "Invalid value: 5: spec.a in body should be less than 5",
    ),
    ({"type": "number", "multipleOf": 0.5}, 0.7, "Invalid value: 0.7: spec.a in body should be a multiple of 0.5"),
    ({"type": "string", "minLength": 2}, "a", 'Invalid value: "a": spec.a in body should be at least 2 chars long'),
    ({"type": "string", "maxLength": 1}, "ab", 'Invalid value: "ab": spec.a in body should be at most 1 chars long'),
    (
        {"type": "string", "format": "date-time"},
        "now",
        'Invalid value: "now": spec.a in body must be of type date-time',
    ),
    ({"type": "integer", "format": "int32"}, 2**31, "Invalid value: 2147483648: spec.a in body must be of type int32"),
    ({"type": "array", "items": WHOLE, "maxItems": 1}, [1, 2], "Too many: 2: must have at most 1 items"),
    ({"type": "array", "items": WHOLE, "x-kubernetes-list-type": "set"}, [1, 1], "Duplicate value: 1"),
    (
        {
            "type": "array",
            "items": CHOICES,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["x"],
        },
        [{"x": 1}, {"x": 1, "y": 2}],
        'Duplicate value: {"x":1}',
    ),
    (
        {"type": "object", "additionalProperties": WHOLE, "minProperties": 1},
        {},
        "Invalid value: 0: spec.a in body should",
    ),
    ({**CHOICES, "required": ["x"]}, {}, "Required value"),
    (
        {**CHOICES, "anyOf": [{"required": ["x"]}, {"required": ["y"]}]},
        {},
        '"spec.a" must validate at least one schema',
    ),
    (
        {**CHOICES, "oneOf": [{"required": ["x"]}, {"required": ["y"]}]},
        {"x": 1, "y": 1},
        '"spec.a" must validate one and only one schema (oneOf). Found 2 valid alternatives',
    ),
    ({**CHOICES, "not": {"required": ["x"]}}, {"x": 1}, '"spec.a" must not validate the schema (not)'),
    ({**CHOICES, "allOf": [{"required": ["y"]}]}, {"x": 1}, "Required value"),
    ({"x-kubernetes-int-or-string": True}, 1.5, 'Invalid value: "number": spec.a in body must be of type integer or'),
]


@pytest.mark.parametrize(("schema", "value", "cause"), WRONG, ids=[cause for _, _, cause in WRONG])
def test_values_are_held_against_the_schema(schema: dict[str, Any], value: Any, cause: str) -> None:
    said = refusal_of(form({"a": schema}), trial(a=value))
    assert said.code == 422
    assert said.message.startswith('Trial.example.com "t" is invalid: spec.a')
    assert cause in said.causes[0]


def test_spec_and_status_are_written_through_different_doors() -> None:
    kind = form({"n": WHOLE})
    old = draft_of(kind, {**trial(n=1), "status": {"phase": "Done"}})
    assert "status" not in old.document()
    through_status = updated(kind, old, {**trial(n=5), "status": {"phase": "Running"}}, "status")
    assert (through_status["spec"], through_status["status"]) == ({"n": 1}, {"phase": "Running"})
    assert through_status["metadata"]["generation"] == 1
    changed_spec = updated(kind, old, changed(old, "spec", "n", to=2))
    assert changed_spec["metadata"]["generation"] == 2
    assert "status" not in changed_spec


def test_without_the_sub_resource_status_is_a_field_like_others() -> None:
    kind = served(definition(version(objects({"n": WHOLE}), subresources={}))).form
    old = draft_of(kind, {**trial(n=1), "status": {"phase": "Done"}})
    assert old.document()["status"] == {"phase": "Done"}
    assert updated(kind, old, changed(old, "status", "phase", to="Over"))["metadata"]["generation"] == 2


def test_every_version_is_held_against_its_own_schema_and_stored_as_one() -> None:
    old, new = version(objects({"a": TEXT}), "v1beta1", storage=False), version(objects({"b": TEXT}), "v1")
    row = served(definition(old, new))
    assert (row.resource.version, row.other_versions) == ("v1", ("v1beta1",))
    reading = row.form.convert({"apiVersion": "example.com/v1beta1", **trial(a="x")}, Strictness.STRICT)
    assert reading.draft.document()["apiVersion"] == "example.com/v1"
    with Refusal() as said:
        row.form.convert({"apiVersion": "example.com/v1beta1", **trial(b="x")}, Strictness.STRICT)
    assert said.message.startswith('Trial in version "v1beta1" cannot be handled as a Trial')


def test_objects_of_other_kinds_are_refused() -> None:
    for given in ({"kind": "Pod"}, {"apiVersion": "example.com/v9"}, {"apiVersion": "v1", "kind": "Trial"}):
        assert refusal_of(form({}), {**trial(), **given}).code == 400


def test_lists_merge_as_the_schema_says() -> None:
    ports = {
        "type": "array",
        "items": {"type": "object", "properties": {"name": TEXT}},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }
    keys = form({"ports": ports, "tags": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"}}).list_keys
    assert keys["spec.ports"] == ("name",)
    assert keys["spec.tags"] == ()
    assert keys["metadata.ownerReferences"] == ("uid",)


def test_reading_leaves_the_document_alone() -> None:
    document = trial(a=None, b=1)
    form({"a": TEXT}).convert(document, Strictness.IGNORE)
    assert document == trial(a=None, b=1)


def test_what_is_stored_reads_back_the_same() -> None:
    kind = form({"a": TEXT, "n": WHOLE})
    draft = draft_of(kind, trial(a="x", n=1))
    assert kind.load(draft.encode()).document() == draft.document()
    assert draft.encode().startswith(b'{"apiVersion":"example.com/v1","kind":"Trial","metadata":')


def test_bombs_are_refused_before_they_go_off() -> None:
    free = form({"a": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}})
    deep = b'{"metadata":{"name":"t"},"spec":{"a":' + b'{"a":' * 500 + b"1" + b"}" * 500 + b"}}"
    for body in (deep, b'{"a":' * 1_000_000, b"[" * 1_000_000, b"{", b"\xff"):
        with Refusal() as said:
            free.read(body, Strictness.STRICT)
        assert said.code == 400


def test_work_on_one_object_is_bounded() -> None:
    large = {"type": "string", "default": "x" * 1000}
    grown = form({"list": {"type": "array", "items": {"type": "object", "properties": {"a": large}}}})
    said = refusal_of(grown, trial(list=[{}] * 1000))
    assert (said.code, said.message) == (400, "the object is too large to be checked against the schema of its kind")
    slow = form({"list": {"type": "array", "items": {"type": "string", "pattern": "^(a|b|ab|ba|c)*(ab|c){40}x$"}}})
    texts = ["".join("abc"[(i * j) % 3] for j in range(400)) for i in range(300)]
    assert refusal_of(slow, trial(list=texts)).code in (400, 422)
