"""The PodGroup of Kubernetes (scheduling.k8s.io), named by spec.schedulingGroup of its pods."""

from understudy.kinds.annotations import read_annotations
from understudy.kinds.pod_groups.definition import GroupDefinition, GroupMarks, GroupRef
from understudy.model.gangs import Topology, TopologyMode
from understudy.objects.meta import seconds
from understudy.objects.pod_groups import DisruptionMode, PodGroup

API = "scheduling.k8s.io"
_COMPOSITE = "it is part of a CompositePodGroup, which is not supported"
_CLAIMS = "resource claims of a PodGroup (dynamic resource allocation) are not supported"


def ref(signs: GroupMarks) -> GroupRef | None:
    group = signs.spec.scheduling_group
    return None if group is None else signs.named(API, group.pod_group_name, binding=True)


def definition(group: PodGroup) -> GroupDefinition:
    """A basic group has no rules: each of its pods may run without the others."""
    spec = group.spec
    gang = spec.scheduling_policy.gang
    topology = spec.scheduling_constraints.topology
    return GroupDefinition(
        title=group.title,
        name=group.metadata.name,
        minimum=1 if gang is None else gang.min_count,
        least=1 if gang is None else gang.min_count,
        topology=Topology(topology[0].key, TopologyMode.REQUIRED) if topology else None,
        whole=_goes_whole(spec.disruption_mode),
        priority_class=spec.priority_class_name,
        priority=spec.priority,
        preemption_policy=spec.preemption_policy,
        created=seconds(group.metadata.creation_timestamp),
        notes=read_annotations(group.metadata.annotations, group),
        unsupported=tuple(
            words
            for asked, words in ((spec.parent_composite_pod_group_name, _COMPOSITE), (spec.resource_claims, _CLAIMS))
            if asked
        ),
    )


def _goes_whole(mode: DisruptionMode | str | None) -> bool:
    return mode == "PodGroup" if isinstance(mode, str) else mode is not None and mode.together is not None
