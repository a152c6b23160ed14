"""batch/v1 Job: from the object and its pods to the pods it wants, pod by pod on record."""

from understudy.kinds.children.job.deciding import children, left_behind

__all__ = ["children", "left_behind"]
