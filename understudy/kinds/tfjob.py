"""TFJob: a chief, parameter servers, workers and evaluators."""

from understudy.kinds.outlines import Outline
from understudy.kinds.training import replicas_outline
from understudy.objects.jobs import TFJob


def outline(job: TFJob) -> Outline:
    return replicas_outline(job, "tfReplicaSpecs", ("chief", "master", "ps", "worker", "evaluator"))
