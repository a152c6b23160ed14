"""Turns the served resources into OpenAPI v3 documents, one for every group and version. kubectl explains fields with
them, and learns that unknown fields are refused."""

import hashlib
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import inspect

from understudy.embedded.schema.custom.custom_form import CustomForm
from understudy.embedded.schema.custom.structural_schema import CORE_TYPES
from understudy.embedded.schema.decoding_errors import without_metadata
from understudy.embedded.schema.field_descriptions import COMMON_FIELDS, FIELD_DESCRIPTIONS
from understudy.embedded.schema.served_resource import ServedResource
from understudy.embedded.schema.typed_form import TypedForm
from understudy.embedded.schema.types.meta import ObjectMeta
from understudy.embedded.schema.types.values import TIME
from understudy.objects.resources import Resource

Document = dict[str, Any]
_PATCH_FORMS = ("application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml")
_STRATEGIC = "application/strategic-merge-patch+json"  # for typed kinds only: kubectl reads here which patch to send
_WRITING = (
    ("dryRun", "string", "`All`: nothing is stored, everything else is done."),
    ("fieldManager", "string", "Who makes the change."),
    ("fieldValidation", "string", "What to do about unknown fields: `Ignore`, `Warn` or `Strict`."),
)
_READING = (
    ("labelSelector", "string", "Only objects whose labels match."),
    ("fieldSelector", "string", "Only objects whose fields match."),
    ("limit", "integer", "How many at most; the rest is fetched with `continue`."),
    ("continue", "string", "Where the last page ended."),
    ("resourceVersion", "string", "From which state on."),
    ("timeoutSeconds", "integer", "How long a watch lasts."),
    ("watch", "boolean", "Follow the changes instead of listing."),
)


Schema = dict[str, Any]


def reference(name: str) -> str:
    return f"#/components/schemas/{name}"


class Components:
    """The component schemas of one document, one a struct."""

    def __init__(self) -> None:
        self.schemas: dict[str, Schema] = {}

    def add(self, struct: type[msgspec.Struct]) -> str:
        """Adds the schema of a struct and of all structs it refers to. Returns its name."""
        return self._struct(inspect.type_info(struct))

    def of(self, kind: inspect.Type) -> Schema:
        match kind:
            case inspect.Metadata(type=inner, extra=extra):
                return self.of(inner) | _merging(extra or {})
            case inspect.StructType():
                return {"$ref": reference(self._struct(kind))}
            case inspect.ListType(item_type=item):
                return {"type": "array", "items": self.of(item)}
            case inspect.DictType(value_type=item):
                return {"type": "object", "additionalProperties": self.of(item)}
            case inspect.UnionType(types=types):
                return {"oneOf": [self.of(one) for one in types]}
            case inspect.CustomType():
                return {"$ref": reference(self._quantity())}
            case inspect.LiteralType(values=values):
                return {"type": "string", "enum": list(values)}
        return _scalar(kind)

    def _struct(self, kind: inspect.Type) -> str:
        assert isinstance(kind, inspect.StructType)
        name = f"v1.{kind.cls.__name__}"
        if name in self.schemas:
            return name
        words = FIELD_DESCRIPTIONS.get(kind.cls.__name__, {})
        schema = self.schemas[name] = {"type": "object", "description": kind.cls.__doc__ or ""}
        schema["properties"] = {
            field.encode_name: self._described(
                field.type, words.get(field.encode_name, COMMON_FIELDS.get(field.encode_name, ""))
            )
            for field in kind.fields
        }
        required = [field.encode_name for field in kind.fields if field.required]
        if required:
            schema["required"] = required
        return name

    def _described(self, kind: inspect.Type, words: str) -> Schema:
        """OpenAPI ignores everything beside a $ref, so a reference with a description is wrapped in allOf."""
        schema = self.of(kind)
        inner = without_metadata(kind)
        if "$ref" in schema:
            words = words or (inner.cls.__doc__ or "" if isinstance(inner, inspect.StructType) else "")
            return {"allOf": [schema], "description": words}
        return {"description": words} | schema

    def _quantity(self) -> str:
        self.schemas["v1.Quantity"] = {
            "type": "string",
            "description": "An amount: 4, 500m (thousandths), 1.5, 16Gi (powers of 1024), 2G (powers of 1000), 1e3.",
        }
        return "v1.Quantity"


def _merging(extra: dict[str, Any]) -> Schema:
    keys = extra.get("keys")
    if keys is None:
        return {}
    if not keys:
        return {"x-kubernetes-list-type": "set", "x-kubernetes-patch-strategy": "merge"}
    return {
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": list(keys),
        "x-kubernetes-patch-merge-key": keys[0],
        "x-kubernetes-patch-strategy": "merge",
    }


def _scalar(kind: inspect.Type) -> Schema:
    match kind:
        case inspect.IntType(ge=low, le=high):
            wide = high is None or high > 2**31
            bounds = {"minimum": low} if low is not None and low >= 0 else {}
            return {"type": "integer", "format": "int64" if wide else "int32"} | bounds
        case inspect.FloatType():
            return {"type": "number", "format": "double"}
        case inspect.BoolType():
            return {"type": "boolean"}
        case inspect.BytesType():
            return {"type": "string", "format": "byte"}
        case inspect.StrType(pattern=pattern):
            return {"type": "string", "format": "date-time"} if pattern == TIME else {"type": "string"}
    return {}


