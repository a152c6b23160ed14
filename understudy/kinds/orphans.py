"""Pods whose job object is not known: a gang all the same, told from the pods alone."""

from collections.abc import Sequence

from understudy.kinds.annotations import notes_of
from understudy.kinds.assembling import Head, assembled
from understudy.kinds.context import Context
from understudy.kinds.jobset import topology_of
from understudy.kinds.outlines import Outline
from understudy.kinds.sightings import Sighting
from understudy.model.gangs import Gang


def orphan_gang(seen: Sequence[Sighting], context: Context) -> Gang | None:
    """Nothing is planned beyond what is there: whether its owner wants more is not known. Pods say themselves which
    domains they have to themselves: that is written on them with their seat."""
    first = min(seen, key=lambda s: (s.created, s.member.name))
    ref = first.ref
    topologies = {s.ref.island: topology_of(s.annotations, ref) for s in seen}
    head = Head(ref.kind, ref.namespace, ref.name, first.created, notes_of(first.annotations, ref))
    return assembled(head, Outline(topologies=topologies), seen, context)
