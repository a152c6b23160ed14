"""Pods and pod templates: the fields that decide where a pod may sit, and what it is doing now."""

from collections.abc import Mapping

import msgspec

from understudy.objects.meta import Expression, KubeObject, LabelSelector, ObjectMeta, Part, Time

Quantity = str | int | float
DEFAULT_SCHEDULER = "default-scheduler"
ENDED_PHASES = ("Succeeded", "Failed")  # no container of the pod runs or will run again


class Resources(Part, frozen=True, gc=False):
    requests: Mapping[str, Quantity] = {}
    limits: Mapping[str, Quantity] = {}


class Port(Part, frozen=True, gc=False):
    container_port: int
    host_port: int = 0
    protocol: str = "TCP"
    host_ip: str = msgspec.field(name="hostIP", default="")


NO_RESOURCES = Resources()


class Container(Part, frozen=True, gc=False):
    name: str = ""
    resources: Resources = NO_RESOURCES
    ports: tuple[Port, ...] = ()
    restart_policy: str = ""  # Always makes an init container a sidecar


class NodeSelectorTerm(Part, frozen=True, gc=False):
    match_expressions: tuple[Expression, ...] = ()
    match_fields: tuple[Expression, ...] = ()


class NodeSelector(Part, frozen=True, gc=False):
    node_selector_terms: tuple[NodeSelectorTerm, ...]


class PreferredNodeTerm(Part, frozen=True, gc=False):
    weight: int
    preference: NodeSelectorTerm


class NodeAffinity(Part, frozen=True, gc=False):
    required: NodeSelector | None = msgspec.field(name="requiredDuringSchedulingIgnoredDuringExecution", default=None)
    preferred: tuple[PreferredNodeTerm, ...] = msgspec.field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default=()
    )


class PodAffinityTerm(Part, frozen=True, gc=False):
    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodTerm(Part, frozen=True, gc=False):
    weight: int
    pod_affinity_term: PodAffinityTerm


class PodAffinity(Part, frozen=True, gc=False):
    required: tuple[PodAffinityTerm, ...] = msgspec.field(
        name="requiredDuringSchedulingIgnoredDuringExecution", default=()
    )
    preferred: tuple[WeightedPodTerm, ...] = msgspec.field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default=()
    )


class Affinity(Part, frozen=True, gc=False):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class PodToleration(Part, frozen=True, gc=False):
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class TopologySpreadConstraint(Part, frozen=True, gc=False):
    topology_key: str
    max_skew: int
    when_unsatisfiable: str
    label_selector: LabelSelector | None = None
    min_domains: int = 1
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"
    match_label_keys: tuple[str, ...] = ()


class ClaimSource(Part, frozen=True, gc=False):
    claim_name: str


class Ephemeral(Part, frozen=True, gc=False):
    """A claim made for the pod alone, named after the pod and the volume."""


class Volume(Part, frozen=True, gc=False):
    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: Ephemeral | None = None


class SchedulingGate(Part, frozen=True, gc=False):
    name: str


class Named(Part, frozen=True, gc=False):
    name: str = ""


class SchedulingGroup(Part, frozen=True, gc=False):
    pod_group_name: str = ""


class PodSpec(Part, frozen=True, gc=False):
    containers: tuple[Container, ...]
    init_containers: tuple[Container, ...] = ()
    overhead: Mapping[str, Quantity] = {}
    resources: Resources | None = None
    node_name: str = ""
    node_selector: Mapping[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[PodToleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    host_network: bool = False
    volumes: tuple[Volume, ...] = ()
    resource_claims: tuple[Named, ...] = ()
    scheduling_group: SchedulingGroup | None = None
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    scheduler_name: str = DEFAULT_SCHEDULER
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    termination_grace_period_seconds: int = 30


class PodStatus(Part, frozen=True, gc=False):
    phase: str = "Pending"
    reason: str = ""
    nominated_node_name: str = ""
    start_time: Time | None = None


NO_STATUS = PodStatus()


class Pod(KubeObject, frozen=True, gc=False, kw_only=True):
    spec: PodSpec
    status: PodStatus = NO_STATUS


def is_of_daemon_set(metadata: ObjectMeta) -> bool:
    owner = metadata.controller if metadata.owner_references else None
    return owner is not None and owner.kind == "DaemonSet"


def without_unread_fields(pod: Pod) -> Pod:
    """Changes it in place. Volumes count where they are claimed; and that a pod of a DaemonSet may only sit where it
    sits makes every one of them unlike the others."""
    spec, force = pod.spec, msgspec.structs.force_setattr
    if spec.volumes:
        force(spec, "volumes", tuple([v for v in spec.volumes if v.persistent_volume_claim or v.ephemeral]))
    if (affinity := spec.affinity) is not None and spec.node_name and is_of_daemon_set(pod.metadata):
        about_others = affinity.pod_affinity or affinity.pod_anti_affinity
        force(spec, "affinity", affinity if about_others else None)
    return pod


class PodTemplate(Part, frozen=True, gc=False):
    spec: PodSpec
    metadata: ObjectMeta = ObjectMeta()
