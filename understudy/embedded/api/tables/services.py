"""Services and their endpoints as kubectl prints them."""

from collections.abc import Iterator
from itertools import islice

from msgspec import field

from understudy.embedded.api.tables.human_duration import age
from understudy.embedded.api.tables.printer import (
    AGE,
    NAME,
    NONE,
    Meta,
    PrintedFields,
    Printer,
    Row,
    joined_labels,
    wide,
)
from understudy.embedded.schema.served_resource import Column

_SHOWN = 3  # addresses of endpoints; the rest is counted


class ServicePort(PrintedFields, frozen=True):
    port: int = 0
    node_port: int = 0
    protocol: str = "TCP"


class ServiceSpec(PrintedFields, frozen=True):
    type: str = "ClusterIP"
    cluster_ip: str = field(name="clusterIP", default="")
    cluster_ips: tuple[str, ...] = field(name="clusterIPs", default=())
    external_ips: tuple[str, ...] = field(name="externalIPs", default=())
    external_name: str = ""
    ports: tuple[ServicePort, ...] = ()
    selector: dict[str, str] = field(default_factory=dict)


class Ingress(PrintedFields, frozen=True):
    ip: str = ""
    hostname: str = ""


class LoadBalancer(PrintedFields, frozen=True):
    ingress: tuple[Ingress, ...] = ()


class ServiceStatus(PrintedFields, frozen=True):
    load_balancer: LoadBalancer = LoadBalancer()


class Service(PrintedFields, frozen=True):
    metadata: Meta = Meta()
    spec: ServiceSpec = ServiceSpec()
    status: ServiceStatus = ServiceStatus()


class EndpointAddress(PrintedFields, frozen=True):
    ip: str = ""


class EndpointPort(PrintedFields, frozen=True):
    port: int = 0


class Subset(PrintedFields, frozen=True):
    addresses: tuple[EndpointAddress, ...] = ()
    ports: tuple[EndpointPort, ...] = ()


class Endpoints(PrintedFields, frozen=True):
    metadata: Meta = Meta()
    subsets: tuple[Subset, ...] = ()


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


def _service_row(service: Service, now: float) -> Row:
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


def _external(service: Service) -> str:
    given = ",".join(service.spec.external_ips)
    match service.spec.type:
        case "ExternalName":
            return service.spec.external_name
        case "LoadBalancer":
            balanced = dict.fromkeys(one.ip or one.hostname for one in service.status.load_balancer.ingress)
            return ",".join(text for text in (*balanced, given) if text) or "<pending>"
        case _:
            return given or NONE


def _port(port: ServicePort) -> str:
    return f"{port.port}:{port.node_port}/{port.protocol}" if port.node_port else f"{port.port}/{port.protocol}"


def _endpoints_row(endpoints: Endpoints, now: float) -> Row:
    cells = [endpoints.metadata.name, _reached(endpoints), age(endpoints.metadata.creation_timestamp, now)]
    return Row(cells)


def _reached(endpoints: Endpoints) -> str:
    if not endpoints.subsets:
        return NONE
    count = sum(len(subset.addresses) * max(len(subset.ports), 1) for subset in endpoints.subsets)
    shown = ",".join(islice(_each(endpoints), _SHOWN))
    return f"{shown} + {count - _SHOWN} more..." if count > _SHOWN else shown


def _each(endpoints: Endpoints) -> Iterator[str]:
    for subset in endpoints.subsets:
        if not subset.ports:  # a service without ports has endpoints all the same
            yield from (address.ip for address in subset.addresses)
        for port in subset.ports:
            for address in subset.addresses:
                yield f"[{address.ip}]:{port.port}" if ":" in address.ip else f"{address.ip}:{port.port}"


SERVICES = Printer(_SERVICE_COLUMNS, Service, _service_row)
ENDPOINTS = Printer(_ENDPOINTS_COLUMNS, Endpoints, _endpoints_row)
