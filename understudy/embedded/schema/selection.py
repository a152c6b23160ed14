"""Which nodes and which neighbours a pod wants: affinity, tolerations, spreading."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta

from understudy.embedded.schema.meta import Part
from understudy.embedded.schema.references import LabelSelector
from understudy.embedded.schema.values import Int64, Maybe, NonEmpty, Positive, TaintEffect, Weight


class NodeSelectorRequirement(Part):
    """One condition on a node's labels or fields."""

    key: NonEmpty
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    values: Maybe[list[str]] = UNSET


class NodeSelectorTerm(Part):
    """Conditions that must all hold."""

    match_expressions: Maybe[list[NodeSelectorRequirement]] = UNSET
    match_fields: Maybe[list[NodeSelectorRequirement]] = UNSET


class NodeSelector(Part):
    """Terms of which at least one must hold."""

    node_selector_terms: Annotated[list[NodeSelectorTerm], Meta(min_length=1)]


class PreferredSchedulingTerm(Part):
    """A wish about nodes, and how much it counts."""

    preference: NodeSelectorTerm
    weight: Weight


class NodeAffinity(Part):
    """Which nodes the pod may go to, and which it prefers."""

    preferred_during_scheduling_ignored_during_execution: Maybe[list[PreferredSchedulingTerm]] = UNSET
    required_during_scheduling_ignored_during_execution: Maybe[NodeSelector] = UNSET


class PodAffinityTerm(Part):
    """The pods to be near to, and what near means."""

    topology_key: NonEmpty
    label_selector: Maybe[LabelSelector] = UNSET
    match_label_keys: Maybe[list[str]] = UNSET
    mismatch_label_keys: Maybe[list[str]] = UNSET
    namespace_selector: Maybe[LabelSelector] = UNSET
    namespaces: Maybe[list[str]] = UNSET


class WeightedPodAffinityTerm(Part):
    """A wish about neighbours, and how much it counts."""

    pod_affinity_term: PodAffinityTerm
    weight: Weight


class PodAffinity(Part):
    """Which pods to be near to."""

    preferred_during_scheduling_ignored_during_execution: Maybe[list[WeightedPodAffinityTerm]] = UNSET
    required_during_scheduling_ignored_during_execution: Maybe[list[PodAffinityTerm]] = UNSET


class PodAntiAffinity(Part):
    """Which pods to keep away from."""

    preferred_during_scheduling_ignored_during_execution: Maybe[list[WeightedPodAffinityTerm]] = UNSET
    required_during_scheduling_ignored_during_execution: Maybe[list[PodAffinityTerm]] = UNSET


class Affinity(Part):
    """Where the pod wants to be, by nodes and by neighbours."""

    node_affinity: Maybe[NodeAffinity] = UNSET
    pod_affinity: Maybe[PodAffinity] = UNSET
    pod_anti_affinity: Maybe[PodAntiAffinity] = UNSET


class Toleration(Part):
    """A taint that the pod puts up with."""

    effect: Maybe[TaintEffect] = UNSET
    key: Maybe[str] = UNSET
    operator: Maybe[Literal["Equal", "Exists"]] = UNSET
    toleration_seconds: Maybe[Int64] = UNSET
    value: Maybe[str] = UNSET


class TopologySpreadConstraint(Part):
    """How evenly pods are spread over domains."""

    max_skew: Positive
    topology_key: NonEmpty
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"]
    label_selector: Maybe[LabelSelector] = UNSET
    match_label_keys: Maybe[list[str]] = UNSET
    min_domains: Maybe[Positive] = UNSET
    node_affinity_policy: Maybe[Literal["Honor", "Ignore"]] = UNSET
    node_taints_policy: Maybe[Literal["Honor", "Ignore"]] = UNSET
