"""PaddleJob: a master and workers; an elastic policy says how few workers will do."""

from understudy.kinds.outlines import Outline
from understudy.kinds.training import replicas_outline
from understudy.objects.jobs import PaddleJob


def outline(job: PaddleJob) -> Outline:
    elastic = job.spec.elastic_policy
    return replicas_outline(job, "paddleReplicaSpecs", ("master", "worker"), elastic.min_replicas if elastic else None)
