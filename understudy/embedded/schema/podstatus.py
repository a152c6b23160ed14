"""What is known about a running pod and its containers."""

from typing import Annotated

from msgspec import UNSET, field

from understudy.embedded.schema.containers import ResourceRequirements
from understudy.embedded.schema.meta import Part
from understudy.embedded.schema.values import Int32, Int64, Maybe, NonEmpty, Quantities, Time, keyed


class ContainerStateRunning(Part):
    """Since when it runs."""

    started_at: Maybe[Time] = UNSET


class ContainerStateTerminated(Part):
    """How it ended."""

    exit_code: Int32
    container_id: Maybe[str] = UNSET
    finished_at: Maybe[Time] = UNSET
    message: Maybe[str] = UNSET
    reason: Maybe[str] = UNSET
    signal: Maybe[Int32] = UNSET
    started_at: Maybe[Time] = UNSET


class ContainerStateWaiting(Part):
    """Why it does not run yet."""

    message: Maybe[str] = UNSET
    reason: Maybe[str] = UNSET


class ContainerState(Part):
    """One of waiting, running and terminated."""

    running: Maybe[ContainerStateRunning] = UNSET
    terminated: Maybe[ContainerStateTerminated] = UNSET
    waiting: Maybe[ContainerStateWaiting] = UNSET


class LinuxContainerUser(Part):
    """User and groups of the first process."""

    gid: Int64
    uid: Int64
    supplemental_groups: Maybe[list[Int64]] = UNSET


class ContainerUser(Part):
    """Whom the first process runs as."""

    linux: Maybe[LinuxContainerUser] = UNSET


class VolumeMountStatus(Part):
    """How a volume was mounted."""

    name: NonEmpty
    mount_path: NonEmpty
    read_only: Maybe[bool] = UNSET
    recursive_read_only: Maybe[str] = UNSET


class ResourceHealth(Part):
    """How a device is doing."""

    resource_id: NonEmpty
    health: Maybe[str] = UNSET


class ResourceStatus(Part):
    """How the devices of one resource are doing."""

    name: NonEmpty
    resources: Maybe[list[ResourceHealth]] = UNSET


class ContainerStatus(Part):
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


class PodCondition(Part):
    """One thing that is true, false or unknown about the pod."""

    type: NonEmpty
    status: str
    last_probe_time: Maybe[Time] = UNSET
    last_transition_time: Maybe[Time] = UNSET
    message: Maybe[str] = UNSET
    observed_generation: Maybe[Int64] = UNSET
    reason: Maybe[str] = UNSET


class HostIP(Part):
    """An address of the pod's machine."""

    ip: NonEmpty


class PodIP(Part):
    """An address of the pod."""

    ip: NonEmpty


class PodResourceClaimStatus(Part):
    """The claim made for an entry of resourceClaims."""

    name: NonEmpty
    resource_claim_name: Maybe[str] = UNSET


class PodStatus(Part):
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
