"""Pods, and the templates they are made from."""

from typing import Annotated, Literal

from msgspec import UNSET, field

from understudy.embedded.schema.containers import Container, EphemeralContainer, ResourceRequirements
from understudy.embedded.schema.meta import KubeObject, ObjectMeta, Part
from understudy.embedded.schema.podstatus import PodStatus
from understudy.embedded.schema.references import LocalObjectReference
from understudy.embedded.schema.security import PodSecurityContext
from understudy.embedded.schema.selection import Affinity, Toleration, TopologySpreadConstraint
from understudy.embedded.schema.values import (
    Int32,
    Maybe,
    NonEmpty,
    PositiveSeconds,
    PreemptionPolicy,
    Quantities,
    RestartPolicy,
    Seconds,
    keyed,
)
from understudy.embedded.schema.volumes import Volume


class HostAlias(Part):
    """Host names for an address."""

    ip: NonEmpty
    hostnames: Maybe[list[str]] = UNSET


class PodDNSConfigOption(Part):
    """An option of the resolver."""

    name: Maybe[str] = UNSET
    value: Maybe[str] = UNSET


class PodDNSConfig(Part):
    """How names are resolved."""

    nameservers: Maybe[list[str]] = UNSET
    options: Maybe[list[PodDNSConfigOption]] = UNSET
    searches: Maybe[list[str]] = UNSET


class PodOS(Part):
    """The operating system the pod is for."""

    name: Literal["linux", "windows"]


class PodReadinessGate(Part):
    """A condition that must hold before the pod is ready."""

    condition_type: NonEmpty


class PodResourceClaim(Part):
    """A claim on devices."""

    name: NonEmpty
    resource_claim_name: Maybe[str] = UNSET
    resource_claim_template_name: Maybe[str] = UNSET


class PodSchedulingGate(Part):
    """Holds the pod back until it is removed."""

    name: NonEmpty


class PodSpec(Part):
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


class PodTemplateSpec(Part):
    """A pod to be made."""

    spec: PodSpec
    metadata: ObjectMeta = field(default_factory=ObjectMeta)


class Pod(KubeObject, kw_only=True):
    """Containers that run together on one node; the smallest thing that is scheduled."""

    api_version: str = "v1"
    kind: str = "Pod"
    spec: PodSpec
    status: PodStatus = field(default_factory=PodStatus)
