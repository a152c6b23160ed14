"""PaddleJob: a master and workers; an elastic policy says how few workers will do."""

from understudy.kinds.outline import GangOutline
from understudy.kinds.training_operator import RUN_POLICY_CONTROL, replicas_outline
from understudy.objects.jobs import PaddleJob

CONTROL = RUN_POLICY_CONTROL


def outline(job: PaddleJob) -> GangOutline:
    elastic = job.spec.elastic_policy
    return replicas_outline(job, "paddleReplicaSpecs", ("master", "worker"), elastic.min_replicas if elastic else None)
