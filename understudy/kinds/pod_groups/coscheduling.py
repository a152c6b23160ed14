"""The PodGroup of scheduler-plugins (scheduling.x-k8s.io), named by a label of its pods; and the older labels with
which pods define a group without an object.

Its minResources follow from the requests of its pods. Its scheduleTimeoutSeconds are for schedulers that hold seats
while they wait for more; Understudy takes all seats at once."""

from understudy.kinds.annotations import read_annotations
from understudy.kinds.pod_groups.definition import POD_GROUP, GroupDefinition, GroupMarks, GroupRef, positive_number
from understudy.objects.meta import seconds
from understudy.objects.pod_groups import CoschedulingGroup

API = "scheduling.x-k8s.io"
LABEL = "scheduling.x-k8s.io/pod-group"
OLD_NAME = "pod-group.scheduling.sigs.k8s.io/name"
LABELS = (LABEL, OLD_NAME)
OLD_LEAST = "pod-group.scheduling.sigs.k8s.io/min-available"


def ref(signs: GroupMarks) -> GroupRef | None:
    labels = signs.meta.labels
    if LABEL in labels:
        return signs.named(API, labels[LABEL])
    if OLD_NAME in labels and (least := positive_number(labels.get(OLD_LEAST, ""))) is not None:
        name = labels[OLD_NAME]
        definition = GroupDefinition(f"{POD_GROUP} {signs.meta.namespace}/{name}", name, minimum=least, least=least)
        return signs.named("pod-group.scheduling.sigs.k8s.io", name, definition)
    return None


def definition(group: CoschedulingGroup) -> GroupDefinition:
    least = max(1, group.spec.min_member)
    return GroupDefinition(
        title=group.title,
        name=group.metadata.name,
        minimum=least,
        least=least,
        created=seconds(group.metadata.creation_timestamp),
        notes=read_annotations(group.metadata.annotations, group),
    )
