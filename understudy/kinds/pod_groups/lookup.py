"""Pod groups of other projects: which group a pod names, and how that group is defined.

To add one, write its file with `ref` (how pods name it) and `definition` (what its object says), and name it below; its
struct is listed in objects.decoding, its resource in objects.resources and control.watch.reflector."""

from collections.abc import Callable
from typing import Any

from understudy.kinds.pod_groups import coscheduling, kubernetes, kueue_pods, volcano
from understudy.kinds.pod_groups.definition import GroupDefinition, GroupMarks, GroupRef
from understudy.objects.meta import ObjectMeta
from understudy.objects.pod_groups import AnyGroup, CoschedulingGroup, PodGroup, VolcanoGroup
from understudy.objects.pods import PodSpec

# If a pod names several groups, the first counts.
NAMED_BY: tuple[Callable[[GroupMarks], GroupRef | None], ...] = (
    kubernetes.ref,
    coscheduling.ref,
    volcano.ref,
    kueue_pods.ref,
)
# Pods without any of these, which may be very many, name no group.
LABELS = frozenset({*coscheduling.LABELS, kueue_pods.LABEL})
ANNOTATIONS = frozenset(volcano.ANNOTATIONS)
DEFINED_BY: dict[type, Callable[[Any], GroupDefinition]] = {
    PodGroup: kubernetes.definition,
    CoschedulingGroup: coscheduling.definition,
    VolcanoGroup: volcano.definition,
}


def group_named(meta: ObjectMeta, spec: PodSpec) -> GroupRef | None:
    """The group that a pod, or the template of one, names."""
    if spec.scheduling_group is None and LABELS.isdisjoint(meta.labels) and ANNOTATIONS.isdisjoint(meta.annotations):
        return None
    signs = GroupMarks(meta, spec)
    for named_by in NAMED_BY:
        if (found := named_by(signs)) is not None:
            return found
    return None


def definition_of(group: AnyGroup) -> GroupDefinition:
    """Raises BadObject if the group's object is invalid."""
    return DEFINED_BY[type(group)](group)
