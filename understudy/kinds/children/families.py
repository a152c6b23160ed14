"""Kinds that make their children here, where no operator runs: `FAMILIES` names each with the resources it makes.

To add one, write a module with `children(document, observed, now) -> Wanted` and name it here.
"""

from collections.abc import Callable

import msgspec

from understudy.kinds.children import jaxjob, paddlejob, pytorchjob, tfjob, xgboostjob
from understudy.kinds.children.actions import NO_ACTIONS, ChildActions, Document, ObservedChildren
from understudy.kinds.children.job import reconcile as job
from understudy.kinds.children.jobset import reconcile as jobset
from understudy.kinds.children.mpijob import reconcile as mpijob
from understudy.kinds.children.trainjob import reconcile as trainjob
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


def _nothing(_: ObservedChildren) -> ChildActions:
    return NO_ACTIONS


class Family(msgspec.Struct, frozen=True):
    parent: Resource
    offspring: tuple[Resource, ...]
    children: Callable[[Document, ObservedChildren, float], ChildActions]  # the parent, its children, the time
    left_behind: Callable[[ObservedChildren], ChildActions] = _nothing  # children whose parent is gone
    consults: tuple[Resource, ...] = ()  # objects of others it decides by; whenever one changes, it decides anew


FAMILIES = (
    Family(JOBS, (PODS,), job.reconcile, job.release_orphans),
    Family(JOB_SETS, (JOBS, SERVICES), jobset.reconcile),
    Family(PYTORCH_JOBS, (PODS, SERVICES), pytorchjob.children),
    Family(TF_JOBS, (PODS, SERVICES), tfjob.children),
    Family(XGBOOST_JOBS, (PODS, SERVICES), xgboostjob.children),
    Family(PADDLE_JOBS, (PODS, SERVICES), paddlejob.children),
    Family(JAX_JOBS, (PODS, SERVICES), jaxjob.children),
    Family(MPI_JOBS, (PODS, JOBS, SERVICES, CONFIG_MAPS), mpijob.reconcile),
    Family(TRAIN_JOBS, (JOB_SETS,), trainjob.reconcile, consults=(TRAINING_RUNTIMES, CLUSTER_TRAINING_RUNTIMES)),
)
