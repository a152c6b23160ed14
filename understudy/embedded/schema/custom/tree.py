"""What the values of a custom resource are held against: a tree of nodes, one for each value a schema speaks of."""

from typing import Any

import msgspec
from msgspec import UNSET

from understudy.embedded.schema.custom.patterns import Pattern, compiled


class Limits(msgspec.Struct, frozen=True, gc=False):
    """Bounds on a value. What is not given does not bind."""

    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False
    multiple_of: float | None = None
    min_size: int | None = None  # of a text, a list or a map
    max_size: int | None = None
    format: str = ""
    enum: tuple[Any, ...] | None = None
    pattern: str = ""


class Node(msgspec.Struct):
    """What one value may be. `kind` is '' where the schema says nothing about it."""

    kind: str = ""
    nullable: bool = False
    properties: dict[str, "Node"] = {}
    additional: "Node | None" = None
    items: "Node | None" = None
    required: tuple[str, ...] = ()
    preserve: bool = False  # fields it does not know are kept
    embedded: bool = False  # a whole object: apiVersion, kind and metadata come by themselves
    int_or_string: bool = False
    default: Any = UNSET
    default_size: int = 0
    list_type: str = ""
    list_keys: tuple[str, ...] = ()
    limits: Limits | None = None
    all_of: "tuple[Node, ...]" = ()
    any_of: "tuple[Node, ...]" = ()
    one_of: "tuple[Node, ...]" = ()
    never: "Node | None" = None

    def names(self) -> list[str]:
        return list(self.properties)

    def below(self, name: str) -> "Node | None":
        return self.properties.get(name)

    def pattern(self) -> Pattern | None:
        return compiled(self.limits.pattern) if self.limits and self.limits.pattern else None
