"""Kinds of the core group beside pods, services and storage: namespaces, nodes and their leases, ConfigMaps, Secrets,
service accounts, events."""

from typing import Annotated

from msgspec import UNSET, field

from understudy.embedded.schema.types.meta import ApiStruct, KubeObject, LocalObjectReference, ObjectReference
from understudy.embedded.schema.types.values import Int32, Int64, Maybe, NonEmpty, Quantities, TaintEffect, Time, keyed


class NamespaceSpec(ApiStruct):
    """The finalizers that must be removed before the namespace is deleted."""

    finalizers: Maybe[list[str]] = UNSET


class NamespaceCondition(ApiStruct):
    """One thing that is true, false or unknown about the namespace."""

    type: NonEmpty
    status: str
    last_transition_time: Maybe[Time] = UNSET
    message: Maybe[str] = UNSET
    reason: Maybe[str] = UNSET


class NamespaceStatus(ApiStruct):
    """Whether the namespace is active or leaving."""

    conditions: Annotated[Maybe[list[NamespaceCondition]], keyed("type")] = UNSET
    phase: Maybe[str] = UNSET


class Namespace(KubeObject, kw_only=True):
    """A room for names; objects in different namespaces do not meet."""

    api_version: str = "v1"
    kind: str = "Namespace"
    spec: NamespaceSpec = field(default_factory=NamespaceSpec)
    status: NamespaceStatus = field(default_factory=NamespaceStatus)


class ConfigMapNodeConfigSource(ApiStruct):
    """A ConfigMap with settings of the node agent."""

    name: NonEmpty
    kubelet_config_key: NonEmpty
    namespace: NonEmpty
    resource_version: Maybe[str] = UNSET
    uid: Maybe[str] = UNSET


class NodeConfigSource(ApiStruct):
    """Where settings of the node agent come from."""

    config_map: Maybe[ConfigMapNodeConfigSource] = UNSET


class Taint(ApiStruct):
    """Repels pods that do not tolerate it."""

    effect: TaintEffect
    key: NonEmpty
    time_added: Maybe[Time] = UNSET
    value: Maybe[str] = UNSET


class NodeSpec(ApiStruct):
    """Settings of a node."""

    config_source: Maybe[NodeConfigSource] = UNSET
    external_id: Maybe[str] = UNSET
    pod_cidr: Maybe[str] = UNSET
    pod_cidrs: Annotated[Maybe[list[str]], keyed()] = UNSET
    provider_id: Maybe[str] = UNSET
    taints: Maybe[list[Taint]] = UNSET
    unschedulable: Maybe[bool] = UNSET


class NodeAddress(ApiStruct):
    """An address of the node."""

    address: NonEmpty
    type: NonEmpty


class NodeCondition(ApiStruct):
    """One thing that is true, false or unknown about the node."""

    type: NonEmpty
    status: str
    last_heartbeat_time: Maybe[Time] = UNSET
    last_transition_time: Maybe[Time] = UNSET
    message: Maybe[str] = UNSET
    reason: Maybe[str] = UNSET


class NodeConfigStatus(ApiStruct):
    """Which settings the node agent uses."""

    active: Maybe[NodeConfigSource] = UNSET
    assigned: Maybe[NodeConfigSource] = UNSET
    error: Maybe[str] = UNSET
    last_known_good: Maybe[NodeConfigSource] = UNSET


class DaemonEndpoint(ApiStruct):
    """A port of a daemon."""

    port: Int32 = field(name="Port")


class NodeDaemonEndpoints(ApiStruct):
    """The ports of the node's daemons."""

    kubelet_endpoint: Maybe[DaemonEndpoint] = UNSET


class NodeFeatures(ApiStruct):
    """What the node's software can do."""

    supplemental_groups_policy: Maybe[bool] = UNSET


class ContainerImage(ApiStruct):
    """An image that is on the node."""

    names: Maybe[list[str]] = UNSET
    size_bytes: Maybe[Int64] = UNSET


class NodeSwapStatus(ApiStruct):
    """Swap of the node."""

    capacity: Maybe[Int64] = UNSET


class NodeSystemInfo(ApiStruct):
    """Software and identity of the machine."""

    architecture: str = ""
    boot_id: str = ""
    container_runtime_version: str = ""
    kernel_version: str = ""
    kube_proxy_version: str = ""
    kubelet_version: str = ""
    machine_id: str = ""
    operating_system: str = ""
    os_image: str = ""
    swap: Maybe[NodeSwapStatus] = UNSET
    system_uuid: str = ""


