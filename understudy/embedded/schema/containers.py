"""Containers: what runs, with which environment, ports, amounts and mounts."""

from typing import Annotated, Literal

from msgspec import UNSET, field

from understudy.embedded.schema.meta import Part
from understudy.embedded.schema.probes import Lifecycle, Probe
from understudy.embedded.schema.security import SecurityContext
from understudy.embedded.schema.values import (
    ZERO,
    Maybe,
    NonEmpty,
    Port,
    Protocol,
    PullPolicy,
    Quantities,
    Quantity,
    keyed,
)


class ConfigMapKeySelector(Part):
    """One key of a ConfigMap."""

    key: NonEmpty
    name: Maybe[str] = UNSET
    optional: Maybe[bool] = UNSET


class SecretKeySelector(Part):
    """One key of a Secret."""

    key: NonEmpty
    name: Maybe[str] = UNSET
    optional: Maybe[bool] = UNSET


class ObjectFieldSelector(Part):
    """A field of the pod itself."""

    field_path: NonEmpty
    api_version: str = "v1"


class ResourceFieldSelector(Part):
    """An amount that a container asks for or is limited to."""

    resource: NonEmpty
    container_name: Maybe[str] = UNSET
    divisor: Quantity = ZERO


class EnvVarSource(Part):
    """Where the value of a variable comes from."""

    config_map_key_ref: Maybe[ConfigMapKeySelector] = UNSET
    field_ref: Maybe[ObjectFieldSelector] = UNSET
    resource_field_ref: Maybe[ResourceFieldSelector] = UNSET
    secret_key_ref: Maybe[SecretKeySelector] = UNSET


class EnvVar(Part):
    """A variable of the environment."""

    name: NonEmpty
    value: Maybe[str] = UNSET
    value_from: Maybe[EnvVarSource] = UNSET


class ConfigMapEnvSource(Part):
    """A ConfigMap whose keys all become variables."""

    name: Maybe[str] = UNSET
    optional: Maybe[bool] = UNSET


class SecretEnvSource(Part):
    """A Secret whose keys all become variables."""

    name: Maybe[str] = UNSET
    optional: Maybe[bool] = UNSET


class EnvFromSource(Part):
    """Variables taken from a whole ConfigMap or Secret."""

    config_map_ref: Maybe[ConfigMapEnvSource] = UNSET
    prefix: Maybe[str] = UNSET
    secret_ref: Maybe[SecretEnvSource] = UNSET


class ContainerPort(Part):
    """A port that the container listens on."""

    container_port: Port
    name: Maybe[str] = UNSET
    host_ip: Maybe[str] = UNSET
    host_port: Maybe[Port] = UNSET
    protocol: Protocol = "TCP"


class ContainerResizePolicy(Part):
    """What a change of an amount does to the container."""

    resource_name: NonEmpty
    restart_policy: Literal["NotRequired", "RestartContainer"]


class ResourceClaim(Part):
    """A claim of the pod that the container uses."""

    name: NonEmpty
    request: Maybe[str] = UNSET


class ResourceRequirements(Part):
    """What is asked for, and what must not be exceeded."""

    claims: Annotated[Maybe[list[ResourceClaim]], keyed("name")] = UNSET
    limits: Maybe[Quantities] = UNSET
    requests: Maybe[Quantities] = UNSET


class VolumeDevice(Part):
    """A raw device in the container."""

    name: NonEmpty
    device_path: NonEmpty


class VolumeMount(Part):
    """A volume of the pod, and where the container sees it."""

    name: NonEmpty
    mount_path: NonEmpty
    mount_propagation: Maybe[Literal["None", "HostToContainer", "Bidirectional"]] = UNSET
    read_only: Maybe[bool] = UNSET
    recursive_read_only: Maybe[Literal["Disabled", "IfPossible", "Enabled"]] = UNSET
    sub_path: Maybe[str] = UNSET
    sub_path_expr: Maybe[str] = UNSET


class Container(Part):
    """A process of the pod."""

    name: NonEmpty
    args: Maybe[list[str]] = UNSET
    command: Maybe[list[str]] = UNSET
    env: Annotated[Maybe[list[EnvVar]], keyed("name")] = UNSET
    env_from: Maybe[list[EnvFromSource]] = UNSET
    image: Maybe[str] = UNSET
    image_pull_policy: Maybe[PullPolicy] = UNSET
    lifecycle: Maybe[Lifecycle] = UNSET
    liveness_probe: Maybe[Probe] = UNSET
    ports: Annotated[Maybe[list[ContainerPort]], keyed("containerPort", "protocol")] = UNSET
    readiness_probe: Maybe[Probe] = UNSET
    resize_policy: Maybe[list[ContainerResizePolicy]] = UNSET
    resources: ResourceRequirements = field(default_factory=ResourceRequirements)
    restart_policy: Maybe[str] = UNSET
    security_context: Maybe[SecurityContext] = UNSET
    startup_probe: Maybe[Probe] = UNSET
    stdin: Maybe[bool] = UNSET
    stdin_once: Maybe[bool] = UNSET
    termination_message_path: str = "/dev/termination-log"
    termination_message_policy: Literal["File", "FallbackToLogsOnError"] = "File"
    tty: Maybe[bool] = UNSET
    volume_devices: Annotated[Maybe[list[VolumeDevice]], keyed("devicePath")] = UNSET
    volume_mounts: Annotated[Maybe[list[VolumeMount]], keyed("mountPath")] = UNSET
    working_dir: Maybe[str] = UNSET


class EphemeralContainer(Container):
    """A container added to a running pod to look into it."""

    target_container_name: Maybe[str] = UNSET
