"""Seats kept for gangs: noted on the job, or where there is none on the oldest pod, before another gang leaves."""

from collections.abc import Mapping

from understudy.control.desk import Desk
from understudy.kinds.annotations import HOLDS, format_seats
from understudy.kinds.gangs.lone_pod import is_live
from understudy.model.gangs import Gang
from understudy.objects.jobs import Workload
from understudy.objects.meta import seconds
from understudy.objects.pods import Pod

LONGEST_NOTE = 100_000  # characters; all annotations of an object together may have 256 KiB


def by_place(gang: Gang, seats: Mapping[str, str]) -> dict[str, str]:
    """Seats under the names of places, which outlive the pods that fill them now."""
    places = {member.name: member.place or member.name for member in gang.members()}
    return {places.get(member, member): node for member, node in seats.items()}


def seats_note(gang: Gang, seats: Mapping[str, str]) -> str | None:
    """None where there is nothing to write, or too much."""
    text = format_seats(by_place(gang, seats))
    return text if text and len(text) <= LONGEST_NOTE else None


async def hold(desk: Desk, gang: Gang, seats: Mapping[str, str]) -> bool:
    """Whether anything had to be written for it. Without a job, the oldest pod has the note; a lone pod needs none."""
    book = book_of(desk, gang)
    nominated = nominate(desk, gang, seats) if isinstance(book, Pod) else False
    note = seats_note(gang, seats)
    if book is None or (isinstance(book, Pod) and gang.size == 1) or note == book.metadata.annotations.get(HOLDS):
        return nominated
    await desk.note(book, {HOLDS: note})
    return True


def book_of(desk: Desk, gang: Gang) -> Workload | Pod | None:
    """The object on which facts about the gang are written: its job, else its oldest pod."""
    job = desk.view.job_of(gang.key)
    if job is not None:
        return job
    pods = [(seconds(pod.metadata.creation_timestamp) or 0.0, pod) for pod in desk.view.pods_of(gang.key)]
    return min(pods, key=lambda found: (found[0], found[1].metadata.name))[1] if pods else None


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
