"""JAXJob: workers only; the first of them is the coordinator whose address all are told."""

from functools import partial

from understudy.kinds.children.training.reconcile import reconcile as training_children
from understudy.kinds.children.training.spec import Replica, TrainingJob, TrainingKind
from understudy.kinds.children.training.state import all_workers_done
from understudy.kinds.children.training.verdict import fails_when_lacking
from understudy.objects.resources import JAX_JOBS

WORKER = "Worker"


def variables(job: TrainingJob, replica: Replica) -> dict[str, str]:
    return {
        "PYTHONUNBUFFERED": "1",
        "COORDINATOR_ADDRESS": job.replica_name(WORKER, 0),
        "COORDINATOR_PORT": str(job.port(WORKER)),
        "NUM_PROCESSES": str(job.total),
        "PROCESS_ID": str(replica.index),
    }


KIND = TrainingKind(
    resource=JAX_JOBS,
    field="jaxReplicaSpecs",
    roles=(WORKER,),
    container="jax",
    port=("jaxjob-port", 6666),
    restart_policy="Never",
    variables=variables,
    enough=all_workers_done,
    failed=fails_when_lacking,
)

children = partial(training_children, KIND)
