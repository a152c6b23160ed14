"""Services, Endpoints and EndpointSlices: a name for a group of pods, and the addresses behind it."""

from typing import Annotated, Literal

from msgspec import UNSET, field

from understudy.embedded.schema.types.meta import ApiStruct, Condition, KubeObject, ObjectReference
from understudy.embedded.schema.types.values import Int32, IntOrString, Maybe, NonEmpty, Port, Protocol, keyed


class ServicePort(ApiStruct):
    """A port of the service, and the port of the pods behind it."""

    port: Port
    name: Maybe[str] = UNSET
    app_protocol: Maybe[str] = UNSET
    node_port: Maybe[Port] = UNSET
    protocol: Protocol = "TCP"
    target_port: Maybe[IntOrString] = UNSET


class ClientIPConfig(ApiStruct):
    """How long a client stays with a pod."""

    timeout_seconds: Maybe[Int32] = UNSET


class SessionAffinityConfig(ApiStruct):
    """How clients stay with pods."""

    client_ip: Maybe[ClientIPConfig] = UNSET


class ServiceSpec(ApiStruct):
    """Which pods stand behind the service, and at which ports."""

    allocate_load_balancer_node_ports: Maybe[bool] = UNSET
    cluster_ip: Maybe[str] = UNSET
    cluster_ips: Maybe[list[str]] = UNSET
    external_ips: Maybe[list[str]] = UNSET
    external_name: Maybe[str] = UNSET
    external_traffic_policy: Maybe[Literal["Cluster", "Local"]] = UNSET
    health_check_node_port: Maybe[Int32] = UNSET
    internal_traffic_policy: Maybe[Literal["Cluster", "Local"]] = UNSET
    ip_families: Maybe[list[str]] = UNSET
    ip_family_policy: Maybe[Literal["SingleStack", "PreferDualStack", "RequireDualStack"]] = UNSET
    load_balancer_class: Maybe[str] = UNSET
    load_balancer_ip: Maybe[str] = UNSET
    load_balancer_source_ranges: Maybe[list[str]] = UNSET
    ports: Annotated[Maybe[list[ServicePort]], keyed("port", "protocol")] = UNSET
    publish_not_ready_addresses: Maybe[bool] = UNSET
    selector: Maybe[dict[str, str]] = UNSET
    session_affinity: Literal["ClientIP", "None"] = "None"
    session_affinity_config: Maybe[SessionAffinityConfig] = UNSET
    traffic_distribution: Maybe[str] = UNSET
    type: Literal["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"] = "ClusterIP"


class PortStatus(ApiStruct):
    """How a port of a load balancer is doing."""

    port: Int32
    protocol: Protocol
    error: Maybe[str] = UNSET


class LoadBalancerIngress(ApiStruct):
    """An address of the load balancer."""

    hostname: Maybe[str] = UNSET
    ip: Maybe[str] = UNSET
    ip_mode: Maybe[Literal["VIP", "Proxy"]] = UNSET
    ports: Maybe[list[PortStatus]] = UNSET


class LoadBalancerStatus(ApiStruct):
    """The addresses of the load balancer."""

    ingress: Maybe[list[LoadBalancerIngress]] = UNSET


class ServiceStatus(ApiStruct):
    """What is known about the service."""

    conditions: Annotated[Maybe[list[Condition]], keyed("type")] = UNSET
    load_balancer: LoadBalancerStatus = field(default_factory=LoadBalancerStatus)


class Service(KubeObject, kw_only=True):
    """A name for a group of pods."""

    api_version: str = "v1"
    kind: str = "Service"
    spec: ServiceSpec = field(default_factory=ServiceSpec)
    status: ServiceStatus = field(default_factory=ServiceStatus)


class EndpointAddress(ApiStruct):
    """An address behind a service."""

    ip: NonEmpty
    hostname: Maybe[str] = UNSET
    node_name: Maybe[str] = UNSET
    target_ref: Maybe[ObjectReference] = UNSET


class EndpointPort(ApiStruct):
    """A port of the addresses."""

    port: Port
    name: Maybe[str] = UNSET
    app_protocol: Maybe[str] = UNSET
    protocol: Protocol = "TCP"


class EndpointSubset(ApiStruct):
    """Addresses that share ports."""

    addresses: Maybe[list[EndpointAddress]] = UNSET
    not_ready_addresses: Maybe[list[EndpointAddress]] = UNSET
    ports: Maybe[list[EndpointPort]] = UNSET


class Endpoints(KubeObject, kw_only=True):
    """The addresses behind a service."""

    api_version: str = "v1"
    kind: str = "Endpoints"
    subsets: Maybe[list[EndpointSubset]] = UNSET


class EndpointConditions(ApiStruct):
    """Whether an endpoint takes requests."""

    ready: Maybe[bool] = UNSET
    serving: Maybe[bool] = UNSET
    terminating: Maybe[bool] = UNSET


class ObjectName(ApiStruct):
    """A zone or a node."""

    name: str


class EndpointHints(ApiStruct):
    """Who should use the endpoint."""

    for_nodes: Maybe[list[ObjectName]] = UNSET
    for_zones: Maybe[list[ObjectName]] = UNSET


class Endpoint(ApiStruct):
    """One address behind a service, with what is known about it."""

    addresses: list[str]
    conditions: EndpointConditions = field(default_factory=EndpointConditions)
    deprecated_topology: Maybe[dict[str, str]] = UNSET
    hints: Maybe[EndpointHints] = UNSET
    hostname: Maybe[str] = UNSET
    node_name: Maybe[str] = UNSET
    target_ref: Maybe[ObjectReference] = UNSET
    zone: Maybe[str] = UNSET


class EndpointSlicePort(ApiStruct):
    """A port of the addresses. Without a number: every port."""

    app_protocol: Maybe[str] = UNSET
    name: str = ""
    port: Maybe[Port] = UNSET
    protocol: Protocol = "TCP"


class EndpointSlice(KubeObject, kw_only=True):
    """Some of the addresses behind a service."""

    api_version: str = "discovery.k8s.io/v1"
    kind: str = "EndpointSlice"
    address_type: Literal["IPv4", "IPv6", "FQDN"]
    endpoints: list[Endpoint]
    ports: Maybe[list[EndpointSlicePort]] = UNSET
