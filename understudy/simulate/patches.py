"""JSON merge patches, JSON patches, and as much of strategic merge patches as the loops use. Inputs never change."""

from collections.abc import Mapping, Sequence
from typing import Any

from understudy.ports import PatchForm, Refused

Document = dict[str, Any]
_DELETE_FROM = "$deleteFromPrimitiveList/"


def patched(document: Document, patch: Any, form: PatchForm) -> Document:
    """The document after the patch. It shares unchanged parts with the old one."""
    if form is PatchForm.JSON:
        return _operated(document, patch)
    return merged(document, patch, by_type=form is PatchForm.STRATEGIC)


def merged(target: Mapping[str, Any], patch: Mapping[str, Any], by_type: bool) -> Document:
    """`by_type` merges conditions by type and deletes listed values, as a strategic merge patch does."""
    result = dict(target)
    for field, value in patch.items():
        if value is None:
            result.pop(field, None)
        elif isinstance(value, Mapping):
            before = result.get(field)
            result[field] = merged(before if isinstance(before, Mapping) else {}, value, by_type)
        elif by_type and field == "conditions":
            result[field] = _conditions(result.get(field) or (), value)
        elif by_type and field.startswith(_DELETE_FROM):
            name = field.removeprefix(_DELETE_FROM)
            result[name] = [one for one in result.get(name) or () if one not in value]
        else:
            result[field] = value
    return result


def _conditions(old: Sequence[Document], new: Sequence[Document]) -> list[Document]:
    by_type = {condition["type"]: condition for condition in old}
    for condition in new:
        by_type[condition["type"]] = {**by_type.get(condition["type"], {}), **condition}
    return list(by_type.values())


def _operated(document: Document, operations: Sequence[Document]) -> Document:
    for operation in operations:
        steps = [step.replace("~1", "/").replace("~0", "~") for step in operation["path"].strip("/").split("/")]
        document = _operate(document, steps, operation)
    return document


def _operate(place: Any, steps: Sequence[str], operation: Document) -> Any:
    step, op = steps[0], operation["op"]
    if len(steps) > 1:
        inner = _operate(_found(place, step, operation), steps[1:], operation)
        return _with(place, step, inner)
    if op == "test":
        if _found(place, step, operation) != operation["value"]:
            raise Refused(422, "Invalid", f"{operation['path']} is not {operation['value']}")
        return place
    if op == "remove":
        _found(place, step, operation)
        if isinstance(place, list):
            return [one for number, one in enumerate(place) if number != int(step)]
        return {key: value for key, value in place.items() if key != step}
    if isinstance(place, list) and op == "add":
        number = len(place) if step == "-" else int(step)
        return [*place[:number], operation["value"], *place[number:]]
    return _with(place, step, operation["value"])


def _found(place: Any, step: str, operation: Document) -> Any:
    try:
        return place[int(step)] if isinstance(place, list) else place[step]
    except (KeyError, IndexError, ValueError, TypeError):
        raise Refused(422, "Invalid", f"there is no {operation['path']}") from None


def _with(place: Any, step: str, value: Any) -> Any:
    if isinstance(place, list):
        return [value if number == int(step) else one for number, one in enumerate(place)]
    return {**place, step: value}
