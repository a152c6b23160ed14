"""Pods and pod templates: specification and status."""

from typing import Annotated, Literal

from msgspec import UNSET, field

from understudy.embedded.schema.types.containers import (
    Container,
    EphemeralContainer,
    PodSecurityContext,
    ResourceRequirements,
)
from understudy.embedded.schema.types.meta import ApiStruct, KubeObject, LocalObjectReference, ObjectMeta
from understudy.embedded.schema.types.scheduling import Affinity, Toleration, TopologySpreadConstraint
from understudy.embedded.schema.types.values import (
    Int32,
    Int64,
    Maybe,
    NonEmpty,
    PositiveSeconds,
    PreemptionPolicy,
    Quantities,
    RestartPolicy,
    Seconds,
    Time,
    keyed,
)
from understudy.embedded.schema.types.volumes import Volume


class ContainerStateRunning(ApiStruct):
    """Since when it runs."""

    started_at: Maybe[Time] = UNSET


class ContainerStateTerminated(ApiStruct):
    """How the container ended."""

    exit_code: Int32
    container_id: Maybe[str] = UNSET
    finished_at: Maybe[Time] = UNSET
    message: Maybe[str] = UNSET
    reason: Maybe[str] = UNSET
    signal: Maybe[Int32] = UNSET
    started_at: Maybe[Time] = UNSET


class ContainerStateWaiting(ApiStruct):
    """Why the container does not run yet."""

    message: Maybe[str] = UNSET
    reason: Maybe[str] = UNSET


class ContainerState(ApiStruct):
    """One of waiting, running and terminated."""

    running: Maybe[ContainerStateRunning] = UNSET
    terminated: Maybe[ContainerStateTerminated] = UNSET
    waiting: Maybe[ContainerStateWaiting] = UNSET


class LinuxContainerUser(ApiStruct):
    """User and groups of the first process."""

    gid: Int64
    uid: Int64
    supplemental_groups: Maybe[list[Int64]] = UNSET


class ContainerUser(ApiStruct):
    """The user that the first process runs as."""

    linux: Maybe[LinuxContainerUser] = UNSET


class VolumeMountStatus(ApiStruct):
    """How a volume was mounted."""

    name: NonEmpty
    mount_path: NonEmpty
    read_only: Maybe[bool] = UNSET
    recursive_read_only: Maybe[str] = UNSET


class ResourceHealth(ApiStruct):
    """How a device is doing."""

    resource_id: NonEmpty
    health: Maybe[str] = UNSET


class ResourceStatus(ApiStruct):
    """How the devices of one resource are doing."""

    name: NonEmpty
    resources: Maybe[list[ResourceHealth]] = UNSET


class ContainerStatus(ApiStruct):
    """What is known about one container."""

    name: NonEmpty
    allocated_resources: Maybe[Quantities] = UNSET
    allocated_resources_status: Maybe[list[ResourceStatus]] = UNSET
    container_id: Maybe[str] = UNSET
    image: str = ""
    image_id: str = ""
    last_state: ContainerState = field(default_factory=ContainerState)
    ready: bool = False
    resources: Maybe[ResourceRequirements] = UNSET
    restart_count: Int32 = 0
    started: Maybe[bool] = UNSET
    state: ContainerState = field(default_factory=ContainerState)
    stop_signal: Maybe[str] = UNSET
    user: Maybe[ContainerUser] = UNSET
    volume_mounts: Maybe[list[VolumeMountStatus]] = UNSET


class PodCondition(ApiStruct):
    """One thing that is true, false or unknown about the pod."""

    type: NonEmpty
    status: str
    last_probe_time: Maybe[Time] = UNSET
    last_transition_time: Maybe[Time] = UNSET
    message: Maybe[str] = UNSET
    observed_generation: Maybe[Int64] = UNSET
    reason: Maybe[str] = UNSET


class HostIP(ApiStruct):
    """An address of the pod's machine."""

    ip: NonEmpty


class PodIP(ApiStruct):
    """An address of the pod."""

    ip: NonEmpty


class PodResourceClaimStatus(ApiStruct):
    """The claim made for an entry of resourceClaims."""

    name: NonEmpty
    resource_claim_name: Maybe[str] = UNSET


class PodStatus(ApiStruct):
    """What is known about the pod."""

    conditions: Annotated[Maybe[list[PodCondition]], keyed("type")] = UNSET
    container_statuses: Maybe[list[ContainerStatus]] = UNSET
    ephemeral_container_statuses: Maybe[list[ContainerStatus]] = UNSET
    host_ip: Maybe[str] = UNSET
    host_ips: Annotated[Maybe[list[HostIP]], keyed("ip")] = UNSET
    init_container_statuses: Maybe[list[ContainerStatus]] = UNSET
    message: Maybe[str] = UNSET
    nominated_node_name: Maybe[str] = UNSET
    observed_generation: Maybe[Int64] = UNSET
    phase: Maybe[str] = UNSET
    pod_ip: Maybe[str] = UNSET
    pod_ips: Annotated[Maybe[list[PodIP]], keyed("ip")] = UNSET
    qos_class: Maybe[str] = UNSET
    reason: Maybe[str] = UNSET
    resize: Maybe[str] = UNSET
    resource_claim_statuses: Annotated[Maybe[list[PodResourceClaimStatus]], keyed("name")] = UNSET
    start_time: Maybe[Time] = UNSET


