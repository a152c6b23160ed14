"""Definitions of custom resources for tests, and the forms they bring."""

from collections.abc import Mapping
from typing import Any

from tests.embedded.schema.forms import draft_of
from understudy.embedded.schema.custom.definitions import served_by
from understudy.embedded.schema.served_resource import ServedResource
from understudy.embedded.schema.types.apiextensions import CustomResourceDefinition

Schema = dict[str, Any]


def version(schema: Mapping[str, Any], name: str = "v1", **given: Any) -> dict[str, Any]:
    whole = {"openAPIV3Schema": schema}
    return {"name": name, "served": True, "storage": True, "schema": whole, "subresources": {"status": {}}, **given}


def definition(*versions: dict[str, Any], **spec: Any) -> dict[str, Any]:
    names = {"plural": "trials", "kind": "Trial", "shortNames": ["tr"]}
    given = {"group": "example.com", "names": names, "scope": "Namespaced", "versions": list(versions), **spec}
    return {"metadata": {"name": "trials.example.com"}, "spec": given}


def objects(spec: Mapping[str, Any], **more: Any) -> Schema:
    """The schema of a kind whose spec has these properties."""
    inner = {"type": "object", "properties": dict(spec), **more}
    status = {"type": "object", "properties": {"phase": {"type": "string"}}}
    return {"type": "object", "properties": {"spec": inner, "status": status}}


def served(given: Mapping[str, Any]) -> ServedResource:
    draft = draft_of("CustomResourceDefinition", given)
    assert isinstance(draft, CustomResourceDefinition)
    (row,) = served_by(draft)
    return row


def form(spec: Mapping[str, Any], **more: Any) -> Any:
    return served(definition(version(objects(spec, **more)))).form


def trial(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "t"}, "spec": spec}


TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
POD_TEMPLATE: Schema = {
    "type": "object",
    "properties": {
        "metadata": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "spec": {
            "type": "object",
            "properties": {
                "containers": {"type": "array", "items": {"type": "object", "properties": {"name": TEXT}}},
                "nodeSelector": {"type": "object", "additionalProperties": TEXT},
            },
        },
    },
}
