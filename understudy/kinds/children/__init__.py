"""Kinds that make their children here, where no operator runs: `FAMILIES` names each with the resources it makes.

To add one, write a module with `children(document, observed, now) -> Wanted` and name it here.
"""

from collections.abc import Callable

import msgspec

from understudy.kinds.children import jaxjob, job, jobset, mpijob, paddlejob, pytorchjob, tfjob, trainjob, xgboostjob
from understudy.kinds.children.wanted import NOTHING, Document, Observed, Wanted
from understudy.objects.resources import (
    CLUSTER_TRAINING_RUNTIMES,
    CONFIG_MAPS,
    JAX_JOBS,
    JOB_SETS,
    JOBS,
    MPI_JOBS,
    PADDLE_JOBS,
    PODS,
    PYTORCH_JOBS,
    SERVICES,
    TF_JOBS,
    TRAIN_JOBS,
    TRAINING_RUNTIMES,
    XGBOOST_JOBS,
    Resource,
)


def _nothing(_: Observed) -> Wanted:
    return NOTHING


class Family(msgspec.Struct, frozen=True):
    parent: Resource
    offspring: tuple[Resource, ...]
    children: Callable[[Document, Observed, float], Wanted]  # the parent, its children, the time
    left_behind: Callable[[Observed], Wanted] = _nothing  # children whose parent is gone
    consults: tuple[Resource, ...] = ()  # objects of others it decides by; whenever one changes, it decides anew


FAMILIES = (
    Family(JOBS, (PODS,), job.children, job.left_behind),
    Family(JOB_SETS, (JOBS, SERVICES), jobset.children),
    Family(PYTORCH_JOBS, (PODS, SERVICES), pytorchjob.children),
    Family(TF_JOBS, (PODS, SERVICES), tfjob.children),
    Family(XGBOOST_JOBS, (PODS, SERVICES), xgboostjob.children),
    Family(PADDLE_JOBS, (PODS, SERVICES), paddlejob.children),
    Family(JAX_JOBS, (PODS, SERVICES), jaxjob.children),
    Family(MPI_JOBS, (PODS, JOBS, SERVICES, CONFIG_MAPS), mpijob.children),
    Family(TRAIN_JOBS, (JOB_SETS,), trainjob.children, consults=(TRAINING_RUNTIMES, CLUSTER_TRAINING_RUNTIMES)),
)

__all__ = ["FAMILIES", "Document", "Family", "Observed", "Wanted"]
