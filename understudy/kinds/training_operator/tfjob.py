"""TFJob: a chief, parameter servers, workers and evaluators; TF_CONFIG lists all of them."""

from collections.abc import Mapping

import msgspec

from understudy.kinds.children.actions import Document
from understudy.kinds.children.training.spec import (
    Replica,
    RoleState,
    TrainingJob,
    TrainingKind,
    TrainingOutcome,
    TrainingState,
    all_workers_done,
)
from understudy.kinds.training_operator.training_kind import training_kind
from understudy.objects.jobs import ReplicaSpec, RunPolicy, TrainingStatus, Workload
from understudy.objects.meta import Part
from understudy.objects.resources import Resource

TF_JOBS = Resource("kubeflow.org", "v1", "tfjobs", "TFJob")
PS, WORKER, EVALUATOR = "PS", "Worker", "Evaluator"


def variables(job: TrainingJob, replica: Replica) -> dict[str, str]:
    """Empty for a single replica."""
    if job.total == 1:
        return {}
    task = {"type": replica.role.lower, "index": replica.index}
    cluster = _cluster(job)
    if job.spec.get("enableDynamicWorker"):  # workers may be added and removed: each knows only itself and the servers
        config: Document = {"cluster": _sparse(cluster, replica), "task": task}
    else:
        config = {"cluster": cluster, "task": task, "environment": "cloud"}
    return {"TF_CONFIG": msgspec.json.encode(config).decode()}


def _cluster(job: TrainingJob) -> dict[str, list[str]]:
    """Evaluators read the checkpoints of the others, and are not part of the cluster."""
    domain = f"{job.metadata.namespace}.svc"
    return {
        role.lower: [f"{job.replica_name(role.name, i)}.{domain}:{job.port(role.name)}" for i in range(role.count)]
        for role in sorted(job.roles, key=lambda role: role.lower)
        if role.name != EVALUATOR
    }


def _sparse(cluster: dict[str, list[str]], replica: Replica) -> Document:
    if replica.role.name == PS:
        return {"worker": {}, "ps": [cluster["ps"][replica.index]]}
    if replica.role.name == WORKER:
        return {"worker": {str(replica.index): cluster["worker"][replica.index]}, "ps": cluster.get("ps", [])}
    return {"worker": {}, "ps": []}


def enough(job: TrainingJob, state: TrainingState) -> bool:
    """The first worker has succeeded, unless the policy asks for all."""
    workers = state.of(WORKER)
    if all_workers_done(job, state) or workers is None or job.spec.get("successPolicy") == "AllWorkers":
        return all_workers_done(job, state)
    first = job.replica_name(WORKER, 0)
    return any(pod.metadata.name == first and pod.status.phase == "Succeeded" for pod in workers.pods)


def failed(job: TrainingJob, found: RoleState) -> TrainingOutcome:
    """Any failure ends the job, unless the pod is certainly created again."""
    known = found.restarting or found.retried
    if known and found.role.restart_policy != "Never":
        return TrainingOutcome.RESTARTING
    dynamic = job.spec.get("enableDynamicWorker") and found.role.name == WORKER
    return TrainingOutcome.NONE if dynamic else TrainingOutcome.FAILED


class TFJobSpec(Part, frozen=True, gc=False):
    replicas: Mapping[str, ReplicaSpec] = msgspec.field(name="tfReplicaSpecs")
    run_policy: RunPolicy = RunPolicy()


class TFJob(Workload, frozen=True, gc=False, kw_only=True):
    spec: TFJobSpec
    status: TrainingStatus = TrainingStatus()


RULES = TrainingKind(
    resource=TF_JOBS,
    field="tfReplicaSpecs",
    roles=("Chief", EVALUATOR, "Master", PS, WORKER),
    container="tensorflow",
    port=("tfjob-port", 2222),
    restart_policy="Never",
    variables=variables,
    enough=enough,
    failed=failed,
    failed_words="{kind} {namespace}/{name} has failed because {count} {role} replica(s) failed.",
    leaders=("Chief", "Master"),
    told_everywhere=False,
)
KIND = training_kind(
    RULES,
    TFJob,
    names=("tfjob", "tf"),
    order=("chief", "master", "ps", "worker", "evaluator"),
)
