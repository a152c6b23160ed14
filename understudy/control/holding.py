"""Seats kept for gangs: noted on the job before anybody has to leave; where there is none, on the pods in passing."""

from collections.abc import Mapping

from understudy.control.desk import Desk
from understudy.kinds.annotations import HOLDS, written_seats
from understudy.kinds.pod import is_live
from understudy.model.gangs import Gang
from understudy.objects.pods import Pod

LONGEST_NOTE = 64_000  # characters; all annotations of an object together may have 256 KiB


def by_place(gang: Gang, seats: Mapping[str, str]) -> dict[str, str]:
    """Seats under the names of places, which outlive the pods that fill them now."""
    places = {member.name: member.place or member.name for member in gang.members()}
    return {places.get(member, member): node for member, node in seats.items()}


def seats_note(gang: Gang, seats: Mapping[str, str]) -> str | None:
    """None where there is nothing to write, or too much."""
    text = written_seats(by_place(gang, seats))
    return text if text and len(text) <= LONGEST_NOTE else None


async def hold(desk: Desk, gang: Gang, seats: Mapping[str, str]) -> bool:
    """Whether anything had to be written for it."""
    job = desk.view.job_of(gang.key)
    if job is None:
        return nominate(desk, gang, seats)
    note = seats_note(gang, seats)
    if note == job.metadata.annotations.get(HOLDS):
        return False
    await desk.note(job, {HOLDS: note})
    return True


def nominate(desk: Desk, gang: Gang, seats: Mapping[str, str]) -> bool:
    """The same on the pods. It is what kubectl shows, and counts as a hold where the job has none written down.

    Nobody waits for it: until it is written, a gang has its seats by its place in line, by which they were chosen.
    """
    wrong = [
        (pod, node)
        for pod in desk.view.pods_of(gang.key)
        if is_seatable(pod) and (node := seats.get(pod.metadata.name, "")) != pod.status.nominated_node_name
    ]
    told = [desk.teller.nominates(pod, node) for pod, node in wrong]
    return any(told)


def is_seatable(pod: Pod) -> bool:
    """Whosever gate it is: behind one, a pod is not bound."""
    return wants_a_seat(pod) and not pod.spec.scheduling_gates


def wants_a_seat(pod: Pod) -> bool:
    return not pod.spec.node_name and is_live(pod)
