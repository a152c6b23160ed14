"""Gives seats: lets paused jobs go on, binds the pods of a gang together, and writes down where they sit."""

from collections.abc import Mapping

import msgspec

from understudy.control.deeds import Deed
from understudy.control.desk import Desk
from understudy.control.holding import is_seatable, seats_note
from understudy.kinds.annotations import HOLDS, REQUEUED_AT
from understudy.kinds.job_control import suspend_patch
from understudy.kinds.registry import control_of
from understudy.model.gangs import Gang
from understudy.objects.pods import Pod


class Seats(msgspec.Struct):
    """Seats for members whose pods are there, and for those whose pods are not there yet."""

    there: list[tuple[Pod, str]] = []
    absent: dict[str, str] = {}


def sorted_out(desk: Desk, gang: Gang, seats: Mapping[str, str]) -> Seats:
    found = Seats()
    for member, node in seats.items():
        pod = desk.view.pod(gang.namespace, member)
        if pod is not None and is_seatable(pod):
            found.there.append((pod, node))
        else:
            found.absent[member] = node
    return found


async def resume(desk: Desk, gang: Gang, seats: Mapping[str, str]) -> None:
    """Lets a paused job go on, with its seats kept until its pods are there: one write for both."""
    job = desk.view.job_of(gang.key)
    if job is not None:  # else it was deleted since the plan was made
        notes = {REQUEUED_AT: None, HOLDS: seats_note(gang, seats)}
        await desk.let_go_on(job, notes, suspend_patch(control_of(job), False))


def seats_to_take(desk: Desk, deed: Deed) -> Seats:
    """What is to be bound now, and what is to be held until its pods are there."""
    starting = sorted_out(desk, deed.gang, deed.starts)
    leaving = set(deed.leaves)
    replacing = sorted_out(desk, deed.gang, {m: n for m, n in deed.replaces.items() if m not in leaving})
    growing = _growing(desk, deed)
    there = starting.there + replacing.there + growing.there
    moving = {member: node for member, node in deed.replaces.items() if member in leaving}
    return Seats(there, {**starting.absent, **replacing.absent, **growing.absent, **moving})


def _growing(desk: Desk, deed: Deed) -> Seats:
    """Where some pods are made only when others have seats, those who are there begin, and the rest is kept for them;
    else nothing is kept for pods that may come."""
    growing = sorted_out(desk, deed.gang, deed.grows)
    if not any(m.stage for m in deed.gang.members()):
        return Seats(_whole_islands(deed.gang, growing))
    here = {pod.metadata.name for pod, _ in growing.there}
    islands = [{member.name for member in island.members} for island in deed.gang.islands]
    begun = set().union(*(members for members in islands if members & here))
    return Seats(growing.there, {member: node for member, node in growing.absent.items() if member in begun})


def _whole_islands(gang: Gang, growing: Seats) -> list[tuple[Pod, str]]:
    """An island that is bound to a domain grows whole."""
    waiting = {
        m.name
        for island in gang.islands
        if island.topology is not None and island.topology.binding
        for m in island.members
        if any(member.name in growing.absent for member in island.members)
    }
    return [(pod, node) for pod, node in growing.there if pod.metadata.name not in waiting]
