"""The PodGroup of Volcano (scheduling.volcano.sh), named by an annotation of its pods.

Its queue belongs to Volcano and has no meaning here. Minimums of single tasks, or of parts of the group, are met since
the group starts whole."""

from understudy.kinds.annotations import read_annotations
from understudy.kinds.pod_groups.definition import GroupDefinition, GroupMarks, GroupRef
from understudy.objects.meta import seconds
from understudy.objects.pod_groups import VolcanoGroup

API = "scheduling.volcano.sh"
ANNOTATIONS = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
_TIERS = (
    "a hard networkTopology counts in tiers of HyperNodes, which are not supported; "
    "annotate the PodGroup with understudy.dev/required-topology instead"
)


def ref(signs: GroupMarks) -> GroupRef | None:
    annotations = signs.meta.annotations
    if not annotations:
        return None
    return signs.named(API, next((annotations[key] for key in ANNOTATIONS if key in annotations), ""))


def definition(group: VolcanoGroup) -> GroupDefinition:
    spec, notes = group.spec, read_annotations(group.metadata.annotations, group)
    least = max(1, spec.min_member)
    in_parts = bool(spec.min_task_member or spec.sub_group_policy)
    hard = spec.network_topology is not None and spec.network_topology.mode == "hard"
    return GroupDefinition(
        title=group.title,
        name=group.metadata.name,
        minimum=None if in_parts else least,
        least=least,
        priority_class=spec.priority_class_name,
        created=seconds(group.metadata.creation_timestamp),
        notes=notes,
        unsupported=(_TIERS,) if hard and notes.topology is None else (),
    )
