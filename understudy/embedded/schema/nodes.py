"""Nodes: what a machine offers, whom it repels, how it is doing."""

from typing import Annotated

from msgspec import UNSET, field

from understudy.embedded.schema.meta import KubeObject, Part
from understudy.embedded.schema.values import Int32, Int64, Maybe, NonEmpty, Quantities, TaintEffect, Time, keyed


class ConfigMapNodeConfigSource(Part):
    """A ConfigMap with settings of the node agent."""

    name: NonEmpty
    kubelet_config_key: NonEmpty
    namespace: NonEmpty
    resource_version: Maybe[str] = UNSET
    uid: Maybe[str] = UNSET


class NodeConfigSource(Part):
    """Where settings of the node agent come from."""

    config_map: Maybe[ConfigMapNodeConfigSource] = UNSET


class Taint(Part):
    """Repels pods that do not tolerate it."""

    effect: TaintEffect
    key: NonEmpty
    time_added: Maybe[Time] = UNSET
    value: Maybe[str] = UNSET


class NodeSpec(Part):
    """Settings of a node."""

    config_source: Maybe[NodeConfigSource] = UNSET
    external_id: Maybe[str] = UNSET
    pod_cidr: Maybe[str] = UNSET
    pod_cidrs: Annotated[Maybe[list[str]], keyed()] = UNSET
    provider_id: Maybe[str] = UNSET
    taints: Maybe[list[Taint]] = UNSET
    unschedulable: Maybe[bool] = UNSET


class NodeAddress(Part):
    """An address of the node."""

    address: NonEmpty
    type: NonEmpty


class NodeCondition(Part):
    """One thing that is true, false or unknown about the node."""

    type: NonEmpty
    status: str
    last_heartbeat_time: Maybe[Time] = UNSET
    last_transition_time: Maybe[Time] = UNSET
    message: Maybe[str] = UNSET
    reason: Maybe[str] = UNSET


class NodeConfigStatus(Part):
    """Which settings the node agent uses."""

    active: Maybe[NodeConfigSource] = UNSET
    assigned: Maybe[NodeConfigSource] = UNSET
    error: Maybe[str] = UNSET
    last_known_good: Maybe[NodeConfigSource] = UNSET


class DaemonEndpoint(Part):
    """A port of a daemon."""

    port: Int32 = field(name="Port")


class NodeDaemonEndpoints(Part):
    """The ports of the node's daemons."""

    kubelet_endpoint: Maybe[DaemonEndpoint] = UNSET


class NodeFeatures(Part):
    """What the node's software can do."""

    supplemental_groups_policy: Maybe[bool] = UNSET


class ContainerImage(Part):
    """An image that is on the node."""

    names: Maybe[list[str]] = UNSET
    size_bytes: Maybe[Int64] = UNSET


class NodeSwapStatus(Part):
    """Swap of the node."""

    capacity: Maybe[Int64] = UNSET


class NodeSystemInfo(Part):
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


class NodeRuntimeHandlerFeatures(Part):
    """What a runtime handler can do."""

    recursive_read_only_mounts: Maybe[bool] = UNSET
    user_namespaces: Maybe[bool] = UNSET


class NodeRuntimeHandler(Part):
    """A runtime handler of the node."""

    name: Maybe[str] = UNSET
    features: Maybe[NodeRuntimeHandlerFeatures] = UNSET


class AttachedVolume(Part):
    """A volume attached to the node."""

    name: NonEmpty
    device_path: NonEmpty


class NodeStatus(Part):
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