class NodeRuntimeHandlerFeatures(ApiStruct):
    """What a runtime handler can do."""

    recursive_read_only_mounts: Maybe[bool] = UNSET
    user_namespaces: Maybe[bool] = UNSET


class NodeRuntimeHandler(ApiStruct):
    """A runtime handler of the node."""

    name: Maybe[str] = UNSET
    features: Maybe[NodeRuntimeHandlerFeatures] = UNSET


class AttachedVolume(ApiStruct):
    """A volume attached to the node."""

    name: NonEmpty
    device_path: NonEmpty


class NodeStatus(ApiStruct):
    """What the node offers, and how it is doing."""

    addresses: Annotated[Maybe[list[NodeAddress]], keyed("type")] = UNSET
    allocatable: Maybe[Quantities] = UNSET
    capacity: Maybe[Quantities] = UNSET
    conditions: Annotated[Maybe[list[NodeCondition]], keyed("type")] = UNSET
    config: Maybe[NodeConfigStatus] = UNSET
    daemon_endpoints: Maybe[NodeDaemonEndpoints] = UNSET
    features: Maybe[NodeFeatures] = UNSET
    images: Maybe[list[ContainerImage]] = UNSET
    node_info: Maybe[NodeSystemInfo] = UNSET
    phase: Maybe[str] = UNSET
    runtime_handlers: Maybe[list[NodeRuntimeHandler]] = UNSET
    volumes_attached: Maybe[list[AttachedVolume]] = UNSET
    volumes_in_use: Maybe[list[str]] = UNSET


class Node(KubeObject, kw_only=True):
    """A machine, real or virtual, that pods run on."""

    api_version: str = "v1"
    kind: str = "Node"
    spec: NodeSpec = field(default_factory=NodeSpec)
    status: NodeStatus = field(default_factory=NodeStatus)


class LeaseSpec(ApiStruct):
    """Who holds the lease, and for how long."""

    acquire_time: Maybe[Time] = UNSET
    holder_identity: Maybe[str] = UNSET
    lease_duration_seconds: Maybe[Int32] = UNSET
    lease_transitions: Maybe[Int32] = UNSET
    preferred_holder: Maybe[str] = UNSET
    renew_time: Maybe[Time] = UNSET
    strategy: Maybe[str] = UNSET


class Lease(KubeObject, kw_only=True):
    """Something that one party holds and must renew."""

    api_version: str = "coordination.k8s.io/v1"
    kind: str = "Lease"
    spec: LeaseSpec = field(default_factory=LeaseSpec)


class ConfigMap(KubeObject, kw_only=True):
    """Settings for pods, as keys and values."""

    api_version: str = "v1"
    kind: str = "ConfigMap"
    binary_data: Maybe[dict[str, bytes]] = UNSET
    data: Maybe[dict[str, str]] = UNSET
    immutable: Maybe[bool] = UNSET


class Secret(KubeObject, kw_only=True):
    """Confidential settings. Values are base64."""

    api_version: str = "v1"
    kind: str = "Secret"
    data: Maybe[dict[str, bytes]] = UNSET
    immutable: Maybe[bool] = UNSET
    string_data: Maybe[dict[str, str]] = UNSET
    type: str = "Opaque"


class ServiceAccount(KubeObject, kw_only=True):
    """The identity pods run under."""

    api_version: str = "v1"
    kind: str = "ServiceAccount"
    automount_service_account_token: Maybe[bool] = UNSET
    image_pull_secrets: Annotated[Maybe[list[LocalObjectReference]], keyed("name")] = UNSET
    secrets: Annotated[Maybe[list[ObjectReference]], keyed("name")] = UNSET


class EventSource(ApiStruct):
    """Who reported the event."""

    component: Maybe[str] = UNSET
    host: Maybe[str] = UNSET


class EventSeries(ApiStruct):
    """An event that goes on."""

    count: Maybe[Int32] = UNSET
    last_observed_time: Maybe[Time] = UNSET


class Event(KubeObject, kw_only=True):
    """Something that happened to an object."""

    api_version: str = "v1"
    kind: str = "Event"
    involved_object: ObjectReference
    action: Maybe[str] = UNSET
    count: Maybe[Int32] = UNSET
    event_time: Maybe[Time] = UNSET
    first_timestamp: Maybe[Time] = UNSET
    last_timestamp: Maybe[Time] = UNSET
    message: Maybe[str] = UNSET
    reason: Maybe[str] = UNSET
    related: Maybe[ObjectReference] = UNSET
    reporting_component: str = ""
    reporting_instance: str = ""
    series: Maybe[EventSeries] = UNSET
    source: EventSource = field(default_factory=EventSource)
    type: Maybe[str] = UNSET
