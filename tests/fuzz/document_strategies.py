"""Documents that follow the server's OpenAPI description, except in a few places."""

import copy
from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec
from hypothesis import strategies as st

from understudy.embedded.api.builtin_resources import BUILTIN
from understudy.embedded.schema import openapi
from understudy.objects.resources import Resource

Schema = Mapping[str, Any]

TEXTS = (
    "", "a", "one", "default", "Always", "Never", "OnFailure", "ClusterIP", "None", "True", "False", "Exists", "In",
    "NotIn", "Gt", "Lt", "DoesNotExist", "NoSchedule", "NoExecute", "TCP", "UDP", "Indexed", "Block", "Filesystem",
    "1", "0", "-1", "500m", "1Gi", "1e3", "1e999", "1e-999", "9" * 40, "0.0000000001", "1.5Gi", "50%", "101%", "-1%",
    "NaN", "Infinity", "0x10", "2026-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "0000-00-00T00:00:00Z",
    "2026-01-01T00:00:00.123456Z", "127.0.0.1", "::1", "999.1.1.1", "../..", "/", "/a/../b", "YQ==", "not base64!",
    "example.com/a", "A_B", "UPPER", "x" * 64, "x" * 300, "x" * 5000, "\u00e9", "\u0000", "\ud7ff", "\U0001f600",
    "$(A)", "$patch",
    "{", ".spec.size", "{.spec[*]}", "{.a[?(@.b==1)]}", "^(a+)+$", "[", "(?=a)", "a{1000}{1000}",
    "foregroundDeletion", "orphan",
)  # fmt: skip
NUMBERS = (0, 1, -1, 2, 80, 255, 65_535, 65_536, 2**31 - 1, 2**31, -(2**31) - 1, 2**53, 2**63 - 1, 2**63, 2**64, 10**30)
FRACTIONS = (0.0, -0.0, 0.5, 1.0, 1e-9, 1e18, 1e30, 1e308, -1e308, 5e-324)
KEYS = (
    "", "a", "name", "spec", "metadata", "status", "kind", "labels", "$patch", "$retainKeys",
    "$setElementOrder/containers",
    "$deleteFromPrimitiveList/finalizers", "example.com/a", "x" * 300, "\u0000", "f:a", "k:{}", "__proto__", "..",
)  # fmt: skip
DEEPEST = 4


def texts() -> st.SearchStrategy[str]:
    return st.sampled_from(TEXTS) | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def anything() -> st.SearchStrategy[Any]:
    leaves = st.none() | st.booleans() | st.sampled_from(NUMBERS) | st.sampled_from(FRACTIONS) | texts()
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | texts(), inner, max_size=3),
        max_leaves=6,
    )


@cache
def schema_of(resource: Resource) -> Schema:
    """Of the whole object; nothing is known of one that the server does not bring."""
    place = f"apis/{resource.api_version}" if resource.group else f"api/{resource.version}"
    return _schemas().get(place, {}).get(f"v1.{resource.kind}", {})


@cache
def _schemas() -> dict[str, dict[str, Schema]]:
    made = openapi.documents(BUILTIN)
    return {place: _resolved(msgspec.json.decode(text)["components"]["schemas"]) for place, text in made.items()}


def _resolved(schemas: dict[str, Any]) -> dict[str, Schema]:
    """With every reference replaced by what it refers to, which may refer back to where it is."""

    def resolve(schema: dict[str, Any]) -> dict[str, Any]:
        match schema:
            case {"$ref": str(name)} | {"allOf": [{"$ref": str(name)}]}:
                return schemas[name.rpartition("/")[2]]  # type: ignore[no-any-return]
            case _:
                return schema

    for schema in list(schemas.values()):
        _resolve_within(schema, resolve)
    return schemas


