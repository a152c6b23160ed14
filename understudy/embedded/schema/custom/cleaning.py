"""An object of a custom kind, before it is judged: fields nobody knows are taken out and named, nulls that mean nothing
are dropped, whole numbers are made whole, defaults are filled in. Changes the document in place."""

import copy
from typing import Any

from msgspec import UNSET

from understudy.embedded.schema.causes import child, member
from understudy.embedded.schema.custom.budget import Budget
from understudy.embedded.schema.custom.tree import Node
from understudy.embedded.schema.diagnosis import Unknown, note_unknown

_OF_EVERY_OBJECT = ("apiVersion", "kind", "metadata")


def clean(node: Node, document: dict[str, Any], budget: Budget) -> list[Unknown]:
    """What is unknown in it. Metadata and the like at the top are not looked at."""
    pruning = _Pruning(budget)
    pruning.mapping(node, document, "", whole=True)
    _fill(node, document, budget)
    return pruning.unknown


class _Pruning:
    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.unknown: list[Unknown] = []

    def value(self, node: Node, value: Any, path: str) -> Any:
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

    def mapping(self, node: Node, value: dict[str, Any], path: str, *, whole: bool) -> None:
        for name in list(value):
            if whole and name in _OF_EVERY_OBJECT:
                continue
            below = node.properties.get(name) or node.additional
            if below is None:
                if not node.preserve:
                    self.strange(node, value, name, path)
            elif value[name] is None and not below.nullable and not (below.preserve and not below.kind):
                del value[name]
            else:
                value[name] = self.value(below, value[name], child(path, name))

    def strange(self, node: Node, value: dict[str, Any], name: str, path: str) -> None:
        if value.pop(name) is not None:
            note_unknown(self.unknown, node, name, path)


def _fill(node: Node, value: Any, budget: Budget) -> None:
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
