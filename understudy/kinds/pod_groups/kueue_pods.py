"""Pods that Kueue queues as one group: a label names the group, an annotation gives its size; there is no object."""

from understudy.kinds.pod_groups.definition import GroupDefinition, GroupMarks, GroupRef, positive_number

API = "kueue.x-k8s.io"
LABEL = "kueue.x-k8s.io/pod-group-name"
TOTAL = "kueue.x-k8s.io/pod-group-total-count"
# Pods of a StatefulSet are created one after the other, each when the one before it runs: they cannot wait for all.
ONE_BY_ONE = ("kueue.x-k8s.io/pod-group-fast-admission", "kueue.x-k8s.io/pod-group-serving")


def ref(signs: GroupMarks) -> GroupRef | None:
    labels, notes = signs.meta.labels, signs.meta.annotations
    if LABEL not in labels or (total := positive_number(notes.get(TOTAL, ""))) is None:
        return None
    name = labels[LABEL]
    title = f"the pod group {signs.meta.namespace}/{name} of Kueue"
    if any(notes.get(key) == "true" for key in ONE_BY_ONE):
        return signs.named(API, name, GroupDefinition(title, name, minimum=1))
    return signs.named(API, name, GroupDefinition(title, name, minimum=total, least=total))
