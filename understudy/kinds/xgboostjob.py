"""XGBoostJob: a master and workers."""

from understudy.kinds.outlines import Outline
from understudy.kinds.training import RUN_POLICY, replicas_outline
from understudy.objects.jobs import XGBoostJob

LEVER = RUN_POLICY


def outline(job: XGBoostJob) -> Outline:
    return replicas_outline(job, "xgbReplicaSpecs", ("master", "worker"))
