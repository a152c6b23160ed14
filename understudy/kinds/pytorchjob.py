"""PyTorchJob: a master and workers; an elastic policy says how few workers will do."""

from understudy.kinds.outline import GangOutline
from understudy.kinds.training_operator import RUN_POLICY_CONTROL, replicas_outline
from understudy.objects.jobs import PyTorchJob

CONTROL = RUN_POLICY_CONTROL


def outline(job: PyTorchJob) -> GangOutline:
    return replicas_outline(job, "pytorchReplicaSpecs", ("master", "worker"), _least(job))


def _least(job: PyTorchJob) -> int | None:
    if job.spec.elastic_policy is None or job.spec.elastic_policy.min_replicas is None:
        return None
    masters = sum(spec.replicas for role, spec in job.spec.replicas.items() if role.lower() == "master")
    return job.spec.elastic_policy.min_replicas + masters
