"""Patches of templates, merged as Kubernetes does: mappings by key, lists of named things by name, others whole."""

from collections.abc import Mapping, Sequence
from typing import Any

from understudy.kinds.children.wanted import Document

# The lists of a pod whose entries have a name of their own, and the field that is the name.
_NAMED = {
    "containers": "name",
    "initContainers": "name",
    "volumes": "name",
    "env": "name",
    "imagePullSecrets": "name",
    "schedulingGates": "name",
    "volumeMounts": "mountPath",
}
# An entry may be of one sort only (a value or a reference, one source of files): of two sorts the newer counts.
_EXCHANGED = frozenset({"env", "volumes"})


def merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> Document:
    """Both, the newer where they differ."""
    result = dict(old)
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            result[key] = merged(before, value)
        elif key in _NAMED and isinstance(value, list):
            result[key] = merged_list(key, before or [], value)
        elif value is not None:
            result[key] = value
    return result


def merged_list(key: str, old: Sequence[Document], new: Sequence[Document]) -> list[Document]:
    """In the order of the old ones, what is new behind them."""
    name = _NAMED[key]
    result = {each.get(name): each for each in old}
    for each in new:
        before = result.get(each.get(name))
        result[each.get(name)] = each if before is None or key in _EXCHANGED else merged(before, each)
    return list(result.values())


def found(document: Mapping[str, Any] | None, *path: str) -> Document:
    """The mapping at the end of a path; empty where there is none."""
    place: Any = document
    for part in path:
        place = (place or {}).get(part)
    return place or {}


def replaced(document: Mapping[str, Any], path: Sequence[str], value: Any) -> Document:
    """A copy with another value at the end of a path."""
    first, *rest = path
    return {**document, first: replaced(document.get(first) or {}, rest, value) if rest else value}
