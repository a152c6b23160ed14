"""Tables: turns objects as they lie in the store into the meta.k8s.io/v1 Table that kubectl prints line by line.

`PRINTERS` says how each built-in kind is printed; custom resources bring their columns. To print another kind, write
its Printer and name it here.
"""

import enum
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from understudy.embedded.api.partial import partial
from understudy.embedded.api.served import Served
from understudy.embedded.api.tables import events, jobs, nodes, pods, services, stored, volumes
from understudy.embedded.api.tables.custom import custom
from understudy.embedded.api.tables.printing import AnyPrinter, Row
from understudy.objects import resources

PRINTERS: Mapping[str, AnyPrinter] = {
    resources.PODS.key: pods.PODS,
    resources.NODES.key: nodes.NODES,
    resources.EVENTS.key: events.EVENTS,
    resources.JOBS.key: jobs.JOBS,
    resources.SERVICES.key: services.SERVICES,
    resources.ENDPOINTS.key: services.ENDPOINTS,
    resources.CLAIMS.key: volumes.CLAIMS,
    resources.VOLUMES.key: volumes.VOLUMES,
    resources.NAMESPACES.key: stored.NAMESPACES,
    resources.CONFIG_MAPS.key: stored.CONFIG_MAPS,
    resources.SECRETS.key: stored.SECRETS,
    resources.SERVICE_ACCOUNTS.key: stored.SERVICE_ACCOUNTS,
    resources.LEASES.key: stored.LEASES,
    resources.PRIORITY_CLASSES.key: stored.PRIORITY_CLASSES,
    resources.BUDGETS.key: stored.BUDGETS,
    resources.ROLES.key: stored.ANYTHING,
    resources.CLUSTER_ROLES.key: stored.ANYTHING,
    resources.ROLE_BINDINGS.key: stored.BINDINGS,
    resources.CLUSTER_ROLE_BINDINGS.key: stored.BINDINGS,
    resources.DEFINITIONS.key: stored.ANYTHING,
}

__all__ = ["Include", "table"]


class Include(enum.StrEnum):
    """How much of its object a row carries: the includeObject of a request."""

    NONE = "None"
    METADATA = "Metadata"
    OBJECT = "Object"


def table(
    served: Served,
    bodies: Iterable[bytes],
    now: float,
    include: Include = Include.METADATA,
    header: bool = True,
) -> dict[str, Any]:
    """A row for each body. The events of a watch are tables of one row, and only the first has a header. The
    `metadata` of a list (its resourceVersion) is for the caller to fill in."""
    printer = PRINTERS.get(served.resource.key) or custom(served.printer_columns)
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {},
        "columnDefinitions": printer.columns if header else (),
        "rows": [_row(printer.row(body, now), _object(body, include)) for body in bodies],
    }


def _row(row: Row, of: Any) -> dict[str, Any]:
    shown: dict[str, Any] = {"cells": row.cells, "object": of}
    return shown | {"conditions": row.conditions} if row.conditions else shown


def _object(body: bytes, include: Include) -> Any:
    match include:
        case Include.NONE:
            return None
        case Include.METADATA:
            return partial(body)
        case Include.OBJECT:
            return msgspec.Raw(body)
