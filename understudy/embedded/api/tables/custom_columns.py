"""Custom resources as kubectl prints them: a name, and the columns their definition asks for."""

from functools import lru_cache
from typing import Any

import msgspec

from understudy.embedded.api.tables.human_duration import age
from understudy.embedded.api.tables.jsonpath import jsonpath
from understudy.embedded.api.tables.printer import NAME, AnyPrinter, Cell, Printer, Row
from understudy.embedded.schema.served_resource import Column, PrinterColumns

_DEFAULT: PrinterColumns = (
    (Column("Age", "date", description="Time since the object was created."), ".metadata.creationTimestamp"),
)


@lru_cache(512)
def custom(given: PrinterColumns, kept: tuple[tuple[str, PrinterColumns], ...] = ()) -> AnyPrinter:
    """`given`: the columns; none: the age alone. An object that keeps its version is read with the JSONPaths that
    `kept` has for columns of the same names."""
    columns = given or _DEFAULT
    paths = {version: {column.name: path for column, path in theirs} for version, theirs in kept}

    def row(document: dict[str, Any], now: float) -> Row:
        name = document.get("metadata", {}).get("name", "")
        own = paths.get(document.get("apiVersion", ""), {})
        return Row([name, *(_cell(column, own.get(column.name, path), document, now) for column, path in columns)])

    return Printer((NAME, *(column for column, _ in columns)), dict[str, Any], row)


def _cell(column: Column, path: str, document: dict[str, Any], now: float) -> Cell:
    """The first value found; nothing where there is none, or none of the column's type."""
    try:
        found = jsonpath(path)(document)
    except ValueError:
        return None
    match column.type, found[0] if found else None:
        case _, None:
            return None
        case "string", value:
            return value if isinstance(value, str) else msgspec.json.encode(value).decode()
        case "date", str() as stamp:
            return age(stamp, now)
        case "boolean", bool() as truth:
            return truth
        case (("integer" | "number"), bool()):
            return None
        case "integer", (int() | float()) as number:
            return int(number)
        case "number", (int() | float()) as number:
            return number
        case _:
            return None
