"""TFJob: a chief, parameter servers, workers and evaluators."""

from understudy.kinds.outline import GangOutline
from understudy.kinds.training_operator import RUN_POLICY_CONTROL, replicas_outline
from understudy.objects.jobs import TFJob

CONTROL = RUN_POLICY_CONTROL


def outline(job: TFJob) -> GangOutline:
    return replicas_outline(job, "tfReplicaSpecs", ("chief", "master", "ps", "worker", "evaluator"))
