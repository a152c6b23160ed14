"""The part of a pod that the agent reads: JSON text into typed values, with the defaults of Kubernetes."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from understudy.kinds.job_control import LEFT_TO_END
from understudy.objects.meta import Part, Time
from understudy.objects.pods import ENDED_PHASES

Quantity = str | int | float


class PodMetadata(Part, frozen=True, gc=False):
    name: str = ""
    namespace: str = "default"
    uid: str = ""
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    deletion_timestamp: Time | None = None
    deletion_grace_period_seconds: int | None = None


class KeyRef(Part, frozen=True, gc=False):
    name: str = ""
    key: str = ""
    optional: bool = False


class FieldRef(Part, frozen=True, gc=False):
    field_path: str


class ResourceFieldRef(Part, frozen=True, gc=False):
    resource: str
    container_name: str = ""
    divisor: Quantity = "0"


class EnvVarSource(Part, frozen=True, gc=False):
    field_ref: FieldRef | None = None
    resource_field_ref: ResourceFieldRef | None = None
    config_map_key_ref: KeyRef | None = None
    secret_key_ref: KeyRef | None = None


class EnvVar(Part, frozen=True, gc=False):
    name: str
    value: str = ""
    value_from: EnvVarSource | None = None


class ObjectRef(Part, frozen=True, gc=False):
    name: str = ""
    optional: bool = False


class EnvFromSource(Part, frozen=True, gc=False):
    prefix: str = ""
    config_map_ref: ObjectRef | None = None
    secret_ref: ObjectRef | None = None


class VolumeMount(Part, frozen=True, gc=False):
    name: str
    mount_path: str
    sub_path: str = ""
    sub_path_expr: str = ""
    read_only: bool = False


class ContainerResources(Part, frozen=True, gc=False):
    requests: Mapping[str, Quantity] = {}
    limits: Mapping[str, Quantity] = {}


class ExecAction(Part, frozen=True, gc=False):
    command: tuple[str, ...] = ()


class HttpHeader(Part, frozen=True, gc=False):
    name: str
    value: str = ""


class HttpGetAction(Part, frozen=True, gc=False):
    port: int | str
    path: str = "/"
    host: str = ""
    scheme: str = "HTTP"
    http_headers: tuple[HttpHeader, ...] = ()


class TcpSocketAction(Part, frozen=True, gc=False):
    port: int | str
    host: str = ""


class GrpcAction(Part, frozen=True, gc=False):
    port: int


class SleepAction(Part, frozen=True, gc=False):
    seconds: int


class Probe(Part, frozen=True, gc=False):
    exec: ExecAction | None = None
    http_get: HttpGetAction | None = None
    tcp_socket: TcpSocketAction | None = None
    grpc: GrpcAction | None = None
    initial_delay_seconds: int = 0
    period_seconds: int = 10
    timeout_seconds: int = 1
    success_threshold: int = 1
    failure_threshold: int = 3
    termination_grace_period_seconds: int | None = None


class LifecycleHandler(Part, frozen=True, gc=False):
    exec: ExecAction | None = None
    http_get: HttpGetAction | None = None
    tcp_socket: TcpSocketAction | None = None
    sleep: SleepAction | None = None


class ContainerLifecycle(Part, frozen=True, gc=False):
    post_start: LifecycleHandler | None = None
    pre_stop: LifecycleHandler | None = None


class ContainerPort(Part, frozen=True, gc=False):
    container_port: int
    name: str = ""


class Container(Part, frozen=True, gc=False):
    name: str
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    working_dir: str = ""
    env: tuple[EnvVar, ...] = ()
    env_from: tuple[EnvFromSource, ...] = ()
    ports: tuple[ContainerPort, ...] = ()
    resources: ContainerResources = ContainerResources()
    volume_mounts: tuple[VolumeMount, ...] = ()
    startup_probe: Probe | None = None
    liveness_probe: Probe | None = None
    readiness_probe: Probe | None = None
    lifecycle: ContainerLifecycle = ContainerLifecycle()
    restart_policy: str = ""  # `Always` makes an init container a sidecar
    termination_message_path: str = "/dev/termination-log"
    termination_message_policy: str = "File"


class KeyToPath(Part, frozen=True, gc=False):
    key: str
    path: str
    mode: int | None = None


class EmptyDirVolume(Part, frozen=True, gc=False):
    medium: str = ""


class HostPathVolume(Part, frozen=True, gc=False):
    path: str
    type: str = ""


class ConfigMapVolume(Part, frozen=True, gc=False):
    name: str = ""
    items: tuple[KeyToPath, ...] = ()
    default_mode: int = 0o644
    optional: bool = False


class SecretVolume(Part, frozen=True, gc=False):
    """`name` in a projected volume, `secretName` in a volume of its own."""

    secret_name: str = ""
    name: str = ""
    items: tuple[KeyToPath, ...] = ()
    default_mode: int = 0o600
    optional: bool = False


class DownwardApiFile(Part, frozen=True, gc=False):
    path: str
    field_ref: FieldRef | None = None
    resource_field_ref: ResourceFieldRef | None = None
    mode: int | None = None


class DownwardApiVolume(Part, frozen=True, gc=False):
    items: tuple[DownwardApiFile, ...] = ()
    default_mode: int = 0o644


class TokenProjection(Part, frozen=True, gc=False):
    path: str
    audience: str = ""  # empty: the API itself
    expiration_seconds: int = 3600


class VolumeProjection(Part, frozen=True, gc=False):
    config_map: ConfigMapVolume | None = None
    secret: SecretVolume | None = None
    downward_api: DownwardApiVolume | None = msgspec.field(name="downwardAPI", default=None)
    service_account_token: TokenProjection | None = None
    cluster_trust_bundle: Mapping[str, Any] | None = None


class ProjectedVolume(Part, frozen=True, gc=False):
    sources: tuple[VolumeProjection, ...] = ()
    default_mode: int = 0o644


class ClaimVolume(Part, frozen=True, gc=False):
    claim_name: str
    read_only: bool = False


class Volume(Part, frozen=True, gc=False):
    name: str
    empty_dir: EmptyDirVolume | None = None
    host_path: HostPathVolume | None = None
    config_map: ConfigMapVolume | None = None
    secret: SecretVolume | None = None
    downward_api: DownwardApiVolume | None = msgspec.field(name="downwardAPI", default=None)
    projected: ProjectedVolume | None = None
    persistent_volume_claim: ClaimVolume | None = None
    ephemeral: Mapping[str, Any] | None = None


class HostAlias(Part, frozen=True, gc=False):
    ip: str
    hostnames: tuple[str, ...] = ()


class ReadinessGate(Part, frozen=True, gc=False):
    condition_type: str


class PodSpec(Part, frozen=True, gc=False):
    containers: tuple[Container, ...]
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    node_name: str = ""
    restart_policy: str = "Always"
    termination_grace_period_seconds: int = 30
    active_deadline_seconds: int | None = None
    hostname: str = ""
    subdomain: str = ""
    host_network: bool = False
    host_aliases: tuple[HostAlias, ...] = ()
    service_account_name: str = "default"
    automount_service_account_token: bool = True
    readiness_gates: tuple[ReadinessGate, ...] = ()


class PodCondition(Part, frozen=True, gc=False):
    type: str
    status: str
    reason: str = ""
    last_transition_time: Time | None = None


class ContainerStatus(Part, frozen=True, gc=False):
    name: str
    ready: bool = False
    started: bool = False


class PodStatus(Part, frozen=True, gc=False):
    phase: str = "Pending"
    start_time: Time | None = None
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(Part, frozen=True, gc=False):
    metadata: PodMetadata
    spec: PodSpec
    status: PodStatus = PodStatus()

    @property
    def title(self) -> str:
        """The form in which the kubelet names a pod in messages."""
        return f"{self.metadata.name}_{self.metadata.namespace}({self.metadata.uid})"

    @property
    def hostname(self) -> str:
        """At most 63 characters, the limit of the kernel and of DNS."""
        return self.spec.hostname or self.metadata.name[:63].rstrip("-.")

    @property
    def grace(self) -> int:
        """Seconds between SIGTERM and SIGKILL."""
        given = self.metadata.deletion_grace_period_seconds
        return self.spec.termination_grace_period_seconds if given is None else given

    @property
    def is_going(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    @property
    def is_doomed(self) -> bool:
        """Being deleted, or about to be."""
        marks = ("DisruptionTarget", LEFT_TO_END)
        return self.is_going or any(one.type in marks and one.status == "True" for one in self.status.conditions)

    @property
    def is_over(self) -> bool:
        return self.status.phase in ENDED_PHASES

    def all_containers(self) -> Iterator[Container]:
        yield from self.spec.init_containers
        yield from self.spec.containers

    def container(self, name: str) -> Container | None:
        return next((one for one in self.all_containers() if one.name == name), None)


_decode = msgspec.json.Decoder(Pod).decode


def decode_pod(raw: bytes) -> Pod:
    """Raises msgspec.ValidationError. Null means absent, as everywhere in Kubernetes."""
    try:
        return _decode(raw)
    except msgspec.ValidationError:
        return msgspec.convert(_without_nulls(msgspec.json.decode(raw)), Pod)


def _without_nulls(value: Any) -> Any:
    match value:
        case dict():
            return {key: _without_nulls(item) for key, item in value.items() if item is not None}
        case list():
            return [_without_nulls(item) for item in value]
        case _:
            return value


def is_sidecar(container: Container) -> bool:
    """Only for init containers."""
    return container.restart_policy == "Always"