def _resolve_within(schema: dict[str, Any], resolve: Any) -> None:
    for name, below in schema.get("properties", {}).items():
        schema["properties"][name] = resolve(below)
        if schema["properties"][name] is below:
            _resolve_within(below, resolve)
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            below = schema[word]
            schema[word] = resolve(below)
            if schema[word] is below:
                _resolve_within(below, resolve)


@st.composite
def grown(draw: st.DrawFn, schema: Schema, depth: int = DEEPEST) -> Any:
    """A value as the schema describes it; one in ten is something else."""
    if depth <= 0 or not schema or draw(st.integers(0, 9)) == 0:
        return draw(anything())
    match schema:
        case {"enum": [_, *_] as values}:
            return draw(st.sampled_from(values))
        case {"oneOf": [_, *_] as ways} if "type" not in schema:
            return draw(grown(draw(st.sampled_from(ways)), depth))
        case {"properties": dict(properties)} if properties:
            chosen = draw(st.lists(st.sampled_from(sorted(properties)), max_size=4))
            required = [name for name in properties if name in schema.get("required", ())]
            return {name: draw(grown(properties[name], depth - 1)) for name in sorted({*chosen, *required})}
        case {"additionalProperties": dict(below)}:
            names = draw(st.lists(st.sampled_from(KEYS) | texts(), max_size=3, unique=True))
            return {name: draw(grown(below, depth - 1)) for name in names}
        case {"items": dict(below)}:
            return [draw(grown(below, depth - 1)) for _ in range(draw(st.integers(0, 3)))]
        case {"type": "integer" | "number"}:
            return draw(st.sampled_from(NUMBERS) | st.sampled_from(FRACTIONS))
        case {"type": "boolean"}:
            return draw(st.booleans())
        case _:
            return draw(texts())


@st.composite
def bent(draw: st.DrawFn, document: Any, schema: Schema) -> Any:
    """A copy of the document with up to three of its parts replaced, removed or added."""
    document = copy.deepcopy(document)
    for _ in range(draw(st.integers(0, 3))):
        _bend(draw, document, schema)
    return document


def _bend(draw: st.DrawFn, holder: Any, schema: Schema) -> None:
    """Goes down into the document, or into what its schema has room for, and changes what it comes to."""
    for depth in range(12):
        match holder:
            case dict():
                key: Any = draw(st.sampled_from(_worthwhile(holder, schema, depth)))
                below = schema.get("properties", {}).get(key) or schema.get("additionalProperties") or {}
            case list():
                if not holder:
                    holder.append(draw(grown(schema.get("items", {}), 2)))
                    return
                key = draw(st.integers(0, len(holder) - 1))
                below = schema.get("items", {})
            case _:
                return
        inside = holder.get(key) if isinstance(holder, dict) else holder[key]
        if not isinstance(inside, dict | list) or (depth and draw(st.integers(0, 3)) == 0):
            _change(draw, holder, key, below if isinstance(below, dict) else {})
            return
        holder, schema = inside, below if isinstance(below, dict) else {}


def _worthwhile(holder: dict[str, Any], schema: Schema, depth: int) -> list[str]:
    """The way into the object from its top; further down all that is there or might be."""
    if depth == 0 and (inner := [key for key, value in holder.items() if isinstance(value, dict | list) and value]):
        return [*inner, *inner, *inner, *holder]
    return sorted({*holder, *schema.get("properties", ())}) or ["a"]


def _change(draw: st.DrawFn, holder: Any, key: Any, schema: Schema) -> None:
    match draw(st.sampled_from(["grow", "grow", "grow", "replace", "remove", "add"])):
        case "grow":
            holder[key] = draw(grown(schema))
        case "replace":
            holder[key] = draw(anything())
        case "remove":
            if isinstance(holder, list):
                del holder[key]
            else:
                holder.pop(key, None)
        case _ if isinstance(holder, list):
            holder.append(draw(grown(schema, 2)))
        case _:
            holder[draw(st.sampled_from(KEYS) | texts())] = draw(anything())
