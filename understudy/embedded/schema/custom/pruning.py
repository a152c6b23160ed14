"""Pruning and defaulting of custom objects, before they are validated. Unknown fields are removed and reported, nulls
without a meaning are dropped, 1.0 becomes 1, defaults are filled in. Changes the document in place."""

import copy
from typing import Any

from msgspec import UNSET

from understudy.embedded.schema.causes import child, member
from understudy.embedded.schema.custom.structural_schema import SchemaNode
from understudy.embedded.schema.custom.work_budget import WorkBudget
from understudy.embedded.schema.decoding_errors import UnknownField, note_unknown

_OF_EVERY_OBJECT = ("apiVersion", "kind", "metadata")


def prune_and_default(node: SchemaNode, document: dict[str, Any], budget: WorkBudget) -> list[UnknownField]:
    """Returns the unknown fields. apiVersion, kind and metadata at the top are skipped."""
    pruning = _Pruning(budget)
    pruning.mapping(node, document, "", whole=True)
    _fill(node, document, budget)
    return pruning.unknown


class _Pruning:
    def __init__(self, budget: WorkBudget) -> None:
        self.budget = budget
        self.unknown: list[UnknownField] = []

    def value(self, node: SchemaNode, value: Any, path: str) -> Any:
        self.budget.spend()
        match value:
            case dict():
                self.mapping(node, value, path, whole=node.embedded)
            case list() if node.items is not None:
                kept = [one for one in value if one is not None or node.items.nullable]
                value[:] = [self.value(node.items, one, member(path, i)) for i, one in enumerate(kept)]
            case float() if value.is_integer() and (node.kind == "integer" or node.int_or_string):
                return int(value)
        return value

    def mapping(self, node: SchemaNode, value: dict[str, Any], path: str, *, whole: bool) -> None:
        for name in list(value):
            if whole and name in _OF_EVERY_OBJECT:
                continue
            below = node.properties.get(name) or node.additional
            if below is None:
                if not node.preserve:
                    self.unknown_field(node, value, name, path)
            elif value[name] is None and not below.nullable and not (below.preserve and not below.kind):
                del value[name]
            else:
                value[name] = self.value(below, value[name], child(path, name))

    def unknown_field(self, node: SchemaNode, value: dict[str, Any], name: str, path: str) -> None:
        if value.pop(name) is not None:
            note_unknown(self.unknown, node, name, path)


def _fill(node: SchemaNode, value: Any, budget: WorkBudget) -> None:
    budget.spend()
    match value:
        case dict():
            for name, below in node.properties.items():
                if name not in value and below.default is not UNSET:
                    budget.spend(below.default_size)
                    value[name] = copy.deepcopy(below.default)
            for name, item in value.items():
                below_here = node.properties.get(name) or node.additional
                if below_here is not None:
                    _fill(below_here, item, budget)
        case list() if node.items is not None:
            for item in value:
                _fill(node.items, item, budget)
