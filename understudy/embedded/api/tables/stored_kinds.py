"""Kinds that are stored and have no effect, and EndpointSlices, as kubectl prints them."""

from typing import Any

from msgspec import field

from understudy.embedded.api.tables.human_duration import age
from understudy.embedded.api.tables.printer import (
    AGE,
    NAME,
    NONE,
    Cell,
    LabelSelectorFields,
    MetaFields,
    PrintedFields,
    Printer,
    Row,
    joined_selector,
)
from understudy.embedded.schema.served_resource import Column

_SHOWN = 3  # of a list; the rest is counted


class AnySpecFields(PrintedFields, frozen=True):
    metadata: MetaFields = MetaFields()
    spec: dict[str, Any] = field(default_factory=dict)
    status: dict[str, Any] = field(default_factory=dict)


class PolicySpecFields(PrintedFields, frozen=True):
    pod_selector: LabelSelectorFields = LabelSelectorFields()


class PolicyFields(PrintedFields, frozen=True):
    metadata: MetaFields = MetaFields()
    spec: PolicySpecFields = PolicySpecFields()


class StorageClassFields(PrintedFields, frozen=True):
    metadata: MetaFields = MetaFields()
    provisioner: str = ""
    reclaim_policy: str = ""
    volume_binding_mode: str = ""
    allow_volume_expansion: bool = False


class WebhooksFields(PrintedFields, frozen=True):
    metadata: MetaFields = MetaFields()
    webhooks: tuple[dict[str, Any], ...] = ()


class EndpointFields(PrintedFields, frozen=True):
    addresses: tuple[str, ...] = ()


class SlicePortFields(PrintedFields, frozen=True):
    port: int | None = None


class SliceFields(PrintedFields, frozen=True):
    metadata: MetaFields = MetaFields()
    address_type: str = ""
    endpoints: tuple[EndpointFields, ...] = ()
    ports: tuple[SlicePortFields, ...] = ()


def _some(names: list[str]) -> str:
    more = f" + {len(names) - _SHOWN} more..." if len(names) > _SHOWN else ""
    return ",".join(names[:_SHOWN]) + more


def _ingress(one: AnySpecFields, now: float) -> Row:
    hosts = [rule.get("host", "") for rule in one.spec.get("rules") or ()]
    ports = "80, 443" if one.spec.get("tls") else "80"
    kind = one.spec.get("ingressClassName") or NONE
    named = _some([host for host in hosts if host]) or "*"
    return Row([one.metadata.name, kind, named, "", ports, age(one.metadata.creation_timestamp, now)])


def _ingress_class(one: AnySpecFields, now: float) -> Row:
    parameters = one.spec.get("parameters") or {}
    named = f"{parameters.get('kind', '')}.{parameters.get('apiGroup', '')}/{parameters.get('name', '')}"
    shown = named if parameters else NONE
    return Row([one.metadata.name, one.spec.get("controller", ""), shown, age(one.metadata.creation_timestamp, now)])


def _policy(one: PolicyFields, now: float) -> Row:
    return Row([one.metadata.name, joined_selector(one.spec.pod_selector), age(one.metadata.creation_timestamp, now)])


def _autoscaler(one: AnySpecFields, now: float) -> Row:
    target = one.spec.get("scaleTargetRef") or {}
    limits: list[Cell] = [str(one.spec.get("minReplicas", 1)), one.spec.get("maxReplicas", 0)]
    reference = f"{target.get('kind', '')}/{target.get('name', '')}"
    created = age(one.metadata.creation_timestamp, now)
    return Row([one.metadata.name, reference, "<unknown>", *limits, one.status.get("currentReplicas", 0), created])


def _storage_class(one: StorageClassFields, now: float) -> Row:
    is_default = one.metadata.annotations.get("storageclass.kubernetes.io/is-default-class") == "true"
    name = f"{one.metadata.name} (default)" if is_default else one.metadata.name
    modes: list[Cell] = [one.provisioner, one.reclaim_policy, one.volume_binding_mode, one.allow_volume_expansion]
    return Row([name, *modes, age(one.metadata.creation_timestamp, now)])


def _webhooks(one: WebhooksFields, now: float) -> Row:
    return Row([one.metadata.name, len(one.webhooks), age(one.metadata.creation_timestamp, now)])


def _slice(one: SliceFields, now: float) -> Row:
    ports = _some([str(port.port) for port in one.ports]) or "<unset>"
    addresses = _some([address for endpoint in one.endpoints for address in endpoint.addresses]) or "<unset>"
    return Row([one.metadata.name, one.address_type, ports, addresses, age(one.metadata.creation_timestamp, now)])


def _column(name: str, description: str) -> Column:
    return Column(name, description=description)


INGRESSES = Printer(
    (
        NAME,
        _column("Class", "Which controller is to serve it."),
        _column("Hosts", "Names that it routes."),
        _column("Address", "Addresses of the load balancer."),
        _column("Ports", "Ports it is reached on."),
        AGE,
    ),
    AnySpecFields,
    _ingress,
)
INGRESS_CLASSES = Printer(
    (NAME, _column("Controller", "Which controller it names."), _column("Parameters", "Its settings."), AGE),
    AnySpecFields,
    _ingress_class,
)
NETWORK_POLICIES = Printer((NAME, _column("Pod-Selector", "Pods it is about."), AGE), PolicyFields, _policy)
AUTOSCALERS = Printer(
    (
        NAME,
        _column("Reference", "The workload."),
        _column("Targets", "The load that is aimed at."),
        _column("MinPods", "The fewest replicas."),
        Column("MaxPods", "integer", description="The most replicas."),
        Column("Replicas", "integer", description="How many there are."),
        AGE,
    ),
    AnySpecFields,
    _autoscaler,
)
STORAGE_CLASSES = Printer(
    (
        NAME,
        _column("Provisioner", "What makes its volumes."),
        _column("ReclaimPolicy", "What happens to volumes without a claim."),
        _column("VolumeBindingMode", "When claims are bound."),
        Column("AllowVolumeExpansion", "boolean", description="Whether volumes may grow."),
        AGE,
    ),
    StorageClassFields,
    _storage_class,
)
WEBHOOKS = Printer((NAME, Column("Webhooks", "integer", description="How many."), AGE), WebhooksFields, _webhooks)
ENDPOINT_SLICES = Printer(
    (
        NAME,
        _column("AddressType", "What kind of addresses."),
        _column("Ports", "Their ports."),
        _column("Endpoints", "The addresses."),
        AGE,
    ),
    SliceFields,
    _slice,
)
