"""Containers: what runs, its environment, ports, resources and mounts, probes, hooks and security settings."""

from typing import Annotated, Literal

from msgspec import UNSET, field

from understudy.embedded.schema.types.meta import ApiStruct
from understudy.embedded.schema.types.values import (
    ZERO,
    Count,
    Int64,
    IntOrString,
    Maybe,
    NonEmpty,
    Port,
    Positive,
    Protocol,
    PullPolicy,
    Quantities,
    Quantity,
    keyed,
)


class ExecAction(ApiStruct):
    """A command run in the container. Exit code 0 means well."""

    command: Maybe[list[str]] = UNSET


class HTTPHeader(ApiStruct):
    """A header sent with a request."""

    name: NonEmpty
    value: str


class HTTPGetAction(ApiStruct):
    """An HTTP request to the container. 200 to 399 means well."""

    port: IntOrString
    host: Maybe[str] = UNSET
    http_headers: Maybe[list[HTTPHeader]] = UNSET
    path: str = "/"
    scheme: Literal["HTTP", "HTTPS"] = "HTTP"


class TCPSocketAction(ApiStruct):
    """A connection to a port of the container. Open means well."""

    port: IntOrString
    host: Maybe[str] = UNSET


class GRPCAction(ApiStruct):
    """A call of the gRPC health service."""

    port: Port
    service: str = ""


class SleepAction(ApiStruct):
    """Waits for some seconds."""

    seconds: Int64


class Probe(ApiStruct):
    """A check that is made over and over while the container runs."""

    exec: Maybe[ExecAction] = UNSET
    failure_threshold: Positive = 3
    grpc: Maybe[GRPCAction] = UNSET
    http_get: Maybe[HTTPGetAction] = UNSET
    initial_delay_seconds: Maybe[Count] = UNSET
    period_seconds: Positive = 10
    success_threshold: Positive = 1
    tcp_socket: Maybe[TCPSocketAction] = UNSET
    termination_grace_period_seconds: Maybe[Positive] = UNSET
    timeout_seconds: Positive = 1


class LifecycleHandler(ApiStruct):
    """What is done at a point in the life of a container."""

    exec: Maybe[ExecAction] = UNSET
    http_get: Maybe[HTTPGetAction] = UNSET
    sleep: Maybe[SleepAction] = UNSET
    tcp_socket: Maybe[TCPSocketAction] = UNSET


class Lifecycle(ApiStruct):
    """What is done after the start and before the stop of a container."""

    post_start: Maybe[LifecycleHandler] = UNSET
    pre_stop: Maybe[LifecycleHandler] = UNSET
    stop_signal: Maybe[str] = UNSET


class AppArmorProfile(ApiStruct):
    """The AppArmor profile to run under."""

    type: Literal["Localhost", "RuntimeDefault", "Unconfined"]
    localhost_profile: Maybe[str] = UNSET


class SeccompProfile(ApiStruct):
    """The seccomp profile to run under."""

    type: Literal["Localhost", "RuntimeDefault", "Unconfined"]
    localhost_profile: Maybe[str] = UNSET


class SELinuxOptions(ApiStruct):
    """The SELinux context to run under."""

    level: Maybe[str] = UNSET
    role: Maybe[str] = UNSET
    type: Maybe[str] = UNSET
    user: Maybe[str] = UNSET


class WindowsSecurityContextOptions(ApiStruct):
    """Settings for Windows."""

    gmsa_credential_spec: Maybe[str] = UNSET
    gmsa_credential_spec_name: Maybe[str] = UNSET
    host_process: Maybe[bool] = UNSET
    run_as_user_name: Maybe[str] = UNSET


class Capabilities(ApiStruct):
    """Linux capabilities to add and to drop."""

    add: Maybe[list[str]] = UNSET
    drop: Maybe[list[str]] = UNSET


class SecurityContext(ApiStruct):
    """User, rights and limits of one container."""

    allow_privilege_escalation: Maybe[bool] = UNSET
    app_armor_profile: Maybe[AppArmorProfile] = UNSET
    capabilities: Maybe[Capabilities] = UNSET
    privileged: Maybe[bool] = UNSET
    proc_mount: Maybe[Literal["Default", "Unmasked"]] = UNSET
    read_only_root_filesystem: Maybe[bool] = UNSET
    run_as_group: Maybe[Int64] = UNSET
    run_as_non_root: Maybe[bool] = UNSET
    run_as_user: Maybe[Int64] = UNSET
    se_linux_options: Maybe[SELinuxOptions] = UNSET
    seccomp_profile: Maybe[SeccompProfile] = UNSET
    windows_options: Maybe[WindowsSecurityContextOptions] = UNSET


