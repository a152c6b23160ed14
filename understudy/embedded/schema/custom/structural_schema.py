"""The schema of a custom resource: checked to be a structural schema, and turned into the tree that objects are
validated against.

A schema may say `x-understudy-type: PodSpec` where upstream definitions repeat thousands of lines. Unknown fields and
wrong types are then found at every depth; values are checked when the pods are created.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import UNSET, inspect

from understudy.embedded.schema import causes
from understudy.embedded.schema.causes import child, member
from understudy.embedded.schema.custom.patterns import BadPattern, Pattern, compiled
from understudy.embedded.schema.errors import Cause
from understudy.embedded.schema.types.apiextensions import JSONSchemaProps
from understudy.embedded.schema.types.batch import JobSpec
from understudy.embedded.schema.types.claims import PersistentVolumeClaimSpec
from understudy.embedded.schema.types.pods import PodSpec
from understudy.embedded.schema.types.values import is_deeper_than


class ValueLimits(msgspec.Struct, frozen=True, gc=False):
    """Limits of a value."""

    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False
    multiple_of: float | None = None
    min_size: int | None = None  # of a text, a list or a map
    max_size: int | None = None
    format: str = ""
    enum: tuple[Any, ...] | None = None
    pattern: str = ""


class SchemaNode(msgspec.Struct):
    """What one value may be. `kind` is '' if the schema gives no type."""

    kind: str = ""
    nullable: bool = False
    properties: dict[str, "SchemaNode"] = {}
    additional: "SchemaNode | None" = None
    items: "SchemaNode | None" = None
    required: tuple[str, ...] = ()
    preserve: bool = False  # unknown fields are kept
    embedded: bool = False  # an object of its own, with apiVersion, kind and metadata
    int_or_string: bool = False
    default: Any = UNSET
    default_size: int = 0
    list_type: str = ""
    list_keys: tuple[str, ...] = ()
    limits: ValueLimits | None = None
    all_of: "tuple[SchemaNode, ...]" = ()
    any_of: "tuple[SchemaNode, ...]" = ()
    one_of: "tuple[SchemaNode, ...]" = ()
    never: "SchemaNode | None" = None

    def names(self) -> list[str]:
        return list(self.properties)

    def below(self, name: str) -> "SchemaNode | None":
        return self.properties.get(name)

    def pattern(self) -> Pattern | None:
        return compiled(self.limits.pattern) if self.limits and self.limits.pattern else None


CORE_TYPES: dict[str, type[msgspec.Struct]] = {
    "JobSpec": JobSpec,
    "PersistentVolumeClaimSpec": PersistentVolumeClaimSpec,
    "PodSpec": PodSpec,
}


@lru_cache
def core_type(name: str) -> SchemaNode:
    """Cached: all kinds that name the type share one tree."""
    return _node(inspect.type_info(CORE_TYPES[name]))


def _node(kind: inspect.Type) -> SchemaNode:
    match kind:
        case inspect.Metadata(type=inner):
            return _node(inner)
        case inspect.StructType(fields=fields):
            below = {field.encode_name: _node(field.type) for field in fields}
            return SchemaNode("object", properties=below, required=tuple(f.encode_name for f in fields if f.required))
        case inspect.ListType(item_type=item, min_length=least):
            return SchemaNode("array", items=_node(item), limits=ValueLimits(min_size=least) if least else None)
        case inspect.DictType(value_type=item):
            return SchemaNode("object", additional=_node(item))
        case inspect.UnionType():
            return SchemaNode(int_or_string=True)
        case inspect.IntType():
            return SchemaNode("integer")
        case inspect.BoolType():
            return SchemaNode("boolean")
        case inspect.StrType() | inspect.LiteralType():
            return SchemaNode("string")
    return SchemaNode(preserve=True)  # a quantity, which may be a number too


JSON_TYPES = ("object", "array", "string", "integer", "number", "boolean")
MAX_DEPTH = 80
MAX_NODES = 60_000


def build_tree(schema: JSONSchemaProps) -> SchemaNode:
    """The tree of a schema that passed `schema_problems`."""
    if schema.core_type:
        return core_type(schema.core_type)
    size = schema.default is not UNSET and len(msgspec.json.encode(schema.default))
    return SchemaNode(
        kind=schema.type or "",
        nullable=schema.nullable is True,
        properties={name: build_tree(below) for name, below in (schema.properties or {}).items()},
        additional=build_tree(schema.additional_properties)
        if isinstance(schema.additional_properties, JSONSchemaProps)
        else SchemaNode(preserve=True)
        if schema.additional_properties is True
        else None,
        items=build_tree(schema.items) if schema.items else None,
        required=tuple(schema.required or ()),
        preserve=schema.preserve_unknown_fields is True,
        embedded=schema.embedded_resource is True,
        int_or_string=schema.int_or_string is True,
        default=schema.default,
        default_size=int(size),
        list_type=schema.list_type or "",
        list_keys=tuple(schema.list_map_keys or ()),
        limits=_limits(schema),
        all_of=tuple(map(build_tree, schema.all_of or ())),
        any_of=tuple(map(build_tree, schema.any_of or ())),
        one_of=tuple(map(build_tree, schema.one_of or ())),
        never=build_tree(schema.never) if schema.never else None,
    )


def _limits(schema: JSONSchemaProps) -> ValueLimits | None:
    sizes = {
        "array": (schema.min_items, schema.max_items),
        "object": (schema.min_properties, schema.max_properties),
    }.get(schema.type or "", (schema.min_length, schema.max_length))
    limits = ValueLimits(
        minimum=schema.minimum if schema.minimum is not UNSET else None,
        maximum=schema.maximum if schema.maximum is not UNSET else None,
        exclusive_minimum=schema.exclusive_minimum is True,
        exclusive_maximum=schema.exclusive_maximum is True,
        multiple_of=schema.multiple_of or None,
        min_size=sizes[0] or None,
        max_size=sizes[1] if sizes[1] is not UNSET else None,
        format=schema.format or "",
        enum=tuple(schema.enum) if schema.enum else None,
        pattern=schema.pattern or "",
    )
    return None if limits == _UNLIMITED else limits


_UNLIMITED = ValueLimits()


def schema_problems(schema: JSONSchemaProps, field: str) -> Iterator[Cause]:
    """Why a schema is not a structural schema, or uses what this server does not support."""
    if schema.type != "object":
        yield causes.bad_value(child(field, "type"), schema.type or "", 'must be "object" at the root')
    yield from _Review().level(schema, field, 0)


class _Review:
    """Walks through a schema and counts its nodes."""

    def __init__(self) -> None:
        self.nodes = 0

    def level(self, schema: JSONSchemaProps, field: str, depth: int, *, valued: bool = False) -> Iterator[Cause]:
        """`valued`: below anyOf and the like, where a schema restricts values and adds no structure."""
        self.nodes += 1
        if depth > MAX_DEPTH or self.nodes > MAX_NODES:
            yield causes.not_allowed(field, f"a schema has at most {MAX_NODES} parts and {MAX_DEPTH} levels")
            return
        yield from _unsupported(schema, field)
        yield from _values(schema, field)
        if not valued:
            yield from _structure(schema, field)
        for where, below, judged in _below(schema, field):
            yield from self.level(below, where, depth + 1, valued=valued or judged)
            if self.nodes > MAX_NODES:
                return


def _below(schema: JSONSchemaProps, field: str) -> Iterator[tuple[str, JSONSchemaProps, bool]]:
    for name, below in (schema.properties or {}).items():
        yield member(child(field, "properties"), name), below, False
    if isinstance(schema.additional_properties, JSONSchemaProps):
        yield child(field, "additionalProperties"), schema.additional_properties, False
    if schema.items:
        yield child(field, "items"), schema.items, False
    for name, listed in (("allOf", schema.all_of), ("anyOf", schema.any_of), ("oneOf", schema.one_of)):
        for i, below in enumerate(listed or ()):
            yield member(child(field, name), i), below, True
    if schema.never:
        yield child(field, "not"), schema.never, True


def _unsupported(schema: JSONSchemaProps, field: str) -> Iterator[Cause]:
    for name, given in (
        ("$ref", schema.ref),
        ("definitions", schema.definitions),
        ("dependencies", schema.dependencies),
        ("patternProperties", schema.pattern_properties),
        ("additionalItems", schema.additional_items),
    ):
        if given is not UNSET:
            yield causes.not_allowed(child(field, name), f"{name} is not supported")
    if schema.unique_items is True:
        yield causes.not_allowed(
            child(field, "uniqueItems"),
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        )
    if schema.additional_properties is False:
        yield causes.not_allowed(child(field, "additionalProperties"), "additionalProperties cannot be set to false")
    if schema.properties and schema.additional_properties is not UNSET:
        yield causes.not_allowed(
            child(field, "additionalProperties"), "additionalProperties and properties are mutual exclusive"
        )


def _values(schema: JSONSchemaProps, field: str) -> Iterator[Cause]:
    if schema.core_type and schema.core_type not in CORE_TYPES:
        yield causes.unsupported(child(field, "x-understudy-type"), schema.core_type, sorted(CORE_TYPES))
    if schema.type and schema.type not in JSON_TYPES:
        yield causes.unsupported(child(field, "type"), schema.type, sorted(JSON_TYPES))
    if schema.pattern:
        try:
            compiled(schema.pattern)
        except BadPattern as error:
            yield causes.bad_value(
                child(field, "pattern"), schema.pattern, f"must be a valid regular expression, but isn't: {error}"
            )
    for name, value in (("default", schema.default), ("example", schema.example), ("enum", schema.enum)):
        if is_deeper_than(value, MAX_DEPTH):
            yield causes.not_allowed(child(field, name), f"a value has at most {MAX_DEPTH} levels")
    if schema.list_type and schema.list_type not in ("atomic", "map", "set"):
        yield causes.unsupported(child(field, "x-kubernetes-list-type"), schema.list_type, ["atomic", "map", "set"])
    if schema.list_type == "map" and not schema.list_map_keys:
        yield causes.required(
            child(field, "x-kubernetes-list-map-keys"),
            "must not be empty if x-kubernetes-list-type is map",
        )


def _structure(schema: JSONSchemaProps, field: str) -> Iterator[Cause]:
    free = schema.int_or_string is True or schema.preserve_unknown_fields is True
    if not schema.type and not free:
        what = "array items" if field.endswith("items") else "object fields"
        yield causes.required(child(field, "type"), f"must not be empty for specified {what}")
    if schema.int_or_string is True and schema.type:
        yield causes.bad_value(child(field, "type"), schema.type, "must be empty if x-kubernetes-int-or-string is true")
    if schema.type == "array" and not schema.items:
        yield causes.required(child(field, "items"), "must be specified")


def has_rules(schema: JSONSchemaProps) -> bool:
    """Whether the schema contains CEL rules, which are stored but not evaluated."""
    return bool(schema.validations) or any(has_rules(below) for _, below, _ in _below(schema, ""))
