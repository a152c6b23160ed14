"""What scheduling reads: node selectors, affinity, tolerations, topology spread, priority classes and disruption
budgets."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, field

from understudy.embedded.schema.types.meta import ApiStruct, Condition, KubeObject, LabelSelector
from understudy.embedded.schema.types.values import (
    Int32,
    Int64,
    IntOrString,
    Maybe,
    NonEmpty,
    Positive,
    PreemptionPolicy,
    TaintEffect,
    Time,
    Weight,
    keyed,
)


class NodeSelectorRequirement(ApiStruct):
    """One condition on a node's labels or fields."""

    key: NonEmpty
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    values: Maybe[list[str]] = UNSET


class NodeSelectorTerm(ApiStruct):
    """Conditions that must all hold."""

    match_expressions: Maybe[list[NodeSelectorRequirement]] = UNSET
    match_fields: Maybe[list[NodeSelectorRequirement]] = UNSET


class NodeSelector(ApiStruct):
    """Terms of which at least one must hold."""

    node_selector_terms: Annotated[list[NodeSelectorTerm], Meta(min_length=1)]


class PreferredSchedulingTerm(ApiStruct):
    """A wish about nodes, and how much it counts."""

    preference: NodeSelectorTerm
    weight: Weight


class NodeAffinity(ApiStruct):
    """Which nodes the pod may go to, and which it prefers."""

    preferred_during_scheduling_ignored_during_execution: Maybe[list[PreferredSchedulingTerm]] = UNSET
    required_during_scheduling_ignored_during_execution: Maybe[NodeSelector] = UNSET


class PodAffinityTerm(ApiStruct):
    """The pods to be near to, and what near means."""

    topology_key: NonEmpty
    label_selector: Maybe[LabelSelector] = UNSET
    match_label_keys: Maybe[list[str]] = UNSET
    mismatch_label_keys: Maybe[list[str]] = UNSET
    namespace_selector: Maybe[LabelSelector] = UNSET
    namespaces: Maybe[list[str]] = UNSET


class WeightedPodAffinityTerm(ApiStruct):
    """A wish about neighbours, and how much it counts."""

    pod_affinity_term: PodAffinityTerm
    weight: Weight


class PodAffinity(ApiStruct):
    """Which pods to be near to."""

    preferred_during_scheduling_ignored_during_execution: Maybe[list[WeightedPodAffinityTerm]] = UNSET
    required_during_scheduling_ignored_during_execution: Maybe[list[PodAffinityTerm]] = UNSET


class PodAntiAffinity(ApiStruct):
    """Which pods to keep away from."""

    preferred_during_scheduling_ignored_during_execution: Maybe[list[WeightedPodAffinityTerm]] = UNSET
    required_during_scheduling_ignored_during_execution: Maybe[list[PodAffinityTerm]] = UNSET


class Affinity(ApiStruct):
    """Where the pod wants to be, by nodes and by neighbours."""

    node_affinity: Maybe[NodeAffinity] = UNSET
    pod_affinity: Maybe[PodAffinity] = UNSET
    pod_anti_affinity: Maybe[PodAntiAffinity] = UNSET


class Toleration(ApiStruct):
    """A taint that the pod puts up with."""

    effect: Maybe[TaintEffect] = UNSET
    key: Maybe[str] = UNSET
    operator: Maybe[Literal["Equal", "Exists"]] = UNSET
    toleration_seconds: Maybe[Int64] = UNSET
    value: Maybe[str] = UNSET


class TopologySpreadConstraint(ApiStruct):
    """How evenly pods are spread over domains."""

    max_skew: Positive
    topology_key: NonEmpty
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"]
    label_selector: Maybe[LabelSelector] = UNSET
    match_label_keys: Maybe[list[str]] = UNSET
    min_domains: Maybe[Positive] = UNSET
    node_affinity_policy: Maybe[Literal["Honor", "Ignore"]] = UNSET
    node_taints_policy: Maybe[Literal["Honor", "Ignore"]] = UNSET


class PriorityClass(KubeObject, kw_only=True):
    """A name for how important a pod is. More important pods may take the place of less important ones."""

    api_version: str = "scheduling.k8s.io/v1"
    kind: str = "PriorityClass"
    value: Int32
    description: Maybe[str] = UNSET
    global_default: Maybe[bool] = UNSET
    preemption_policy: PreemptionPolicy = "PreemptLowerPriority"


SYSTEM_PRIORITIES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}


"""Classes that are known without being there."""


class PodDisruptionBudgetSpec(ApiStruct):
    """Which pods, and how many of them must stay."""

    max_unavailable: Maybe[IntOrString] = UNSET
    min_available: Maybe[IntOrString] = UNSET
    selector: Maybe[LabelSelector] = UNSET
    unhealthy_pod_eviction_policy: Maybe[Literal["IfHealthyBudget", "AlwaysAllow"]] = UNSET


class PodDisruptionBudgetStatus(ApiStruct):
    """How many pods may leave now."""

    conditions: Annotated[Maybe[list[Condition]], keyed("type")] = UNSET
    current_healthy: Int32 = 0
    desired_healthy: Int32 = 0
    disrupted_pods: Maybe[dict[str, Time]] = UNSET
    disruptions_allowed: Int32 = 0
    expected_pods: Int32 = 0
    observed_generation: Maybe[Int64] = UNSET


class PodDisruptionBudget(KubeObject, kw_only=True):
    """Limits how many pods are evicted at a time."""

    api_version: str = "policy/v1"
    kind: str = "PodDisruptionBudget"
    spec: PodDisruptionBudgetSpec = field(default_factory=PodDisruptionBudgetSpec)
    status: PodDisruptionBudgetStatus = field(default_factory=PodDisruptionBudgetStatus)