def documents(served: Iterable[ServedResource]) -> dict[str, bytes]:
    """The documents by their path below /openapi/v3: `api/v1`, `apis/batch/v1`."""
    by_place: dict[str, list[tuple[ServedResource, Resource]]] = {}
    for one in served:
        for version in (one.resource.version, *one.other_versions):
            resource = msgspec.structs.replace(one.resource, version=version)
            by_place.setdefault(_place(resource), []).append((one, resource))
    return {place: msgspec.json.encode(_document(rows)) for place, rows in sorted(by_place.items())}


def index(made: dict[str, bytes]) -> bytes:
    """/openapi/v3 itself. Clients keep documents by their hash."""
    paths = {
        place: {"serverRelativeURL": f"/openapi/v3/{place}?hash={hashlib.sha256(text).hexdigest()[:32].upper()}"}
        for place, text in made.items()
    }
    return msgspec.json.encode({"paths": paths})


def _place(resource: Resource) -> str:
    return f"apis/{resource.api_version}" if resource.group else f"api/{resource.version}"


def _document(rows: list[tuple[ServedResource, Resource]]) -> Document:
    components = Components()
    paths: Document = {}
    for served, resource in rows:
        name = _component(served, resource, components)
        components.schemas[f"{name}List"] = _list_of(resource, name, components)
        paths |= _paths(served, resource, name)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Understudy", "version": "v1"},
        "paths": paths,
        "components": {"schemas": components.schemas},
    }


def _component(served: ServedResource, resource: Resource, components: Components) -> str:
    form = served.form
    match form:
        case CustomForm():
            schema = _referring(form.schema(resource.version), components)
            about = components.of(inspect.type_info(ObjectMeta))
            schema["properties"] = {**_HEAD, "metadata": about, **schema.get("properties", {})}
            name = f"{resource.version}.{resource.kind}"
            components.schemas[name] = schema
        case TypedForm():
            name = components.add(form.struct)
        case _:
            raise TypeError(f"no schema is known for {resource.key}")
    components.schemas[name]["x-kubernetes-group-version-kind"] = [_gvk(resource)]
    return name


def _referring(schema: Any, components: Components) -> Any:
    """Replaces `x-understudy-type` by a reference to that type of Kubernetes."""
    match schema:
        case {"x-understudy-type": str(name)} if name in CORE_TYPES:
            about = {"description": schema.get("description", "")}
            return {"allOf": [{"$ref": reference(components.add(CORE_TYPES[name]))}], **about}
        case dict():
            return {key: _referring(inner, components) for key, inner in schema.items()}
        case list():
            return [_referring(inner, components) for inner in schema]
    return schema


_HEAD: Document = {name: {"type": "string", "description": COMMON_FIELDS[name]} for name in ("apiVersion", "kind")}


def _gvk(resource: Resource, suffix: str = "") -> Document:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind + suffix}


def _list_of(resource: Resource, name: str, components: Components) -> Document:
    about = {"type": "object", "properties": {"resourceVersion": {"type": "string"}, "continue": {"type": "string"}}}
    components.schemas["v1.ListMeta"] = about
    return {
        "type": "object",
        "description": f"Objects of kind {resource.kind}.",
        "required": ["items"],
        "properties": {
            **_HEAD,
            "metadata": {"$ref": reference("v1.ListMeta")},
            "items": {"type": "array", "items": {"$ref": reference(name)}},
        },
        "x-kubernetes-group-version-kind": [_gvk(resource, "List")],
    }


def _paths(served: ServedResource, resource: Resource, name: str) -> Document:
    namespace = "{namespace}" if resource.namespaced else ""
    all_of_them, one = resource.path(namespace), resource.path(namespace, "{name}")
    listing = _operation("list", resource, f"{name}List", _READING)
    found = {
        all_of_them: {"get": listing, "post": _operation("post", resource, name, _WRITING)},
        one: _item(served, resource, name)
        | {
            "delete": _operation(
                "delete", resource, name, (("gracePeriodSeconds", "integer", "How long it may take."),)
            )
        },
    }
    if resource.namespaced:
        found[resource.path()] = {"get": listing}
    if "status" in served.subresources:
        found[resource.path(namespace, "{name}", "status")] = _item(served, resource, name)
    for path, operations in found.items():
        operations["parameters"] = [_path_parameter(part) for part in ("namespace", "name") if f"{{{part}}}" in path]
    return found


def _item(served: ServedResource, resource: Resource, name: str) -> Document:
    patch = _operation("patch", resource, name, (*_WRITING, ("force", "boolean", "Take fields from others.")))
    forms = (*_PATCH_FORMS, _STRATEGIC) if isinstance(served.form, TypedForm) else _PATCH_FORMS
    patch["requestBody"] = {"required": True, "content": {form: {"schema": {"type": "object"}} for form in forms}}
    return {
        "get": _operation("get", resource, name, ()),
        "put": _operation("put", resource, name, _WRITING),
        "patch": patch,
    }


def _operation(action: str, resource: Resource, name: str, parameters: Iterable[tuple[str, str, str]]) -> Document:
    content = {"application/json": {"schema": {"$ref": reference(name)}}}
    code = "201" if action == "post" else "200"
    operation: Document = {
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": _gvk(resource),
        "parameters": [
            {"name": given, "in": "query", "description": words, "schema": {"type": kind}}
            for given, kind, words in parameters
        ],
        "responses": {code: {"description": "OK", "content": content}, "401": {"description": "Unauthorized"}},
    }
    if action in ("post", "put"):
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _path_parameter(name: str) -> Document:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
