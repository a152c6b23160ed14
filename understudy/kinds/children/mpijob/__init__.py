"""MPIJob in its three versions: from the object, its launcher and its workers to those it wants."""

from understudy.kinds.children.mpijob.deciding import children

__all__ = ["children"]
