"""How a kind is printed: its columns, the fields they are made from, and a function from those to a row of cells."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from understudy.embedded.schema.served_resource import Column

NONE = "<none>"

Cell = str | int | float | bool | None


class PrintedFields(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Some fields of an object; what is not there is empty."""


class MetaFields(PrintedFields, frozen=True):
    name: str = ""
    creation_timestamp: str = ""
    deletion_timestamp: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class ConditionFields(PrintedFields, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""


class RequirementFields(PrintedFields, frozen=True):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelectorFields(PrintedFields, frozen=True):
    match_labels: dict[str, str] = {}
    match_expressions: tuple[RequirementFields, ...] = ()


Looked = TypeVar("Looked")


class Row(NamedTuple):
    cells: Sequence[Cell]
    conditions: Sequence[Mapping[str, str]] = ()


class Printer(Generic[Looked]):
    """`row` gets an object read as `look`, and now in seconds since 1970."""

    __slots__ = ("_decode", "_row", "columns")

    def __init__(self, columns: tuple[Column, ...], look: type[Looked], row: Callable[[Looked, float], Row]) -> None:
        self.columns = columns
        self._decode = msgspec.json.Decoder(look).decode
        self._row = row

    def row(self, body: bytes, now: float) -> Row:
        return self._row(self._decode(body), now)


AnyPrinter = Printer[Any]

NAME = Column("Name", format="name", description="Name of the object, unique within its namespace.")
AGE = Column("Age", description="Time since the object was created.")


def wide(name: str, description: str = "") -> Column:
    """Shown with -o wide only."""
    return Column(name, description=description, priority=1)


def has_condition(conditions: Sequence[ConditionFields], kind: str, status: str = "True") -> bool:
    return any(condition.type == kind and condition.status == status for condition in conditions)


def joined_labels(labels: Mapping[str, str]) -> str:
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels)) or NONE


def joined_selector(selector: LabelSelectorFields) -> str:
    terms = [(key, f"{key}={value}") for key, value in selector.match_labels.items()]
    terms += [(requirement.key, _in_words(requirement)) for requirement in selector.match_expressions]
    return ",".join(text for _, text in sorted(terms)) or NONE


def _in_words(requirement: RequirementFields) -> str:
    match requirement.operator:
        case "Exists":
            return requirement.key
        case "DoesNotExist":
            return f"!{requirement.key}"
        case operator:
            return f"{requirement.key} {operator.lower()} ({','.join(sorted(requirement.values))})"
