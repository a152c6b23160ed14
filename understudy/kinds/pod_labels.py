"""The labels and annotations by which pods, and the objects between them and their job, say where they belong."""

from understudy.objects.meta import ObjectMeta

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

RANDOM_SUFFIX = "[a-z0-9]{5}"  # a pattern for what the API server appends to a prefix


def place_of(meta: ObjectMeta) -> str:
    """What pods that take each other's place have in common: a name that was made from a prefix ends in letters that
    mean nothing."""
    prefix = meta.generate_name
    return prefix.rstrip("-") if prefix and meta.name.startswith(prefix) else meta.name
