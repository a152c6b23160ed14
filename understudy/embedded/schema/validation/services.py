"""Services and Endpoints: defaults, addresses as data, checks."""

import hashlib
import ipaddress
from collections.abc import Iterator

from msgspec import UNSET

from understudy.embedded.schema import causes
from understudy.embedded.schema.causes import child, member
from understudy.embedded.schema.errors import Cause
from understudy.embedded.schema.served_resource import Lookup
from understudy.embedded.schema.types.services import (
    ClientIPConfig,
    Endpoints,
    EndpointSlice,
    Service,
    ServiceSpec,
    ServiceStatus,
    SessionAffinityConfig,
)
from understudy.embedded.schema.validation import metadata, names
from understudy.embedded.schema.validation.pod_spec import is_address

_ADDRESSES = ipaddress.ip_network("127.96.0.0/12")
_BAD_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


def complete(service: Service) -> None:
    spec = service.spec
    for port in spec.ports or ():
        if port.target_port is UNSET or port.target_port in (0, ""):
            port.target_port = port.port
    if spec.session_affinity == "ClientIP" and spec.session_affinity_config is UNSET:
        spec.session_affinity_config = SessionAffinityConfig(client_ip=ClientIPConfig(timeout_seconds=10_800))
    if spec.type == "ExternalName":
        return
    spec.internal_traffic_policy = spec.internal_traffic_policy or "Cluster"
    spec.ip_families = spec.ip_families or ["IPv4"]
    spec.ip_family_policy = spec.ip_family_policy or "SingleStack"
    if spec.type in ("NodePort", "LoadBalancer"):
        spec.external_traffic_policy = spec.external_traffic_policy or "Cluster"
    if spec.type == "LoadBalancer" and spec.allocate_load_balancer_node_ports is UNSET:
        spec.allocate_load_balancer_node_ports = True


def begin(service: Service, _: Lookup) -> None:
    service.status = ServiceStatus()
    spec = service.spec
    if spec.type == "ExternalName":
        return
    if not spec.cluster_ip:
        spec.cluster_ip = spec.cluster_ips[0] if spec.cluster_ips else address_for(service)
    spec.cluster_ips = spec.cluster_ips or [spec.cluster_ip]


def address_for(service: Service) -> str:
    """A cluster IP derived from the name, always the same. It is data only: nothing listens there."""
    name = f"{service.metadata.namespace or ''}/{service.metadata.name or ''}"
    number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
    return str(_ADDRESSES[1 + number % (_ADDRESSES.num_addresses - 2)])


def inherit(new: Service, old: Service) -> None:
    """An update without an address keeps the old one."""
    if new.spec.type == "ExternalName":
        return
    new.spec.cluster_ip = new.spec.cluster_ip or old.spec.cluster_ip
    new.spec.cluster_ips = new.spec.cluster_ips or old.spec.cluster_ips
    if not new.spec.cluster_ip:
        new.spec.cluster_ip = address_for(new)
        new.spec.cluster_ips = [new.spec.cluster_ip]


def check(service: Service) -> Iterator[Cause]:
    spec = service.spec
    if spec.selector:
        yield from metadata.labels(spec.selector, "spec.selector")
    if spec.type == "ExternalName":
        yield from _external(spec)
    elif spec.cluster_ip and spec.cluster_ip != "None" and not is_address(spec.cluster_ip):
        yield causes.bad_value("spec.clusterIPs[0]", spec.cluster_ip, _BAD_ADDRESS)
    elif not spec.ports and spec.cluster_ip != "None":
        yield causes.required("spec.ports")
    if spec.cluster_ip == "None" and spec.type not in ("ClusterIP", "ExternalName"):
        yield causes.bad_value("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {spec.type} services")
    yield from _ports(spec)


def _external(spec: ServiceSpec) -> Iterator[Cause]:
    name = (spec.external_name or "").removesuffix(".")
    if not name:
        yield causes.required("spec.externalName")
    elif problem := names.subdomain(name):
        yield causes.bad_value("spec.externalName", name, problem)
    if spec.cluster_ip:
        yield causes.not_allowed("spec.clusterIPs", "may not be set for ExternalName services")


def _ports(spec: ServiceSpec) -> Iterator[Cause]:
    names_seen, pairs_seen = set(), set()
    for i, port in enumerate(spec.ports or ()):
        where = f"spec.ports[{i}]"
        if not port.name:
            if len(spec.ports or ()) > 1:
                yield causes.required(child(where, "name"))
        elif problem := names.label(port.name):
            yield causes.bad_value(child(where, "name"), port.name, problem)
        elif port.name in names_seen:
            yield causes.duplicate(child(where, "name"), port.name)
        names_seen.add(port.name or "")
        pair = (port.protocol, port.port)
        if pair in pairs_seen:
            yield causes.duplicate(where, {"protocol": port.protocol, "port": port.port})
        pairs_seen.add(pair)
        target = port.target_port
        if isinstance(target, int) and not 1 <= target <= 65535:
            yield causes.bad_value(child(where, "targetPort"), target, "must be between 1 and 65535, inclusive")
        elif isinstance(target, str) and (problem := names.port_name(target)):
            yield causes.bad_value(child(where, "targetPort"), target, problem)


def changed(new: Service, old: Service) -> Iterator[Cause]:
    before, after = old.spec.cluster_ip, new.spec.cluster_ip
    if before and after != before and "ExternalName" not in (new.spec.type, old.spec.type):
        yield causes.bad_value("spec.clusterIPs[0]", [after or ""], "may not change once set")


def check_endpoints(endpoints: Endpoints) -> Iterator[Cause]:
    for i, subset in enumerate(endpoints.subsets or ()):
        where = member("subsets", i)
        if not subset.addresses and not subset.not_ready_addresses:
            yield causes.required(where, "must specify `addresses` or `notReadyAddresses`")
        for name, addresses in (("addresses", subset.addresses), ("notReadyAddresses", subset.not_ready_addresses)):
            for n, address in enumerate(addresses or ()):
                if not is_address(address.ip):
                    yield causes.bad_value(f"{where}.{name}[{n}].ip", address.ip, _BAD_ADDRESS)
        for n, port in enumerate(subset.ports or ()):
            if not port.name and len(subset.ports or ()) > 1:
                yield causes.required(f"{where}.ports[{n}].name")


def check_slice(piece: EndpointSlice) -> Iterator[Cause]:
    for i, endpoint in enumerate(piece.endpoints):
        where = member("endpoints", i)
        if not endpoint.addresses:
            yield causes.required(child(where, "addresses"), "must contain at least 1 address")
        for n, address in enumerate(endpoint.addresses):
            if piece.address_type != "FQDN" and not is_address(address):
                yield causes.bad_value(member(child(where, "addresses"), n), address, _BAD_ADDRESS)
