"""TFJob: a chief, parameter servers, workers and evaluators."""

from understudy.kinds.outlines import Outline
from understudy.kinds.training import RUN_POLICY, replicas_outline
from understudy.objects.jobs import TFJob

LEVER = RUN_POLICY


def outline(job: TFJob) -> Outline:
    return replicas_outline(job, "tfReplicaSpecs", ("chief", "master", "ps", "worker", "evaluator"))
