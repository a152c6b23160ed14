"""Definitions of custom kinds with random schemas, and objects that follow them more or less."""

from typing import Any

import msgspec
from hypothesis import strategies as st

from tests.fuzz.document_strategies import FRACTIONS, NUMBERS, anything, bent, grown, schema_of, texts
from tests.fuzz.seed_objects import Document, Seed, definition
from understudy.objects.resources import DEFINITIONS, Resource

KINDS = ("object", "array", "string", "integer", "number", "boolean")
LIMITS = {
    "string": ("minLength", "maxLength", "pattern", "format", "enum"),
    "integer": ("minimum", "maximum", "exclusiveMinimum", "multipleOf", "format", "enum"),
    "number": ("minimum", "maximum", "exclusiveMaximum", "multipleOf", "enum"),
    "array": ("minItems", "maxItems", "uniqueItems", "x-kubernetes-list-type", "x-kubernetes-list-map-keys"),
    "object": (
        "minProperties",
        "maxProperties",
        "required",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-map-type",
    ),
    "boolean": ("nullable", "default"),
}
SAMPLES: dict[str, tuple[Any, ...]] = {
    "string": ("", "a"),
    "integer": (0, 1),
    "number": (0, 0.5),
    "array": ([], [{}]),
    "object": ({}, {"a": {}}),
    "boolean": (True,),
}
PATTERNS = (
    "^[a-z]+$",
    "(a|b)*c",
    "^(a+)+$",
    "(x{1,100}){1,100}",
    "[",
    "(?=a)",
    "\\p{L}",
    "a|",
    "[^]",
    "(?i)A",
    "\\Qa",
    "$^",
    "",
)
FIELDS = ("a", "b", "size", "items", "metadata", "kind", "", "x" * 70)


class Definition(msgspec.Struct, frozen=True):
    """A kind, and objects of it."""

    document: Document
    objects: tuple[Any, ...]
    patch: Any


@st.composite
def definitions(draw: st.DrawFn, resource: Resource) -> Definition:
    schema: Document = {"type": "object", "properties": {"spec": draw(schemas()), "status": draw(schemas(2))}}
    document = Seed(DEFINITIONS, definition(resource)).document(resource.key)
    version = document["spec"]["versions"][0]
    version["schema"]["openAPIV3Schema"] = schema
    version["additionalPrinterColumns"] = draw(st.lists(columns(), max_size=2))
    if draw(st.integers(0, 2)) == 0:
        document = draw(bent(document, schema_of(DEFINITIONS)))
    specs = [draw(grown(schema["properties"]["spec"])) for _ in range(2)]
    objects = tuple(Seed(resource, {"spec": spec}).document(f"thing-{place}") for place, spec in enumerate(specs))
    return Definition(document, objects, {"spec": draw(grown(schema["properties"]["spec"]))})


@st.composite
def columns(draw: st.DrawFn) -> Document:
    path = draw(
        texts() | st.sampled_from([".spec", ".spec.a", ".spec.a[0]", ".spec['b']", ".spec..a", "{.spec.a}", ".a[*]"])
    )
    return {"name": draw(texts()), "type": draw(st.sampled_from([*KINDS, "date"])), "jsonPath": path}


@st.composite
def schemas(draw: st.DrawFn, depth: int = 4) -> Document:
    kind = draw(st.sampled_from(KINDS if depth > 0 else KINDS[2:]))
    schema: Document = {"type": kind}
    if kind == "object":
        names = draw(st.lists(st.sampled_from(FIELDS), max_size=3, unique=True))
        schema["properties"] = {name: draw(schemas(depth - 1)) for name in names}
        if draw(st.integers(0, 5)) == 0:
            schema["additionalProperties"] = draw(schemas(depth - 1))
            schema.pop("properties")
    elif kind == "array":
        schema["items"] = draw(schemas(depth - 1))
    for word in draw(
        st.lists(st.sampled_from((*LIMITS[kind], "default", "nullable", "oneOf", "not", "description")), max_size=2)
    ):
        schema[word] = draw(_limit(word, kind))
    return schema


def _limit(word: str, kind: str) -> st.SearchStrategy[Any]:
    """Mostly of the right type, seldom sensible."""
    match word:
        case "pattern":
            return st.sampled_from(PATTERNS)
        case "format":
            return st.sampled_from(["date-time", "int32", "int64", "byte", "x", ""])
        case "enum" | "required" | "x-kubernetes-list-map-keys":
            return st.lists(st.sampled_from(FIELDS) | anything(), max_size=3)
        case "oneOf":
            return st.lists(
                st.sampled_from([{"minimum": 1}, {"required": ["a"]}, {"pattern": "^a"}, {"type": kind}]), max_size=2
            )
        case "not":
            return st.sampled_from([{"enum": ["a"]}, {"required": ["a"]}, {}])
        case "x-kubernetes-list-type":
            return st.sampled_from(["set", "map", "atomic", "x"])
        case "x-kubernetes-map-type":
            return st.sampled_from(["granular", "atomic", "x"])
        case (
            "uniqueItems"
            | "nullable"
            | "exclusiveMinimum"
            | "exclusiveMaximum"
            | "x-kubernetes-preserve-unknown-fields"
        ):
            return st.booleans()
        case "default":
            return st.sampled_from(SAMPLES[kind]) | anything()
        case "description":
            return texts()
        case str() if word.startswith(("min", "max")) and word not in ("minimum", "maximum"):
            return st.sampled_from([0, 1, 2, 3, 3, 5, 100, -1, 2**31, 2**70])
        case _:
            return st.sampled_from(NUMBERS) | st.sampled_from(FRACTIONS)
