"""XGBoostJob: a master and workers."""

from understudy.kinds.outline import GangOutline
from understudy.kinds.training_operator import RUN_POLICY_CONTROL, replicas_outline
from understudy.objects.jobs import XGBoostJob

CONTROL = RUN_POLICY_CONTROL


def outline(job: XGBoostJob) -> GangOutline:
    return replicas_outline(job, "xgbReplicaSpecs", ("master", "worker"))