class HostAlias(ApiStruct):
    """Host names for an address."""

    ip: NonEmpty
    hostnames: Maybe[list[str]] = UNSET


class PodDNSConfigOption(ApiStruct):
    """An option of the resolver."""

    name: Maybe[str] = UNSET
    value: Maybe[str] = UNSET


class PodDNSConfig(ApiStruct):
    """How names are resolved."""

    nameservers: Maybe[list[str]] = UNSET
    options: Maybe[list[PodDNSConfigOption]] = UNSET
    searches: Maybe[list[str]] = UNSET


class PodOS(ApiStruct):
    """The operating system the pod is for."""

    name: Literal["linux", "windows"]


class PodReadinessGate(ApiStruct):
    """A condition that must hold before the pod is ready."""

    condition_type: NonEmpty


class PodResourceClaim(ApiStruct):
    """A claim on devices."""

    name: NonEmpty
    resource_claim_name: Maybe[str] = UNSET
    resource_claim_template_name: Maybe[str] = UNSET


class PodSchedulingGate(ApiStruct):
    """Holds the pod back until it is removed."""

    name: NonEmpty


class PodSpec(ApiStruct):
    """What a pod runs, and where it may run."""

    containers: Annotated[list[Container], keyed("name", at_least=1)]
    active_deadline_seconds: Maybe[PositiveSeconds] = UNSET
    affinity: Maybe[Affinity] = UNSET
    automount_service_account_token: Maybe[bool] = UNSET
    dns_config: Maybe[PodDNSConfig] = UNSET
    dns_policy: Literal["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"] = "ClusterFirst"
    enable_service_links: Maybe[bool] = UNSET
    ephemeral_containers: Annotated[Maybe[list[EphemeralContainer]], keyed("name")] = UNSET
    host_aliases: Annotated[Maybe[list[HostAlias]], keyed("ip")] = UNSET
    host_ipc: Maybe[bool] = UNSET
    host_network: Maybe[bool] = UNSET
    host_pid: Maybe[bool] = UNSET
    host_users: Maybe[bool] = UNSET
    hostname: Maybe[str] = UNSET
    image_pull_secrets: Annotated[Maybe[list[LocalObjectReference]], keyed("name")] = UNSET
    init_containers: Annotated[Maybe[list[Container]], keyed("name")] = UNSET
    node_name: Maybe[str] = UNSET
    node_selector: Maybe[dict[str, str]] = UNSET
    os: Maybe[PodOS] = UNSET
    overhead: Maybe[Quantities] = UNSET
    preemption_policy: Maybe[PreemptionPolicy] = UNSET
    priority: Maybe[Int32] = UNSET
    priority_class_name: Maybe[str] = UNSET
    readiness_gates: Maybe[list[PodReadinessGate]] = UNSET
    resource_claims: Annotated[Maybe[list[PodResourceClaim]], keyed("name")] = UNSET
    resources: Maybe[ResourceRequirements] = UNSET
    restart_policy: RestartPolicy = "Always"
    runtime_class_name: Maybe[str] = UNSET
    scheduler_name: str = "default-scheduler"
    scheduling_gates: Annotated[Maybe[list[PodSchedulingGate]], keyed("name")] = UNSET
    security_context: PodSecurityContext = field(default_factory=PodSecurityContext)
    service_account: Maybe[str] = UNSET
    service_account_name: Maybe[str] = UNSET
    set_hostname_as_fqdn: Maybe[bool] = UNSET
    share_process_namespace: Maybe[bool] = UNSET
    subdomain: Maybe[str] = UNSET
    termination_grace_period_seconds: Seconds = 30
    tolerations: Maybe[list[Toleration]] = UNSET
    topology_spread_constraints: Annotated[
        Maybe[list[TopologySpreadConstraint]], keyed("topologyKey", "whenUnsatisfiable")
    ] = UNSET
    volumes: Annotated[Maybe[list[Volume]], keyed("name")] = UNSET


class PodTemplateSpec(ApiStruct):
    """A pod to be made."""

    spec: PodSpec
    metadata: ObjectMeta = field(default_factory=ObjectMeta)


class Pod(KubeObject, kw_only=True):
    """Containers that run together on one node; the smallest thing that is scheduled."""

    api_version: str = "v1"
    kind: str = "Pod"
    spec: PodSpec
    status: PodStatus = field(default_factory=PodStatus)
