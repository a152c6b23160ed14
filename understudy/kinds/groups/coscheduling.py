"""The PodGroup of scheduler-plugins (scheduling.x-k8s.io), named by a label of its pods; and the labels that came
before it, by which pods say all of it themselves.

Its minResources follow from what its pods ask for. Its scheduleTimeoutSeconds are for schedulers that hold seats while
they wait for more; Understudy takes them all at once.
"""

from understudy.kinds.annotations import notes_of
from understudy.kinds.groups.definitions import KIND, Definition, GroupRef, Signs, whole_number
from understudy.objects.groups import CoschedulingGroup
from understudy.objects.meta import seconds

API = "scheduling.x-k8s.io"
LABEL = "scheduling.x-k8s.io/pod-group"
OLD_NAME = "pod-group.scheduling.sigs.k8s.io/name"
LABELS = (LABEL, OLD_NAME)
OLD_LEAST = "pod-group.scheduling.sigs.k8s.io/min-available"


def ref(signs: Signs) -> GroupRef | None:
    labels = signs.meta.labels
    if LABEL in labels:
        return signs.named(API, labels[LABEL])
    if OLD_NAME in labels and (least := whole_number(labels.get(OLD_LEAST, ""))) is not None:
        name = labels[OLD_NAME]
        said = Definition(f"{KIND} {signs.meta.namespace}/{name}", name, minimum=least, least=least)
        return signs.named("pod-group.scheduling.sigs.k8s.io", name, said)
    return None


def definition(group: CoschedulingGroup) -> Definition:
    least = max(1, group.spec.min_member)
    return Definition(
        title=group.title,
        name=group.metadata.name,
        minimum=least,
        least=least,
        created=seconds(group.metadata.creation_timestamp),
        notes=notes_of(group.metadata.annotations, group),
    )
