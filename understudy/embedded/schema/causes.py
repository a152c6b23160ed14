"""Causes of a 422 answer: what is wrong with a field, in the words of Kubernetes."""

from collections.abc import Iterable
from typing import Any

import msgspec

from understudy.embedded.schema.errors import Cause

MAX_CAUSES = 100
"""Bounds the size of an answer, which a client could otherwise make arbitrarily long."""

_LONGEST_SHOWN = 256


def required(field: str, detail: str = "") -> Cause:
    return Cause("FieldValueRequired", f"Required value: {detail}" if detail else "Required value", field)


def bad_value(field: str, value: Any, detail: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {shown(value)}: {detail}", field)


def bad_type(field: str, value: Any, detail: str) -> Cause:
    return Cause("FieldValueTypeInvalid", f"Invalid value: {shown(value)}: {detail}", field)


def unsupported(field: str, value: Any, supported: Iterable[Any]) -> Cause:
    listed = ", ".join(shown(one) for one in supported)
    return Cause("FieldValueNotSupported", f"Unsupported value: {shown(value)}: supported values: {listed}", field)


def duplicate(field: str, value: Any) -> Cause:
    return Cause("FieldValueDuplicate", f"Duplicate value: {shown(value)}", field)


def not_allowed(field: str, detail: str) -> Cause:
    return Cause("FieldValueForbidden", f"Forbidden: {detail}", field)


def absent(field: str, value: Any) -> Cause:
    """The value names something that does not exist."""
    return Cause("FieldValueNotFound", f"Not found: {shown(value)}", field)


def too_long(field: str, limit: int) -> Cause:
    return Cause("FieldValueTooLong", f"Too long: may not be more than {limit} bytes", field)


def shown(value: Any) -> str:
    """The value as JSON, cut to a readable length."""
    try:
        return _short(msgspec.json.encode(value, enc_hook=str).decode())
    except OverflowError:  # a whole number beyond 64 bits
        return "a number out of range"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def member(field: str, key: str | int) -> str:
    """The path of an item of a list, or of a value of a map whose keys are data."""
    return f"{field}[{_short(key) if isinstance(key, str) else key}]"


def child(field: str, name: str) -> str:
    return f"{field}.{_short(name)}" if field else _short(name)
