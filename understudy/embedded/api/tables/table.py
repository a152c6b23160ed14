"""Tables: stored objects into the meta.k8s.io/v1 Table that kubectl prints line by line.

`PRINTERS` names the printer of each built-in kind; custom resources bring their columns.
"""

import enum
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from understudy.embedded.api.partial_objects import partial_metadata
from understudy.embedded.api.tables import (
    events,
    jobs,
    nodes,
    other_kinds,
    pods,
    services,
    stored_kinds,
    volumes,
    workloads,
)
from understudy.embedded.api.tables.custom_columns import custom
from understudy.embedded.api.tables.printer import AnyPrinter, Row
from understudy.embedded.schema.served_resource import ServedResource
from understudy.objects import resources

PRINTERS: Mapping[str, AnyPrinter] = {
    resources.PODS.key: pods.PODS,
    resources.NODES.key: nodes.NODES,
    resources.EVENTS.key: events.EVENTS,
    resources.JOBS.key: jobs.JOBS,
    resources.CRON_JOBS.key: workloads.CRON_JOBS,
    resources.DEPLOYMENTS.key: workloads.DEPLOYMENTS,
    resources.REPLICA_SETS.key: workloads.REPLICA_SETS,
    resources.STATEFUL_SETS.key: workloads.STATEFUL_SETS,
    resources.DAEMON_SETS.key: workloads.DAEMON_SETS,
    resources.CONTROLLER_REVISIONS.key: workloads.CONTROLLER_REVISIONS,
    resources.ENDPOINT_SLICES.key: stored_kinds.ENDPOINT_SLICES,
    resources.REPLICATION_CONTROLLERS.key: other_kinds.ANYTHING,
    resources.INGRESSES.key: stored_kinds.INGRESSES,
    resources.INGRESS_CLASSES.key: stored_kinds.INGRESS_CLASSES,
    resources.NETWORK_POLICIES.key: stored_kinds.NETWORK_POLICIES,
    resources.AUTOSCALERS.key: stored_kinds.AUTOSCALERS,
    resources.STORAGE_CLASSES.key: stored_kinds.STORAGE_CLASSES,
    resources.VALIDATING_WEBHOOKS.key: stored_kinds.WEBHOOKS,
    resources.MUTATING_WEBHOOKS.key: stored_kinds.WEBHOOKS,
    resources.VALIDATING_POLICIES.key: other_kinds.ANYTHING,
    resources.VALIDATING_POLICY_BINDINGS.key: other_kinds.ANYTHING,
    resources.MUTATING_POLICIES.key: other_kinds.ANYTHING,
    resources.MUTATING_POLICY_BINDINGS.key: other_kinds.ANYTHING,
    resources.API_SERVICES.key: other_kinds.ANYTHING,
    resources.RUNTIME_CLASSES.key: other_kinds.ANYTHING,
    resources.CSI_DRIVERS.key: other_kinds.ANYTHING,
    resources.POD_TEMPLATES.key: other_kinds.ANYTHING,
    resources.SIGNING_REQUESTS.key: other_kinds.ANYTHING,
    resources.SERVICES.key: services.SERVICES,
    resources.ENDPOINTS.key: services.ENDPOINTS,
    resources.CLAIMS.key: volumes.CLAIMS,
    resources.VOLUMES.key: volumes.VOLUMES,
    resources.NAMESPACES.key: other_kinds.NAMESPACES,
    resources.CONFIG_MAPS.key: other_kinds.CONFIG_MAPS,
    resources.SECRETS.key: other_kinds.SECRETS,
    resources.SERVICE_ACCOUNTS.key: other_kinds.SERVICE_ACCOUNTS,
    resources.LEASES.key: other_kinds.LEASES,
    resources.PRIORITY_CLASSES.key: other_kinds.PRIORITY_CLASSES,
    resources.BUDGETS.key: other_kinds.BUDGETS,
    resources.RESOURCE_QUOTAS.key: other_kinds.QUOTAS,
    resources.LIMIT_RANGES.key: other_kinds.ANYTHING,
    resources.ROLES.key: other_kinds.ANYTHING,
    resources.CLUSTER_ROLES.key: other_kinds.ANYTHING,
    resources.ROLE_BINDINGS.key: other_kinds.BINDINGS,
    resources.CLUSTER_ROLE_BINDINGS.key: other_kinds.BINDINGS,
    resources.DEFINITIONS.key: other_kinds.ANYTHING,
}


class Include(enum.StrEnum):
    """How much of its object a row carries: the includeObject of a request."""

    NONE = "None"
    METADATA = "Metadata"
    OBJECT = "Object"


def table(
    served: ServedResource,
    bodies: Iterable[bytes],
    now: float,
    include: Include = Include.METADATA,
    header: bool = True,
) -> dict[str, Any]:
    """A row for each body. The events of a watch are tables of one row, and only the first has a header. The
    `metadata` of a list (its resourceVersion) is for the caller to fill in."""
    printer = PRINTERS.get(served.resource.key) or custom(served.printer_columns, served.kept_columns)
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
            return partial_metadata(body)
        case Include.OBJECT:
            return msgspec.Raw(body)
