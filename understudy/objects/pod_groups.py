"""Pod groups of others: the fields by which Kubernetes, scheduler-plugins and Volcano say which pods are one gang."""

from collections.abc import Mapping

import msgspec

from understudy.objects.meta import KubeObject, Part
from understudy.objects.pods import Named


class Empty(Part, frozen=True, gc=False):
    """A choice that is made by being there."""


class GangPolicy(Part, frozen=True, gc=False):
    min_count: int


class GroupPolicy(Part, frozen=True, gc=False):
    basic: Empty | None = None
    gang: GangPolicy | None = None


class TopologyConstraint(Part, frozen=True, gc=False):
    key: str


class GroupConstraints(Part, frozen=True, gc=False):
    topology: tuple[TopologyConstraint, ...] = ()


class DisruptionMode(Part, frozen=True, gc=False):
    single: Empty | None = None
    together: Empty | None = msgspec.field(name="all", default=None)


class PodGroupSpec(Part, frozen=True, gc=False):
    scheduling_policy: GroupPolicy = GroupPolicy()
    scheduling_constraints: GroupConstraints = GroupConstraints()
    disruption_mode: DisruptionMode | str | None = None  # a word in v1alpha2: Pod or PodGroup
    priority_class_name: str = ""
    priority: int | None = None
    preemption_policy: str = ""
    resource_claims: tuple[Named, ...] = ()
    parent_composite_pod_group_name: str = ""


class PodGroup(KubeObject, frozen=True, gc=False, kw_only=True):
    """scheduling.k8s.io, from Kubernetes 1.36 on."""

    spec: PodGroupSpec


class CoschedulingSpec(Part, frozen=True, gc=False):
    min_member: int = 0


class CoschedulingGroup(KubeObject, frozen=True, gc=False, kw_only=True):
    """The PodGroup of scheduler-plugins: scheduling.x-k8s.io."""

    spec: CoschedulingSpec = CoschedulingSpec()


class NetworkTopology(Part, frozen=True, gc=False):
    mode: str = "hard"
    highest_tier_allowed: int | None = None


class VolcanoSpec(Part, frozen=True, gc=False):
    min_member: int = 0
    min_task_member: Mapping[str, int] = {}
    priority_class_name: str = ""
    network_topology: NetworkTopology | None = None
    sub_group_policy: tuple[Named, ...] = ()


class VolcanoGroup(KubeObject, frozen=True, gc=False, kw_only=True):
    """The PodGroup of Volcano: scheduling.volcano.sh."""

    spec: VolcanoSpec = VolcanoSpec()


AnyGroup = PodGroup | CoschedulingGroup | VolcanoGroup