class Sysctl(ApiStruct):
    """A kernel setting."""

    name: NonEmpty
    value: NonEmpty


class PodSecurityContext(ApiStruct):
    """User, rights and groups for all containers of the pod."""

    app_armor_profile: Maybe[AppArmorProfile] = UNSET
    fs_group: Maybe[Int64] = UNSET
    fs_group_change_policy: Maybe[Literal["OnRootMismatch", "Always"]] = UNSET
    run_as_group: Maybe[Int64] = UNSET
    run_as_non_root: Maybe[bool] = UNSET
    run_as_user: Maybe[Int64] = UNSET
    se_linux_change_policy: Maybe[Literal["MountOption", "Recursive"]] = UNSET
    se_linux_options: Maybe[SELinuxOptions] = UNSET
    seccomp_profile: Maybe[SeccompProfile] = UNSET
    supplemental_groups: Maybe[list[Int64]] = UNSET
    supplemental_groups_policy: Maybe[Literal["Merge", "Strict"]] = UNSET
    sysctls: Maybe[list[Sysctl]] = UNSET
    windows_options: Maybe[WindowsSecurityContextOptions] = UNSET


class ConfigMapKeySelector(ApiStruct):
    """One key of a ConfigMap."""

    key: NonEmpty
    name: Maybe[str] = UNSET
    optional: Maybe[bool] = UNSET


class SecretKeySelector(ApiStruct):
    """One key of a Secret."""

    key: NonEmpty
    name: Maybe[str] = UNSET
    optional: Maybe[bool] = UNSET


class ObjectFieldSelector(ApiStruct):
    """A field of the pod itself."""

    field_path: NonEmpty
    api_version: str = "v1"


class ResourceFieldSelector(ApiStruct):
    """An amount that a container asks for or is limited to."""

    resource: NonEmpty
    container_name: Maybe[str] = UNSET
    divisor: Quantity = ZERO


class EnvVarSource(ApiStruct):
    """Where the value of a variable comes from."""

    config_map_key_ref: Maybe[ConfigMapKeySelector] = UNSET
    field_ref: Maybe[ObjectFieldSelector] = UNSET
    resource_field_ref: Maybe[ResourceFieldSelector] = UNSET
    secret_key_ref: Maybe[SecretKeySelector] = UNSET


class EnvVar(ApiStruct):
    """A variable of the environment."""

    name: NonEmpty
    value: Maybe[str] = UNSET
    value_from: Maybe[EnvVarSource] = UNSET


class ConfigMapEnvSource(ApiStruct):
    """A ConfigMap whose keys all become variables."""

    name: Maybe[str] = UNSET
    optional: Maybe[bool] = UNSET


class SecretEnvSource(ApiStruct):
    """A Secret whose keys all become variables."""

    name: Maybe[str] = UNSET
    optional: Maybe[bool] = UNSET


class EnvFromSource(ApiStruct):
    """Variables taken from a whole ConfigMap or Secret."""

    config_map_ref: Maybe[ConfigMapEnvSource] = UNSET
    prefix: Maybe[str] = UNSET
    secret_ref: Maybe[SecretEnvSource] = UNSET


class ContainerPort(ApiStruct):
    """A port that the container listens on."""

    container_port: Port
    name: Maybe[str] = UNSET
    host_ip: Maybe[str] = UNSET
    host_port: Maybe[Port] = UNSET
    protocol: Protocol = "TCP"


class ContainerResizePolicy(ApiStruct):
    """What a change of an amount does to the container."""

    resource_name: NonEmpty
    restart_policy: Literal["NotRequired", "RestartContainer"]


class ResourceClaim(ApiStruct):
    """A claim of the pod that the container uses."""

    name: NonEmpty
    request: Maybe[str] = UNSET


class ResourceRequirements(ApiStruct):
    """What is asked for, and what must not be exceeded."""

    claims: Annotated[Maybe[list[ResourceClaim]], keyed("name")] = UNSET
    limits: Maybe[Quantities] = UNSET
    requests: Maybe[Quantities] = UNSET


class VolumeDevice(ApiStruct):
    """A raw device in the container."""

    name: NonEmpty
    device_path: NonEmpty


class VolumeMount(ApiStruct):
    """A volume of the pod, and where the container sees it."""

    name: NonEmpty
    mount_path: NonEmpty
    mount_propagation: Maybe[Literal["None", "HostToContainer", "Bidirectional"]] = UNSET
    read_only: Maybe[bool] = UNSET
    recursive_read_only: Maybe[Literal["Disabled", "IfPossible", "Enabled"]] = UNSET
    sub_path: Maybe[str] = UNSET
    sub_path_expr: Maybe[str] = UNSET


class Container(ApiStruct):
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
