"""PyTorchJob: ranks whose rendezvous is the master or, without one, workers that torchrun connects."""

from collections.abc import Mapping
from typing import Any

import msgspec

from understudy.kinds.children.actions import Document
from understudy.kinds.children.training.spec import (
    Replica,
    TrainingJob,
    TrainingKind,
    TrainingState,
    all_workers_done,
    fails_when_lacking,
)
from understudy.kinds.training_operator.training_kind import training_kind
from understudy.objects.jobs import ElasticPolicy, ReplicaSpec, RunPolicy, TrainingStatus, Workload
from understudy.objects.meta import Part
from understudy.objects.resources import Resource

PYTORCH_JOBS = Resource("kubeflow.org", "v1", "pytorchjobs", "PyTorchJob")
MASTER, WORKER = "Master", "Worker"


def variables(job: TrainingJob, replica: Replica) -> dict[str, str]:
    """PET_ variables are options of torchrun; those without the prefix are for programs that are started directly."""
    processes = str(job.spec.get("nprocPerNode") or "auto")
    told = {"PYTHONUNBUFFERED": "1"}
    if job.leader is not None:
        rank = str(replica.index + (replica.role.name == WORKER))
        size = job.total * (int(processes) if processes.isdecimal() else 1)
        told |= _at_master(job) | {"WORLD_SIZE": str(size), "RANK": rank, "PET_NODE_RANK": rank}
    told |= {"PET_NPROC_PER_NODE": processes, "PET_NNODES": str(job.total)}
    policy: Document | None = job.spec.get("elasticPolicy")
    return told if policy is None else told | _elastic(job, policy)


def _at_master(job: TrainingJob) -> dict[str, str]:
    address, port = job.replica_name(MASTER, 0), str(job.port(MASTER))
    return {"MASTER_ADDR": address, "MASTER_PORT": port, "PET_MASTER_ADDR": address, "PET_MASTER_PORT": port}


def _elastic(job: TrainingJob, policy: Document) -> dict[str, str]:
    host = policy.get("rdzvHost") or job.replica_name(WORKER, 0)
    told = {
        "PET_RDZV_ENDPOINT": f"{host}:{policy.get('rdzvPort') or job.port(WORKER)}",
        "PET_RDZV_BACKEND": policy.get("rdzvBackend") or "c10d",
        "PET_NNODES": _nodes(job, policy),
    }
    settings: list[dict[str, Any]] = policy.get("rdzvConf") or []
    given = {
        "PET_MAX_RESTARTS": policy.get("maxRestarts"),
        "PET_NPROC_PER_NODE": policy.get("nProcPerNode"),
        "PET_RDZV_ID": policy.get("rdzvId"),
        "PET_RDZV_CONF": ",".join(f"{one.get('key', '')}={one.get('value', '')}" for one in settings) or None,
    }
    told |= {name: str(value) for name, value in given.items() if value is not None}
    return told | ({"PET_STANDALONE": ""} if policy.get("standalone") else {})


def _nodes(job: TrainingJob, policy: Document) -> str:
    """The maximum, if only one end of the range is given."""
    workers = job.count(WORKER)
    least, most = policy.get("minReplicas"), policy.get("maxReplicas")
    if least is None and most is None:
        return str(workers)
    return f"{workers if least is None else least}:{workers if most is None else most}"


def enough(job: TrainingJob, state: TrainingState) -> bool:
    """All workers have succeeded. Of an elastic set, one is enough: it succeeds when the whole work is done."""
    workers = state.of(WORKER)
    elastic = job.spec.get("elasticPolicy") is not None
    return all_workers_done(job, state) or (elastic and workers is not None and workers.succeeded > 0)


class PyTorchJobSpec(Part, frozen=True, gc=False):
    replicas: Mapping[str, ReplicaSpec] = msgspec.field(name="pytorchReplicaSpecs")
    run_policy: RunPolicy = RunPolicy()
    elastic_policy: ElasticPolicy | None = None


class PyTorchJob(Workload, frozen=True, gc=False, kw_only=True):
    spec: PyTorchJobSpec
    status: TrainingStatus = TrainingStatus()


def _min_members(job: PyTorchJob) -> int | None:
    """An elastic policy sets the minimum of workers; a master counts in addition."""
    if job.spec.elastic_policy is None or job.spec.elastic_policy.min_replicas is None:
        return None
    masters = sum(spec.replicas for role, spec in job.spec.replicas.items() if role.lower() == "master")
    return job.spec.elastic_policy.min_replicas + masters


RULES = TrainingKind(
    resource=PYTORCH_JOBS,
    field="pytorchReplicaSpecs",
    roles=(MASTER, WORKER),
    container="pytorch",
    port=("pytorchjob-port", 23456),
    restart_policy="OnFailure",
    variables=variables,
    enough=enough,
    failed=fails_when_lacking,
    leaders=(MASTER,),
)
KIND = training_kind(
    RULES,
    PyTorchJob,
    names=("pytorchjob", "pytorch", "py"),
    min_members=_min_members,
)
