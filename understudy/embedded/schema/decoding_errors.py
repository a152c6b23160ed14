"""A document against the struct it should be: the same without nulls and unknown fields, and
all that is wrong with it.

Slow and thorough; used only where decoding straight into the struct failed."""

import base64
import binascii
import difflib
import re
from collections.abc import Collection
from functools import lru_cache
from typing import Any, Protocol

import msgspec
from msgspec import inspect

from understudy.embedded.schema import causes
from understudy.embedded.schema.causes import child, member
from understudy.embedded.schema.errors import Cause
from understudy.embedded.schema.types.values import Quantity, canonical

_PLACES = ("template.spec", "spec.template.spec", "spec", "template", "metadata")


class FieldNames(Protocol):
    """The fields of one object, and those below them."""

    def names(self) -> Collection[str]: ...

    def below(self, name: str) -> "FieldNames | None": ...


def suggest_field(fields: FieldNames, name: str) -> str:
    """The path of the field that was probably meant, from the object with the unknown field; '' without a guess."""
    if name == "spec" and _at(fields, "template.spec"):
        return "template.spec"
    for place in _PLACES:
        there = _at(fields, place)
        if there is not None and name in there.names():
            return f"{place}.{name}"
    return _alike(fields.names(), name)


def _at(fields: FieldNames, place: str) -> FieldNames | None:
    found: FieldNames | None = fields
    for step in place.split("."):
        found = found.below(step) if found is not None else None
    return found


def _alike(names: Collection[str], name: str) -> str:
    same = [known for known in names if known.lower() == name.lower()]
    close = same or difflib.get_close_matches(name[:64], names, n=1, cutoff=0.8)
    return close[0] if close else ""


_JSON_KINDS = {str: "string", bool: "bool", int: "number", float: "number", dict: "object", list: "array"}
_OMITTED = object()
_MOST_GUESSED = 10


class UnknownField(msgspec.Struct, frozen=True):
    """A field that the kind does not have. `meant` is the path of the field that was probably meant, or ''."""

    path: str
    meant: str = ""

    def __str__(self) -> str:
        return f'unknown field "{self.path}"'


def note_unknown(noted: list[UnknownField], fields: FieldNames, name: str, path: str) -> None:
    """Guessing takes time, so only the first few are guessed at."""
    if len(noted) < causes.MAX_CAUSES:
        guess = suggest_field(fields, name) if len(noted) < _MOST_GUESSED else ""
        noted.append(UnknownField(child(path, name), child(path, guess) if guess else ""))


class Diagnosis(msgspec.Struct):
    """`cleaned` can be converted to the struct if nothing is ill-typed or wrong."""

    cleaned: Any = None
    unknown: list[UnknownField] = []
    ill_typed: list[str] = []
    wrong: list[Cause] = []


def diagnose(struct: type[msgspec.Struct], document: Any) -> Diagnosis:
    found = Diagnosis()
    found.cleaned = _Walk(found).value(type_of(struct), document, "", struct.__name__)
    return found


@lru_cache(maxsize=256)
def type_of(struct: type[msgspec.Struct]) -> inspect.Type:
    return inspect.type_info(struct)


class Fields:
    """The fields of a struct, by the names they have in JSON."""

    def __init__(self, struct: inspect.StructType) -> None:
        self.by_name = {field.encode_name: field for field in struct.fields}

    def names(self) -> list[str]:
        return list(self.by_name)

    def below(self, name: str) -> FieldNames | None:
        field = self.by_name.get(name)
        inner = without_metadata(field.type) if field else None
        return fields_of(inner) if isinstance(inner, inspect.StructType) else None


_known: dict[type, Fields] = {}


def fields_of(struct: inspect.StructType) -> Fields:
    found = _known.get(struct.cls)
    if found is None:
        found = _known[struct.cls] = Fields(struct)
    return found


def without_metadata(kind: inspect.Type) -> inspect.Type:
    """The type without its msgspec.Meta."""
    return without_metadata(kind.type) if isinstance(kind, inspect.Metadata) else kind


