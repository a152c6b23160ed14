"""XGBoostJob: workers around a master that keeps track of them; LightGBM's machines are told to each other as well."""

from functools import partial

from understudy.kinds.children.training.reconcile import reconcile as training_children
from understudy.kinds.children.training.spec import Replica, TrainingJob, TrainingKind
from understudy.kinds.children.training.state import RoleState, all_workers_done
from understudy.kinds.children.training.verdict import TrainingOutcome
from understudy.objects.resources import XGBOOST_JOBS

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
    """Any failure is the end, unless exit codes are looked at."""
    return TrainingOutcome.RESTARTING if found.role.restart_policy == "ExitCode" else TrainingOutcome.FAILED


KIND = TrainingKind(
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

children = partial(training_children, KIND)
