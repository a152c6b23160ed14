"""Validates an object of a custom kind against the tree of its schema."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from understudy.embedded.schema import causes
from understudy.embedded.schema.causes import child, member
from understudy.embedded.schema.custom.structural_schema import SchemaNode, ValueLimits
from understudy.embedded.schema.custom.work_budget import WorkBudget
from understudy.embedded.schema.errors import Cause
from understudy.embedded.schema.types.values import TIME

_INTEGERS = {"int32": 2**31, "int64": 2**63}
_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
}
_NAMES = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}


def validate(node: SchemaNode, value: Any, path: str, budget: WorkBudget) -> Iterator[Cause]:
    budget.spend()
    if value is None:
        if not node.nullable and node.kind:
            yield _mistyped(path, "null", node.kind)
        return
    if not _fits(node, value):
        yield _mistyped(path, _NAMES.get(type(value), "null"), node.kind or "integer or string")
        return
    if node.limits is not None:
        yield from _limits(node, node.limits, value, path, budget)
    match value:
        case dict():
            yield from _object(node, value, path, budget)
        case list():
            yield from _list(node, value, path, budget)
    yield from _choices(node, value, path, budget)


def _fits(node: SchemaNode, value: Any) -> bool:
    if node.int_or_string:
        return isinstance(value, int | str) and not isinstance(value, bool)
    wanted = _TYPES.get(node.kind)
    return wanted is None or (isinstance(value, wanted) and (node.kind == "boolean" or not isinstance(value, bool)))


def _mistyped(path: str, given: str, wanted: str) -> Cause:
    return causes.bad_type(path, given, f'{path} in body must be of type {wanted}: "{given}"')


def _object(node: SchemaNode, value: dict[str, Any], path: str, budget: WorkBudget) -> Iterator[Cause]:
    for name in node.required:
        if name not in value:
            yield causes.required(child(path, name))
    for name, item in value.items():
        below = node.properties.get(name) or node.additional
        if below is not None:
            yield from validate(below, item, child(path, name), budget)


def _list(node: SchemaNode, value: list[Any], path: str, budget: WorkBudget) -> Iterator[Cause]:
    if node.items is not None:
        for i, item in enumerate(value):
            yield from validate(node.items, item, member(path, i), budget)
    if node.list_type not in ("set", "map"):
        return
    seen = set()
    for i, item in enumerate(value):
        identity = item if node.list_type == "set" else _identity(node, item)
        budget.spend()
        written = msgspec.json.encode(identity, order="sorted")
        if written in seen:
            yield causes.duplicate(member(path, i), identity)
        seen.add(written)


def _identity(node: SchemaNode, item: Any) -> dict[str, Any]:
    return {key: item.get(key) for key in node.list_keys} if isinstance(item, dict) else {"": item}


def _choices(node: SchemaNode, value: Any, path: str, budget: WorkBudget) -> Iterator[Cause]:
    for part in node.all_of:
        yield from validate(part, value, path, budget)
    if node.any_of and not any(_valid(part, value, path, budget) for part in node.any_of):
        yield _unfit(path, value, "must validate at least one schema (anyOf)")
    if node.one_of:
        fitting = sum(_valid(part, value, path, budget) for part in node.one_of)
        if fitting != 1:
            found = "Found none valid" if not fitting else f"Found {fitting} valid alternatives"
            yield _unfit(path, value, f"must validate one and only one schema (oneOf). {found}")
    if node.never is not None and _valid(node.never, value, path, budget):
        yield _unfit(path, value, "must not validate the schema (not)")


def _valid(node: SchemaNode, value: Any, path: str, budget: WorkBudget) -> bool:
    return next(validate(node, value, path, budget), None) is None


def _unfit(path: str, value: Any, why: str) -> Cause:
    return causes.bad_value(path, "" if isinstance(value, dict | list) else value, f'"{path}" {why}')


def _limits(node: SchemaNode, limits: ValueLimits, value: Any, path: str, budget: WorkBudget) -> Iterator[Cause]:
    if limits.enum is not None and not any(_equal(value, one) for one in limits.enum):
        yield causes.unsupported(path, value, limits.enum)
    match value:
        case bool():
            return
        case int() | float():
            yield from (causes.bad_value(path, value, f"{path} in body {why}") for why in _number(limits, value))
        case str():
            yield from (causes.bad_value(path, value, f"{path} in body {why}") for why in _text(limits, value))
            pattern = node.pattern()
            if pattern is not None and not pattern.search(value, budget):
                yield causes.bad_value(path, value, f"{path} in body should match '{limits.pattern}'")
        case dict() | list():
            yield from _size(limits, value, path)


def _equal(one: Any, other: Any) -> bool:
    return bool(one == other) and isinstance(one, bool) is isinstance(other, bool)


def _number(limits: ValueLimits, value: float) -> Iterator[str]:
    low, high = limits.minimum, limits.maximum
    if low is not None and (value < low or (limits.exclusive_minimum and value == low)):
        yield f"should be greater than {'' if limits.exclusive_minimum else 'or equal to '}{_plain(low)}"
    if high is not None and (value > high or (limits.exclusive_maximum and value == high)):
        yield f"should be less than {'' if limits.exclusive_maximum else 'or equal to '}{_plain(high)}"
    if limits.multiple_of and (value / limits.multiple_of) % 1:
        yield f"should be a multiple of {_plain(limits.multiple_of)}"
    bound = _INTEGERS.get(limits.format)
    if bound is not None and not -bound <= value < bound:
        yield f"must be of type {limits.format}"


def _plain(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else str(number)


def _text(limits: ValueLimits, value: str) -> Iterator[str]:
    if limits.min_size is not None and len(value) < limits.min_size:
        yield f"should be at least {limits.min_size} chars long"
    if limits.max_size is not None and len(value) > limits.max_size:
        yield f"should be at most {limits.max_size} chars long"
    if limits.format == "date-time" and not re.fullmatch(TIME, value):
        yield f"must be of type date-time: {causes.shown(value)}"


def _size(limits: ValueLimits, value: dict[str, Any] | list[Any], path: str) -> Iterator[Cause]:
    what = "items" if isinstance(value, list) else "properties"
    if limits.min_size is not None and len(value) < limits.min_size:
        yield causes.bad_value(path, len(value), f"{path} in body should have at least {limits.min_size} {what}")
    if limits.max_size is not None and len(value) > limits.max_size:
        yield Cause("FieldValueTooMany", f"Too many: {len(value)}: must have at most {limits.max_size} {what}", path)