class _Walk:
    """Goes through a document and its type side by side. `owner` is the struct whose field a value is."""

    def __init__(self, found: Diagnosis) -> None:
        self.found = found

    def value(self, kind: inspect.Type, value: Any, path: str, owner: str) -> Any:
        match without_metadata(kind):
            case inspect.StructType() as struct:
                return self.struct(struct, value, path, owner)
            case inspect.ListType() as listed:
                return self.list(listed, value, path, owner)
            case inspect.DictType() as mapped:
                return self.dict(mapped, value, path, owner)
            case inspect.UnionType(types=types):
                return self.union(types, value, path, owner)
            case inspect.CustomType(cls=cls) if cls is Quantity:
                return self.quantity(value, path)
            case inspect.LiteralType(values=values):
                return self.choice(values, value, path, owner)
            case inspect.AnyType():
                return value
            case scalar:
                return self.scalar(scalar, value, path, owner)

    def struct(self, struct: inspect.StructType, value: Any, path: str, owner: str) -> Any:
        if not isinstance(value, dict):
            return self.ill_typed(struct, value, path, owner)
        fields = fields_of(struct)
        cleaned = {}
        for name, item in value.items():
            field = fields.by_name.get(name)
            if field is None:
                note_unknown(self.found.unknown, fields, name, path)
            elif item is not None:
                kept = self.value(field.type, item, child(path, name), struct.cls.__name__)
                if kept is not _OMITTED:
                    cleaned[name] = kept
        self.found.wrong += [
            cause
            for name, field in fields.by_name.items()
            if field.required and name not in cleaned and value.get(name) in (None, "")
            for cause in _missing(field.type, child(path, name))
        ]
        return cleaned

    def list(self, kind: inspect.ListType, value: Any, path: str, owner: str) -> Any:
        if not isinstance(value, list):
            return self.ill_typed(kind, value, path, owner)
        if kind.min_length and not value:
            self.found.wrong.append(causes.required(path))
        free = isinstance(kind.item_type, inspect.AnyType)  # where a null is a value
        items = [
            self.value(kind.item_type, item, member(path, i), owner)
            for i, item in enumerate(value)
            if item is not None or free
        ]
        return [item for item in items if item is not _OMITTED]

    def dict(self, kind: inspect.DictType, value: Any, path: str, owner: str) -> Any:
        if not isinstance(value, dict):
            return self.ill_typed(kind, value, path, owner)
        free = isinstance(kind.value_type, inspect.AnyType)
        return {
            key: self.value(kind.value_type, item, member(path, key), owner)
            for key, item in value.items()
            if item is not None or free
        }

    def union(self, types: tuple[inspect.Type, ...], value: Any, path: str, owner: str) -> Any:
        """The first of the types that the value could be, by its JSON type alone."""
        fitting = [kind for kind in types if isinstance(value, _python_type(kind)) and not _bool_as_int(kind, value)]
        if not fitting:
            return self.ill_typed(types[0], value, path, owner)
        return self.value(fitting[0], value, path, owner)

    def quantity(self, value: Any, path: str) -> Any:
        try:
            return canonical(value)
        except (ValueError, TypeError) as error:
            self.found.wrong.append(causes.bad_value(path, value, str(error)))
            return value

    def choice(self, values: tuple[object, ...], value: Any, path: str, owner: str) -> Any:
        if not isinstance(value, str):
            return self.ill_typed(inspect.StrType(), value, path, owner)
        if value == "" and "" not in values:
            return _OMITTED  # Kubernetes treats an empty enum value as absent, and applies the default
        if value not in values:
            self.found.wrong.append(causes.unsupported(path, value, values))
        return value

    def scalar(self, kind: inspect.Type, value: Any, path: str, owner: str) -> Any:
        match kind:
            case inspect.IntType() if isinstance(value, float) and value.is_integer():
                return self.number(kind, int(value), path, owner)
            case inspect.IntType() if isinstance(value, int) and not isinstance(value, bool):
                return self.number(kind, value, path, owner)
            case inspect.FloatType() if isinstance(value, int | float) and not isinstance(value, bool):
                return value
            case inspect.BoolType() if isinstance(value, bool):
                return value
            case inspect.BytesType() if isinstance(value, str):
                return self.base64(value, path)
            case inspect.StrType() if isinstance(value, str):
                return self.text(kind, value, path)
        return self.ill_typed(kind, value, path, owner)

    def number(self, kind: inspect.IntType, value: int, path: str, owner: str) -> int:
        low, high = kind.ge, kind.le
        if abs(value) > 2**63 or (kind.le == 2**31 - 1 and abs(value) > 2**31):
            self.ill_typed(kind, value, path, owner)
        elif (low is not None and value < low) or (high is not None and value > high):
            self.found.wrong.append(causes.bad_value(path, value, _bounds(low, high)))
        return value

    def text(self, kind: inspect.StrType, value: str, path: str) -> str:
        if kind.min_length and not value:
            self.found.wrong.append(causes.required(path))
        elif kind.pattern is not None and not re.search(kind.pattern, value):
            layout = "2006-01-02T15:04:05Z07:00"
            self.found.ill_typed.append(f'{path}: parsing time {causes.shown(value)} as "{layout}": cannot parse it')
        return value

    def base64(self, value: str, path: str) -> str:
        """Go's decoder skips line breaks, and `base64` wraps its lines."""
        text = value.replace("\r", "").replace("\n", "")
        try:
            base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError) as error:
            self.found.ill_typed.append(f"{path}: illegal base64 data: {error}")
        return text

    def ill_typed(self, kind: inspect.Type, value: Any, path: str, owner: str) -> Any:
        given = _JSON_KINDS.get(type(value), "null")
        if given == "number":
            given = f"number {causes.shown(value)}" if isinstance(kind, inspect.IntType) else given
        self.found.ill_typed.append(
            f"json: cannot unmarshal {given} into Go struct field {owner}.{path} of type {_go_type(kind)}"
        )
        return value


