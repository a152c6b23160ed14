"""XGBoostJob: workers around a master that runs the tracker; LightGBM also gets the list of all machines."""

from collections.abc import Mapping

import msgspec

from understudy.kinds.children.training.spec import (
    Replica,
    RoleState,
    TrainingJob,
    TrainingKind,
    TrainingOutcome,
    all_workers_done,
)
from understudy.kinds.training_operator.training_kind import training_kind
from understudy.objects.jobs import ReplicaSpec, RunPolicy, TrainingStatus, Workload
from understudy.objects.meta import Part
from understudy.objects.resources import Resource

XGBOOST_JOBS = Resource("kubeflow.org", "v1", "xgboostjobs", "XGBoostJob")
MASTER, WORKER = "Master", "Worker"


def variables(job: TrainingJob, replica: Replica) -> dict[str, str]:
    told = {
        "MASTER_ADDR": job.replica_name(MASTER, 0),
        "MASTER_PORT": str(job.port(MASTER)),
        "WORLD_SIZE": str(job.total),
        "RANK": str(replica.index + (job.count(MASTER) if replica.role.name == WORKER else 0)),
        "PYTHONUNBUFFERED": "1",
    }
    if job.total == 1:
        return told
    workers = ",".join(job.replica_name(WORKER, index) for index in range(job.count(WORKER)))
    return {**told, "WORKER_PORT": str(job.port(WORKER)), "WORKER_ADDRS": workers}


def failed(_: TrainingJob, found: RoleState) -> TrainingOutcome:
    """Any failure ends the job, unless its exit codes are evaluated."""
    return TrainingOutcome.RESTARTING if found.role.restart_policy == "ExitCode" else TrainingOutcome.FAILED


class XGBoostJobSpec(Part, frozen=True, gc=False):
    replicas: Mapping[str, ReplicaSpec] = msgspec.field(name="xgbReplicaSpecs")
    run_policy: RunPolicy = RunPolicy()


class XGBoostJob(Workload, frozen=True, gc=False, kw_only=True):
    spec: XGBoostJobSpec
    status: TrainingStatus = TrainingStatus()


RULES = TrainingKind(
    resource=XGBOOST_JOBS,
    field="xgbReplicaSpecs",
    roles=(MASTER, WORKER),
    container="xgboost",
    port=("xgboostjob-port", 9999),
    restart_policy="Never",
    variables=variables,
    enough=all_workers_done,
    failed=failed,
    leaders=(MASTER,),
    needs_leader=True,
)
KIND = training_kind(
    RULES,
    XGBoostJob,
    names=("xgboostjob", "xgboost"),
)
