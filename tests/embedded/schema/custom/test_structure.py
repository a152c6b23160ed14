"""Schemas that cannot be held to are refused with the definition that brings them."""

import json
from typing import Any

import pytest

from tests.embedded.schema.custom.definitions import TEXT, definition, objects, version
from tests.embedded.schema.forms import FORMS, Refusal, nobody, refusal_of
from understudy.embedded.api.served import Strictness

ROOT = "spec.versions[0].schema.openAPIV3Schema"
AT = f"{ROOT}.properties[spec].properties[a]"


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"type": "array", "items": TEXT}, f'{ROOT}.type: Invalid value: "array": must be "object" at the root'),
    (objects({"a": {}}), f"{AT}.type: Required value: must not be empty for specified object fields"),
    (objects({"a": {"type": "array"}}), f"{AT}.items: Required value: must be specified"),
    (objects({"a": {"type": "thing"}}), f'{AT}.type: Unsupported value: "thing": supported values: "array", "boolean"'),
    (
        objects({"a": {"type": "string", "pattern": "(?=x)"}}),
        f'{AT}.pattern: Invalid value: "(?=x)": must be a valid regular expression, but isn\'t',
    ),
    (
        objects({"a": {"type": "object", "properties": {"b": TEXT}, "additionalProperties": TEXT}}),
        f"{AT}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
    ),
    (
        objects({"a": {"type": "object", "additionalProperties": False}}),
        f"{AT}.additionalProperties: Forbidden: additionalProperties cannot be set to false",
    ),
    (objects({"a": {"type": "string", "$ref": "#/x"}}), f"{AT}.$ref: Forbidden"),
    (objects({"a": {"type": "array", "items": TEXT, "uniqueItems": True}}), f"{AT}.uniqueItems: Forbidden"),
    (
        objects({"a": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "map"}}),
        f"{AT}.x-kubernetes-list-map-keys: Required value",
    ),
    (objects({"a": {"type": "string", "x-kubernetes-int-or-string": True}}), f"{AT}.type: Invalid value"),
]


@pytest.mark.parametrize(("schema", "cause"), WRONG, ids=[cause[len(ROOT) :] for _, cause in WRONG])
def test_schemas_are_structural(schema: dict[str, Any], cause: str) -> None:
    said = refusal_of("CustomResourceDefinition", definition(version(schema)))
    assert said.code == 422
    assert [one for one in said.causes if one.startswith(cause)], said.causes


@pytest.mark.parametrize("levels", [100, 200, 20_000])
def test_towers_of_schemas_are_refused(levels: int) -> None:
    text = '{"type":"object","properties":{"a":' * levels + '{"type":"string"}' + "}}" * levels
    whole = json.dumps(definition(version({"type": "object"}))).replace('{"type": "object"}', text)
    form = FORMS["CustomResourceDefinition"]
    with Refusal() as said:
        form.admit_create(form.read(whole.encode(), Strictness.STRICT).draft, nobody)
    assert said.code in (400, 422)


def test_a_flood_of_schemas_is_refused() -> None:
    wide = {f"f{i}": TEXT for i in range(61_000)}
    said = refusal_of("CustomResourceDefinition", definition(version(objects(wide))))
    assert "at most 60000 parts" in said.message
