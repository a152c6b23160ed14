"""JobSet: from the object and its Jobs to the Jobs it wants, attempt by attempt."""

from understudy.kinds.children.jobset.deciding import children

__all__ = ["children"]
