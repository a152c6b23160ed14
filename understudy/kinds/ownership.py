"""Which gang a pod belongs to, and its place there, from the labels and owners that its controllers set."""

import msgspec

from understudy.kinds.annotations import WARM_FOR
from understudy.objects.meta import KubeObject, ObjectMeta
from understudy.objects.pods import Pod

JOBSET_NAME = "jobset.sigs.k8s.io/jobset-name"
REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"
JOB_INDEX = "jobset.sigs.k8s.io/job-index"
JOB_KEY = "jobset.sigs.k8s.io/job-key"
TRAINING_JOB = "training.kubeflow.org/job-name"
OPERATOR = "training.kubeflow.org/operator-name"
JOB_ROLE = "training.kubeflow.org/job-role"
REPLICA_TYPE = "training.kubeflow.org/replica-type"
REPLICA_INDEX = "training.kubeflow.org/replica-index"
MPI_JOB = "mpi_job_name"
MPI_ROLE = "mpi_role_type"
JOB_NAME = "batch.kubernetes.io/job-name"
OLD_JOB_NAME = "job-name"
EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"  # annotations of a JobSet
NODE_SELECTOR = "alpha.jobset.sigs.k8s.io/node-selector"
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"

_OPERATED = {
    "pytorchjob-controller": "PyTorchJob",
    "tfjob-controller": "TFJob",
    "xgboostjob-controller": "XGBoostJob",
    "paddlejob-controller": "PaddleJob",
    "jaxjob-controller": "JAXJob",
    "mpijob-controller": "MPIJob",
    "mpi-operator": "MPIJob",
}
SYSTEM_PRIORITY = 2_000_000_000  # priorities from here on belong to Kubernetes' own components
_SYSTEM_CLASSES = ("system-cluster-critical", "system-node-critical")
_EVERYWHERE = ("DaemonSet", "Node")  # owners whose pods belong to their node


class GangRef(msgspec.Struct, frozen=True, gc=False):
    """The gang of a pod, and its place. No slot: any place that its job still has to fill."""

    key: str  # Kind/namespace/name
    kind: str
    namespace: str
    name: str
    island: str = ""
    slot: str = ""
    infrastructure: bool = False

    @property
    def title(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


def job_key(job: KubeObject) -> str:
    """The key of the gang that a job represents."""
    return f"{job.kind}/{job.metadata.namespace}/{job.metadata.name}"


def pods_key(gang: str) -> str:
    """The gang key that the pods of this gang lead to: pods of a TrainJob belong to the JobSet that it creates."""
    return "JobSet" + gang.removeprefix("TrainJob") if gang.startswith("TrainJob/") else gang


def place_of(meta: ObjectMeta) -> str:
    """What pods that take each other's place have in common: a name that was made from a prefix ends in letters that
    mean nothing."""
    prefix = meta.generate_name
    return prefix.rstrip("-") if prefix and meta.name.startswith(prefix) else meta.name


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
        if TRAINING_JOB in labels or MPI_JOB in labels:
            return _of_training(meta)
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
    """Pods have the names of their places, except launchers created by a Job."""
    labels = meta.labels
    name = labels.get(TRAINING_JOB) or labels[MPI_JOB]
    kind = _OPERATED.get(labels.get(OPERATOR, "")) if TRAINING_JOB in labels else "MPIJob"
    owner = meta.controller
    if not kind:
        kind = owner.kind if owner is not None else "Job"
    role = labels.get(REPLICA_TYPE) or labels.get(JOB_ROLE) or labels.get(MPI_ROLE, "")
    launcher = kind == "MPIJob" and role == "launcher"
    slot = f"{name}-launcher" if launcher else meta.name
    return GangRef(f"{kind}/{meta.namespace}/{name}", kind, meta.namespace, name, name, slot)
