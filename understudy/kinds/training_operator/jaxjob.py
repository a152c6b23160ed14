"""JAXJob: workers only; the first is the coordinator, whose address all of them get."""

from collections.abc import Mapping

import msgspec

from understudy.kinds.children.training.spec import (
    Replica,
    TrainingJob,
    TrainingKind,
    all_workers_done,
    fails_when_lacking,
)
from understudy.kinds.training_operator.training_kind import training_kind
from understudy.objects.jobs import ReplicaSpec, RunPolicy, TrainingStatus, Workload
from understudy.objects.meta import Part
from understudy.objects.resources import Resource

JAX_JOBS = Resource("kubeflow.org", "v1", "jaxjobs", "JAXJob")
WORKER = "Worker"


def variables(job: TrainingJob, replica: Replica) -> dict[str, str]:
    return {
        "PYTHONUNBUFFERED": "1",
        "COORDINATOR_ADDRESS": job.replica_name(WORKER, 0),
        "COORDINATOR_PORT": str(job.port(WORKER)),
        "NUM_PROCESSES": str(job.total),
        "PROCESS_ID": str(replica.index),
    }


class JAXJobSpec(Part, frozen=True, gc=False):
    replicas: Mapping[str, ReplicaSpec] = msgspec.field(name="jaxReplicaSpecs")
    run_policy: RunPolicy = RunPolicy()


class JAXJob(Workload, frozen=True, gc=False, kw_only=True):
    spec: JAXJobSpec
    status: TrainingStatus = TrainingStatus()


RULES = TrainingKind(
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
KIND = training_kind(
    RULES,
    JAXJob,
    names=("jaxjob", "jax"),
    order=("worker",),
)
