"""Structs into the schemas of an OpenAPI document."""

from typing import Any

import msgspec
from msgspec import inspect

from understudy.embedded.schema.diagnosis import plain
from understudy.embedded.schema.values import TIME
from understudy.embedded.schema.wording import FIELDS, HEAD

Schema = dict[str, Any]


def reference(name: str) -> str:
    return f"#/components/schemas/{name}"


class Components:
    """The schemas of one document, each struct once."""

    def __init__(self) -> None:
        self.schemas: dict[str, Schema] = {}

    def add(self, struct: type[msgspec.Struct]) -> str:
        """The name a struct has among the schemas; it is put there with all it refers to."""
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
        words = FIELDS.get(kind.cls.__name__, {})
        schema = self.schemas[name] = {"type": "object", "description": kind.cls.__doc__ or ""}
        schema["properties"] = {
            field.encode_name: self._described(
                field.type, words.get(field.encode_name, HEAD.get(field.encode_name, ""))
            )
            for field in kind.fields
        }
        required = [field.encode_name for field in kind.fields if field.required]
        if required:
            schema["required"] = required
        return name

    def _described(self, kind: inspect.Type, words: str) -> Schema:
        """Beside a $ref nothing else counts, so a described one is wrapped."""
        schema = self.of(kind)
        inner = plain(kind)
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
