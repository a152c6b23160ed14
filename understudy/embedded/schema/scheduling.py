"""PriorityClasses: how important pods are."""

from msgspec import UNSET

from understudy.embedded.schema.meta import KubeObject
from understudy.embedded.schema.values import Int32, Maybe, PreemptionPolicy


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
