"""PodDisruptionBudgets: how many pods must stay when others are asked to leave."""

from typing import Annotated, Literal

from msgspec import UNSET, field

from understudy.embedded.schema.meta import KubeObject, Part
from understudy.embedded.schema.references import Condition, LabelSelector
from understudy.embedded.schema.values import Int32, Int64, IntOrString, Maybe, Time, keyed


class PodDisruptionBudgetSpec(Part):
    """Which pods, and how many of them must stay."""

    max_unavailable: Maybe[IntOrString] = UNSET
    min_available: Maybe[IntOrString] = UNSET
    selector: Maybe[LabelSelector] = UNSET
    unhealthy_pod_eviction_policy: Maybe[Literal["IfHealthyBudget", "AlwaysAllow"]] = UNSET


class PodDisruptionBudgetStatus(Part):
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
