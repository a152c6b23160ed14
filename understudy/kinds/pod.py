"""A lone pod is a gang of one. There may be very many, so they take a short way; so does a Job with one pod."""

import msgspec

from understudy.kinds.annotations import NO_NOTES, notes_of
from understudy.kinds.assembling import Head, assembled
from understudy.kinds.context import Context
from understudy.kinds.outlines import Outline
from understudy.kinds.sightings import Sighting, State
from understudy.model.gangs import Gang, Island


def gang_of_one(head: Head, sighting: Sighting) -> Gang:
    """A gang whose only member is a pod that is there and wants to stay. Its annotations must have nothing to say."""
    member, standing = sighting.member, sighting.standing
    nominated = not member.node and sighting.nominated
    return Gang(
        f"{head.kind}/{head.namespace}/{head.name}",
        head.kind,
        head.namespace,
        head.name,
        (Island(head.name, (member,)),),
        standing.priority,
        head.queued_at,
        None,
        standing.preempts,
        sighting.ours,
        sighting.ref.infrastructure,
        gates=() if member.node else sighting.gates,
        started_at=sighting.started if member.node else None,
        holds=((member.name, sighting.nominated),) if nominated else (),
    )


def lone_gang(sighting: Sighting, context: Context) -> Gang | None:
    ref = sighting.ref
    title = f"Pod {ref.namespace}/{ref.name}"
    notes = notes_of(sighting.annotations, title) if sighting.annotations else NO_NOTES
    head = Head(ref.kind, ref.namespace, ref.name, title, sighting.created, notes)
    if sighting.state is State.LIVE and notes is NO_NOTES:
        return gang_of_one(head, sighting)
    gang = assembled(head, Outline(), (sighting,), context)
    return msgspec.structs.replace(gang, infrastructure=ref.infrastructure) if gang else None
