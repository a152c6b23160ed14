"""Which gang a pod belongs to, and its place there, from the labels and owners that its controllers set."""

from understudy.kinds.annotations import WARM_FOR
from understudy.kinds.gang_ref import GangRef
from understudy.kinds.pod_labels import (
    COMPLETION_INDEX,
    JOB_INDEX,
    JOB_KEY,
    JOB_NAME,
    JOB_ROLE,
    JOBSET_NAME,
    MPI_ROLE,
    OLD_JOB_NAME,
    OPERATOR,
    REPLICA_TYPE,
    REPLICATED_JOB,
    TRAINING_JOB,
)
from understudy.kinds.registered import REGISTERED
from understudy.kinds.registry import KINDS
from understudy.objects.meta import ObjectMeta
from understudy.objects.pods import Pod

# Labels that pods of one kind alone have. Pods may have several of the shared ones: `owner_of` knows which comes first.
_SHARED = (JOBSET_NAME, TRAINING_JOB, OLD_JOB_NAME)
_LABELLED = {label: kind.name for kind in REGISTERED for label in kind.pod_labels if label not in _SHARED}
_OPERATED = {operator: kind.name for kind in REGISTERED for operator in kind.operator_labels}
SYSTEM_PRIORITY = 2_000_000_000  # priorities from here on belong to Kubernetes' own components
_SYSTEM_CLASSES = ("system-cluster-critical", "system-node-critical")
_EVERYWHERE = ("DaemonSet", "Node")  # owners whose pods belong to their node


def pods_key(gang: str) -> str:
    """The gang key that the pods of this gang lead to: pods of a TrainJob belong to the JobSet that it creates."""
    name, slash, rest = gang.partition("/")
    kind = KINDS.get(name)
    return f"{kind.child.resource.kind}{slash}{rest}" if kind is not None and kind.child is not None else gang


def owner_of(pod: Pod) -> GangRef:
    meta = pod.metadata
    labels = meta.labels
    owner = meta.controller if meta.owner_references else None
    if WARM_FOR in meta.annotations:
        return _lone(meta, infrastructure=False)  # it belongs to a job and is no member of it
    if _of_the_system(pod) or (owner is not None and owner.kind in _EVERYWHERE):
        return _lone(meta, infrastructure=True)
    if labels:
        if JOBSET_NAME in labels:
            return _of_jobset(meta)
        if TRAINING_JOB in labels:
            return _of_training(meta)
        for label, kind in _LABELLED.items():
            if label in labels:
                return _of_operated(meta, kind, labels[label])
    job = labels.get(JOB_NAME) or labels.get(OLD_JOB_NAME) if labels else None
    if not job and owner is not None and owner.kind == "Job":
        job = owner.name
    if job:
        index = _completion_index(meta)
        key = f"Job/{meta.namespace}/{job}"
        return GangRef(key, "Job", meta.namespace, job, job, f"{job}-{index}" if index else "")
    return _lone(meta, infrastructure=False)


def _of_the_system(pod: Pod) -> bool:
    spec = pod.spec
    if spec.priority is None:
        return spec.priority_class_name in _SYSTEM_CLASSES
    return spec.priority >= SYSTEM_PRIORITY


def _lone(meta: ObjectMeta, infrastructure: bool) -> GangRef:
    key = f"Pod/{meta.namespace}/{meta.name}"
    return GangRef(key, "Pod", meta.namespace, meta.name, "", "", infrastructure)


def _completion_index(meta: ObjectMeta) -> str:
    return meta.labels.get(COMPLETION_INDEX) or meta.annotations.get(COMPLETION_INDEX, "")


def _of_jobset(meta: ObjectMeta) -> GangRef:
    labels, name = meta.labels, meta.labels[JOBSET_NAME]
    job = labels.get(JOB_NAME) or labels.get(OLD_JOB_NAME)
    if REPLICATED_JOB in labels and JOB_INDEX in labels:
        job = f"{name}-{labels[REPLICATED_JOB]}-{labels[JOB_INDEX]}"
    island = job or labels.get(JOB_KEY, name)
    index = _completion_index(meta)
    key = f"JobSet/{meta.namespace}/{name}"
    return GangRef(key, "JobSet", meta.namespace, name, island, f"{island}-{index}" if index else "")


def _of_training(meta: ObjectMeta) -> GangRef:
    kind = _OPERATED.get(meta.labels.get(OPERATOR, ""))
    if not kind:
        owner = meta.controller
        kind = owner.kind if owner is not None else "Job"
    return _of_operated(meta, kind, meta.labels[TRAINING_JOB])


def _of_operated(meta: ObjectMeta, kind: str, name: str) -> GangRef:
    """Pods have the names of their places, except those of roles with a single pod, which may be created by a Job."""
    labels, known = meta.labels, KINDS.get(kind)
    role = labels.get(REPLICA_TYPE) or labels.get(JOB_ROLE) or labels.get(MPI_ROLE, "")
    slot = f"{name}-{role}" if known is not None and role in known.single_roles else meta.name
    return GangRef(f"{kind}/{meta.namespace}/{name}", kind, meta.namespace, name, name, slot)
