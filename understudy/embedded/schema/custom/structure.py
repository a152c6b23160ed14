"""The schema of a custom resource, as its definition gives it, into a tree that objects are held against."""

from collections.abc import Iterator

import msgspec
from msgspec import UNSET

from understudy.embedded.api.errors import Cause
from understudy.embedded.schema import causes
from understudy.embedded.schema.causes import child, member
from understudy.embedded.schema.custom.core_types import CORE_TYPES, core_type
from understudy.embedded.schema.custom.patterns import compiled
from understudy.embedded.schema.custom.regexes import BadPattern
from understudy.embedded.schema.custom.tree import Limits, Node
from understudy.embedded.schema.definitions import JSONSchemaProps
from understudy.embedded.schema.nesting import deeper

KINDS = ("object", "array", "string", "integer", "number", "boolean")
MAX_DEPTH = 80
MAX_NODES = 60_000


def build(schema: JSONSchemaProps) -> Node:
    """The tree of a schema that `problems` has nothing to say about."""
    if schema.core_type:
        return core_type(schema.core_type)
    size = schema.default is not UNSET and len(msgspec.json.encode(schema.default))
    return Node(
        kind=schema.type or "",
        nullable=schema.nullable is True,
        properties={name: build(below) for name, below in (schema.properties or {}).items()},
        additional=build(schema.additional_properties)
        if isinstance(schema.additional_properties, JSONSchemaProps)
        else Node(preserve=True)
        if schema.additional_properties is True
        else None,
        items=build(schema.items) if schema.items else None,
        required=tuple(schema.required or ()),
        preserve=schema.preserve_unknown_fields is True,
        embedded=schema.embedded_resource is True,
        int_or_string=schema.int_or_string is True,
        default=schema.default,
        default_size=int(size),
        list_type=schema.list_type or "",
        list_keys=tuple(schema.list_map_keys or ()),
        limits=_limits(schema),
        all_of=tuple(map(build, schema.all_of or ())),
        any_of=tuple(map(build, schema.any_of or ())),
        one_of=tuple(map(build, schema.one_of or ())),
        never=build(schema.never) if schema.never else None,
    )


def _limits(schema: JSONSchemaProps) -> Limits | None:
    sizes = {
        "array": (schema.min_items, schema.max_items),
        "object": (schema.min_properties, schema.max_properties),
    }.get(schema.type or "", (schema.min_length, schema.max_length))
    limits = Limits(
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


_UNLIMITED = Limits()


def problems(schema: JSONSchemaProps, field: str) -> Iterator[Cause]:
    """Why a schema is no structural schema, as Kubernetes asks for, or none that can be held to here."""
    if schema.type != "object":
        yield causes.bad_value(child(field, "type"), schema.type or "", 'must be "object" at the root')
    yield from _Review().level(schema, field, 0)


class _Review:
    """Goes through a schema once, counting."""

    def __init__(self) -> None:
        self.nodes = 0

    def level(self, schema: JSONSchemaProps, field: str, depth: int, *, valued: bool = False) -> Iterator[Cause]:
        """`valued`: below anyOf and the like, where only values are judged and no structure is given."""
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
    if schema.type and schema.type not in KINDS:
        yield causes.unsupported(child(field, "type"), schema.type, sorted(KINDS))
    if schema.pattern:
        try:
            compiled(schema.pattern)
        except BadPattern as error:
            yield causes.bad_value(
                child(field, "pattern"), schema.pattern, f"must be a valid regular expression, but isn't: {error}"
            )
    for name, value in (("default", schema.default), ("example", schema.example), ("enum", schema.enum)):
        if deeper(value, MAX_DEPTH):
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
    """Whether CEL rules stand anywhere in it, which are kept but not evaluated."""
    return bool(schema.validations) or any(has_rules(below) for _, below, _ in _below(schema, ""))
