"""Gang definitions of others: which group a pod names, and what that group asks for.

To add one, write its file with `ref` (how pods name it) and `definition` (what its object says), and name it below; its
struct is named in objects.decoding, its resource in objects.resources and control.following.
"""

from collections.abc import Callable
from typing import Any

from understudy.kinds.pod_groups import coscheduling, kubernetes, kueue_pods, volcano
from understudy.kinds.pod_groups.definition import GroupDefinition, GroupMarks, GroupRef
from understudy.objects.meta import ObjectMeta
from understudy.objects.pod_groups import AnyGroup, CoschedulingGroup, PodGroup, VolcanoGroup
from understudy.objects.pods import PodSpec

# Where a pod names several, the first counts.
NAMED_BY: tuple[Callable[[GroupMarks], GroupRef | None], ...] = (
    kubernetes.ref,
    coscheduling.ref,
    volcano.ref,
    kueue_pods.ref,
)
# Pods without any of these, of which there may be very many, name no group.
LABELS = frozenset({*coscheduling.LABELS, kueue_pods.LABEL})
ANNOTATIONS = frozenset(volcano.ANNOTATIONS)
DEFINED_BY: dict[type, Callable[[Any], GroupDefinition]] = {
    PodGroup: kubernetes.definition,
    CoschedulingGroup: coscheduling.definition,
    VolcanoGroup: volcano.definition,
}


def group_named(meta: ObjectMeta, spec: PodSpec) -> GroupRef | None:
    """By a pod, or by the template of one."""
    if spec.scheduling_group is None and LABELS.isdisjoint(meta.labels) and ANNOTATIONS.isdisjoint(meta.annotations):
        return None
    signs = GroupMarks(meta, spec)
    for named_by in NAMED_BY:
        if (found := named_by(signs)) is not None:
            return found
    return None


def definition_of(group: AnyGroup) -> GroupDefinition:
    """What a group asks for; raises BadObject where that makes no sense."""
    return DEFINED_BY[type(group)](group)
