"""PaddleJob: a master and workers; an elastic policy says how few workers will do."""

from understudy.kinds.outlines import Outline
from understudy.kinds.training import RUN_POLICY, replicas_outline
from understudy.objects.jobs import PaddleJob

LEVER = RUN_POLICY


def outline(job: PaddleJob) -> Outline:
    elastic = job.spec.elastic_policy
    return replicas_outline(job, "paddleReplicaSpecs", ("master", "worker"), elastic.min_replicas if elastic else None)
