"""Which kind of capacity a node is: turns its labels, as clouds, Karpenter and operators set them, into a Capacity."""

from collections.abc import Mapping

from understudy.model.nodes import Capacity

# Labels with the value, in lower case, that a spot node has.
SPOT_LABELS: tuple[tuple[str, str], ...] = (
    ("understudy.dev/spot", "true"),  # pools of a cluster file
    ("kubernetes.azure.com/scalesetpriority", "spot"),
    ("cloud.google.com/gke-spot", "true"),
    ("cloud.google.com/gke-preemptible", "true"),
    ("cloud.google.com/gke-provisioning", "spot"),
    ("cloud.google.com/gke-provisioning", "preemptible"),
    ("eks.amazonaws.com/capacitytype", "spot"),
    ("karpenter.sh/capacity-type", "spot"),
    ("node.kubernetes.io/lifecycle", "spot"),
)


def capacity_of(labels: Mapping[str, str], own: Mapping[str, str]) -> Capacity:
    """`own` are labels by which an operator marks spot nodes: every one of them alone is enough."""
    if any(labels.get(key) == value for key, value in own.items()):
        return Capacity.SPOT
    known = {key.lower(): value.lower() for key, value in labels.items() if "/" in key}
    return Capacity.SPOT if any(known.get(key) == value for key, value in SPOT_LABELS) else Capacity.ON_DEMAND
