"""Services and their endpoints as kubectl prints them."""

from collections.abc import Iterator
from itertools import islice

from msgspec import field

from understudy.embedded.api.tables.human_duration import age
from understudy.embedded.api.tables.printer import (
    AGE,
    NAME,
    NONE,
    MetaFields,
    PrintedFields,
    Printer,
    Row,
    joined_labels,
    wide,
)
from understudy.embedded.schema.served_resource import Column

_SHOWN = 3  # addresses of endpoints; the rest is counted


class ServicePortFields(PrintedFields, frozen=True):
    port: int = 0
    node_port: int = 0
    protocol: str = "TCP"


class ServiceSpecFields(PrintedFields, frozen=True):
    type: str = "ClusterIP"
    cluster_ip: str = field(name="clusterIP", default="")
    cluster_ips: tuple[str, ...] = field(name="clusterIPs", default=())
    external_ips: tuple[str, ...] = field(name="externalIPs", default=())
    external_name: str = ""
    ports: tuple[ServicePortFields, ...] = ()
    selector: dict[str, str] = field(default_factory=dict)


class IngressFields(PrintedFields, frozen=True):
    ip: str = ""
    hostname: str = ""


class LoadBalancerFields(PrintedFields, frozen=True):
    ingress: tuple[IngressFields, ...] = ()


class ServiceStatusFields(PrintedFields, frozen=True):
    load_balancer: LoadBalancerFields = LoadBalancerFields()


class ServiceFields(PrintedFields, frozen=True):
    metadata: MetaFields = MetaFields()
    spec: ServiceSpecFields = ServiceSpecFields()
    status: ServiceStatusFields = ServiceStatusFields()


class EndpointAddressFields(PrintedFields, frozen=True):
    ip: str = ""


class EndpointPortFields(PrintedFields, frozen=True):
    port: int = 0


class SubsetFields(PrintedFields, frozen=True):
    addresses: tuple[EndpointAddressFields, ...] = ()
    ports: tuple[EndpointPortFields, ...] = ()


class EndpointsFields(PrintedFields, frozen=True):
    metadata: MetaFields = MetaFields()
    subsets: tuple[SubsetFields, ...] = ()


_SERVICE_COLUMNS = (
    NAME,
    Column("Type", description="How the service can be reached."),
    Column("Cluster-IP", description="Its address inside the cluster."),
    Column("External-IP", description="Its addresses outside the cluster."),
    Column("Port(s)", description="Ports it is reached on."),
    AGE,
    wide("Selector", "Labels of the pods behind it."),
)
_ENDPOINTS_COLUMNS = (NAME, Column("Endpoints", description="Addresses and ports behind a service."), AGE)


def _service_row(service: ServiceFields, now: float) -> Row:
    spec = service.spec
    return Row(
        [
            service.metadata.name,
            spec.type,
            next(iter(spec.cluster_ips), spec.cluster_ip) or NONE,
            _external(service),
            ",".join(map(_port, spec.ports)) or NONE,
            age(service.metadata.creation_timestamp, now),
            joined_labels(spec.selector),
        ]
    )


def _external(service: ServiceFields) -> str:
    given = ",".join(service.spec.external_ips)
    match service.spec.type:
        case "ExternalName":
            return service.spec.external_name
        case "LoadBalancer":
            balanced = dict.fromkeys(one.ip or one.hostname for one in service.status.load_balancer.ingress)
            return ",".join(text for text in (*balanced, given) if text) or "<pending>"
        case _:
            return given or NONE


def _port(port: ServicePortFields) -> str:
    return f"{port.port}:{port.node_port}/{port.protocol}" if port.node_port else f"{port.port}/{port.protocol}"


def _endpoints_row(endpoints: EndpointsFields, now: float) -> Row:
    cells = [endpoints.metadata.name, _reached(endpoints), age(endpoints.metadata.creation_timestamp, now)]
    return Row(cells)


def _reached(endpoints: EndpointsFields) -> str:
    if not endpoints.subsets:
        return NONE
    count = sum(len(subset.addresses) * max(len(subset.ports), 1) for subset in endpoints.subsets)
    shown = ",".join(islice(_each(endpoints), _SHOWN))
    return f"{shown} + {count - _SHOWN} more..." if count > _SHOWN else shown


def _each(endpoints: EndpointsFields) -> Iterator[str]:
    for subset in endpoints.subsets:
        if not subset.ports:  # a service without ports has endpoints all the same
            yield from (address.ip for address in subset.addresses)
        for port in subset.ports:
            for address in subset.addresses:
                yield f"[{address.ip}]:{port.port}" if ":" in address.ip else f"{address.ip}:{port.port}"


SERVICES = Printer(_SERVICE_COLUMNS, ServiceFields, _service_row)
ENDPOINTS = Printer(_ENDPOINTS_COLUMNS, EndpointsFields, _endpoints_row)
