"""Kinds that make their children here, where no operator runs: `FAMILIES` names each with the resources it makes.

To add one, write a module with `children(document, observed, now) -> Wanted` and name it here.
"""

from collections.abc import Callable

import msgspec

from understudy.kinds.children import job, jobset
from understudy.kinds.children.wanted import NOTHING, Document, Observed, Wanted
from understudy.objects.resources import JOB_SETS, JOBS, PODS, SERVICES, Resource


def _nothing(_: Observed) -> Wanted:
    return NOTHING


class Family(msgspec.Struct, frozen=True):
    parent: Resource
    offspring: tuple[Resource, ...]
    children: Callable[[Document, Observed, float], Wanted]  # the parent, its children, the time
    left_behind: Callable[[Observed], Wanted] = _nothing  # children whose parent is gone


FAMILIES = (
    Family(JOBS, (PODS,), job.children, job.left_behind),
    Family(JOB_SETS, (JOBS, SERVICES), jobset.children),
)

__all__ = ["FAMILIES", "Document", "Family", "Observed", "Wanted"]
