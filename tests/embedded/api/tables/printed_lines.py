"""Rows of tables by column."""

from typing import Any, cast

import msgspec

from understudy.embedded.api.tables.table import table
from understudy.embedded.schema.served_resource import Form, ServedResource
from understudy.objects.resources import Resource

NOW = 1_767_268_800.0  # 2026-01-01T12:00:00Z
CREATED = "2026-01-01T11:55:00Z"  # five minutes ago
NO_FORM = cast(Form, None)  # tables look at names and columns alone


def served(resource: Resource, **columns: Any) -> ServedResource:
    return ServedResource(resource, NO_FORM, resource.kind.lower(), **columns)


def line(of: Resource | ServedResource, document: dict[str, Any]) -> dict[str, Any]:
    """The one row of an object, by the names of its columns."""
    meta = {"name": "a", "creationTimestamp": CREATED} | document.get("metadata", {})
    body = msgspec.json.encode(document | {"metadata": meta})
    printed = table(of if isinstance(of, ServedResource) else served(of), [body], NOW)
    plain = msgspec.json.decode(msgspec.json.encode(printed))
    names = [column["name"] for column in plain["columnDefinitions"]]
    [row] = plain["rows"]
    assert len(names) == len(row["cells"])
    return dict(zip(names, row["cells"], strict=True))
