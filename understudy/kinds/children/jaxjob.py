"""JAXJob: workers only; the first of them is the coordinator whose address all are told."""

from functools import partial

from understudy.kinds.children import training
from understudy.kinds.children.training import Kind, Replica, TrainingJob, all_done, when_seats_are_open
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


KIND = Kind(
    resource=JAX_JOBS,
    field="jaxReplicaSpecs",
    roles=(WORKER,),
    container="jax",
    port=("jaxjob-port", 6666),
    restart_policy="Never",
    variables=variables,
    enough=all_done,
    failed=when_seats_are_open,
)

children = partial(training.children, KIND)