def _missing(kind: inspect.Type, path: str) -> list[Cause]:
    """The required fields of a missing object."""
    inner = without_metadata(kind)
    if isinstance(inner, inspect.StructType):
        below = [
            cause
            for field in inner.fields
            if field.required
            for cause in _missing(field.type, child(path, field.encode_name))
        ]
        if below:
            return below
    return [causes.required(path)]


def _bounds(low: int | None, high: int | None) -> str:
    match low, high:
        case 0, 0o777:
            return "must be a number between 0 and 0777 (octal), both inclusive"
        case 1, 65535:
            return "must be between 1 and 65535, inclusive"
        case 1, 100:
            return "must be in the range 1-100"
        case 1, _:
            return "must be greater than 0"
    return f"must be greater than or equal to {low}"


def _python_type(kind: inspect.Type) -> tuple[type, ...]:
    match without_metadata(kind):
        case inspect.IntType() | inspect.FloatType():
            return (int, float)
        case inspect.BoolType():
            return (bool,)
        case inspect.StructType() | inspect.DictType():
            return (dict,)
        case inspect.ListType():
            return (list,)
    return (str,)


def _bool_as_int(kind: inspect.Type, value: Any) -> bool:
    return isinstance(value, bool) and not isinstance(without_metadata(kind), inspect.BoolType)


def _go_type(kind: inspect.Type) -> str:
    match without_metadata(kind):
        case inspect.StructType(cls=cls):
            return f"v1.{cls.__name__}"
        case inspect.ListType(item_type=item):
            return f"[]{_go_type(item)}"
        case inspect.DictType(value_type=item):
            return f"map[string]{_go_type(item)}"
        case inspect.IntType(le=high):
            return "int32" if high is not None and high < 2**31 else "int64"
        case inspect.BoolType():
            return "bool"
        case inspect.FloatType():
            return "float64"
        case inspect.CustomType():
            return "resource.Quantity"
        case inspect.BytesType():
            return "[]uint8"
    return "string"
