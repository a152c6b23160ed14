"""TrainJob: from the object and its runtime to the JobSet it wants, and from that JobSet to its own status."""

from understudy.kinds.children.trainjob.deciding import children

__all__ = ["children"]
