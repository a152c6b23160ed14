"""On which kind of capacity each member of a gang may sit: as its pod or template says, else its job, else the default
of its priority."""

from collections.abc import Iterable, Mapping

import msgspec

from understudy.kinds.annotations import CAPACITY, JobAnnotations, read_capacity
from understudy.kinds.context import Context
from understudy.kinds.gangs.slots import GangSlot
from understudy.model.gangs import Member
from understudy.model.nodes import CapacityPolicy


class CapacityDefaults(msgspec.Struct, frozen=True):
    """What holds for the members of one gang that say nothing themselves."""

    title: str  # of the job, for messages
    notes: JobAnnotations
    default: CapacityPolicy  # of its priority


def give_capacity(places: Iterable[GangSlot], defaults: CapacityDefaults, context: Context) -> None:
    """Puts the capacity into the shapes. The first members by rank are critical, if the job says how many."""
    critical, usual = defaults.notes.critical_members, defaults.notes.capacity or defaults.default
    if not critical and usual is CapacityPolicy.ANY:  # as good as always: only pods may say something
        places = [place for place in places if CAPACITY in _annotations(place)]
    for rank, place in enumerate(places):
        annotations = _annotations(place)
        if rank < critical:
            capacity = CapacityPolicy.ON_DEMAND
        else:
            capacity = _own_capacity(place, annotations, defaults.title) if CAPACITY in annotations else usual
        assert place.member is not None  # `fill_members` gave every place one
        place.member = with_capacity(place.member, capacity, context)


def with_capacity(member: Member, capacity: CapacityPolicy, context: Context) -> Member:
    if capacity is member.shape.capacity:
        return member
    return msgspec.structs.replace(member, shape=context.shapes.with_capacity(member.shape, capacity))


def _annotations(place: GangSlot) -> Mapping[str, str]:
    """Those of its pod, else those its pod will have."""
    if place.sighting is not None:
        return place.sighting.annotations
    return place.role.template.metadata.annotations if place.role is not None else {}


def _own_capacity(place: GangSlot, annotations: Mapping[str, str], title: str) -> CapacityPolicy:
    if place.sighting is not None:
        ref = place.sighting.ref
        return read_capacity(annotations, f"Pod {ref.namespace}/{place.sighting.member.name}")
    assert place.role is not None  # only a template has annotations then
    return read_capacity(annotations, title, f"{place.role.field}.metadata")
