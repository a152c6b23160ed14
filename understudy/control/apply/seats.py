"""Seats of a gang: which are kept for it, which it can take now, and which volumes have to be made first."""

from collections.abc import Container, Iterable, Mapping
from functools import partial

import msgspec

from understudy.control.apply.context import ApplyContext
from understudy.control.apply.gang_changes import GangChanges
from understudy.control.concurrency import run_all
from understudy.control.view.gang_parts import is_seatable
from understudy.kinds.annotations import HOLDS, REQUEUED_AT, format_seats
from understudy.kinds.job_control import suspend_patch
from understudy.kinds.registry import control_of
from understudy.model.gangs import Gang
from understudy.objects.jobs import Workload
from understudy.objects.meta import seconds
from understudy.objects.pods import Pod
from understudy.objects.volumes import NamedClaim

MAX_ANNOTATION = 100_000  # characters; all annotations of an object together may have 256 KiB


def by_place(gang: Gang, seats: Mapping[str, str]) -> dict[str, str]:
    """Seats by the place of the member: places stay the same when pods are replaced."""
    places = {member.name: member.place or member.name for member in gang.members()}
    return {places.get(member, member): node for member, node in seats.items()}


def seats_note(gang: Gang, seats: Mapping[str, str]) -> str | None:
    """None if there is nothing to write, or if it would be too large."""
    text = format_seats(by_place(gang, seats))
    return text if text and len(text) <= MAX_ANNOTATION else None


async def hold_seats(context: ApplyContext, gang: Gang, seats: Mapping[str, str]) -> bool:
    """Returns whether a write was necessary. Without a job, the oldest pod has the annotation; a lone pod needs
    none."""
    book = annotated_object(context, gang)
    nominated = nominate_nodes(context, gang, seats) if isinstance(book, Pod) else False
    note = seats_note(gang, seats)
    if book is None or (isinstance(book, Pod) and gang.size == 1) or note == book.metadata.annotations.get(HOLDS):
        return nominated
    await context.writer.annotate(book, {HOLDS: note})
    return True


def annotated_object(context: ApplyContext, gang: Gang) -> Workload | Pod | None:
    """The object on which facts about the gang are written: its job, else its oldest pod."""
    job = context.view.job_of(gang.key)
    if job is not None:
        return job
    pods = [(seconds(pod.metadata.creation_timestamp) or 0.0, pod) for pod in context.view.pods_of(gang.key)]
    return min(pods, key=lambda found: (found[0], found[1].metadata.name))[1] if pods else None


def nominate_nodes(context: ApplyContext, gang: Gang, seats: Mapping[str, str]) -> bool:
    """Nominates the same nodes on the pods. kubectl shows that, and it counts as a hold where the job has no
    annotation.

    The write may be delayed: until then the gang gets the same seats by its place in the queue."""
    wrong = [
        (pod, node)
        for pod in context.view.pods_of(gang.key)
        if is_seatable(pod) and (node := seats.get(pod.metadata.name, "")) != pod.status.nominated_node_name
    ]
    recorded = [context.recorder.record_nomination(pod, node) for pod, node in wrong]
    return any(recorded)


class SeatsByPod(msgspec.Struct):
    """Seats for members whose pods exist, and for members whose pods do not exist yet."""

    there: list[tuple[Pod, str]] = []
    absent: dict[str, str] = {}


def split_by_pod(context: ApplyContext, gang: Gang, seats: Mapping[str, str]) -> SeatsByPod:
    found = SeatsByPod()
    for member, node in seats.items():
        pod = context.view.pod(gang.namespace, member)
        if pod is not None and is_seatable(pod):
            found.there.append((pod, node))
        else:
            found.absent[member] = node
    return found


async def resume_job(context: ApplyContext, gang: Gang, seats: Mapping[str, str]) -> None:
    """Resumes a suspended job and holds its seats until its pods exist, in one write."""
    job = context.view.job_of(gang.key)
    if job is not None:  # otherwise it was deleted after the plan was made
        notes = {REQUEUED_AT: None, HOLDS: seats_note(gang, seats)}
        await context.writer.resume(job, notes, suspend_patch(control_of(job), False))


def seats_to_take(context: ApplyContext, changes: GangChanges) -> SeatsByPod:
    """Seats to bind now, and seats to hold until their pods exist."""
    starting = split_by_pod(context, changes.gang, changes.starts)
    leaving = set(changes.leaves)
    replacing = split_by_pod(context, changes.gang, {m: n for m, n in changes.replaces.items() if m not in leaving})
    growing = _growing(context, changes)
    there = starting.there + replacing.there + growing.there
    moving = {member: node for member, node in changes.replaces.items() if member in leaving}
    return SeatsByPod(there, {**starting.absent, **replacing.absent, **growing.absent, **moving})


def _growing(context: ApplyContext, changes: GangChanges) -> SeatsByPod:
    """If some pods are created only after others have seats, the existing pods start and the other seats are held;
    otherwise nothing is held for pods that may never be created."""
    growing = split_by_pod(context, changes.gang, changes.grows)
    if not any(m.stage for m in changes.gang.members()):
        return SeatsByPod(_whole_islands(changes.gang, growing))
    here = {pod.metadata.name for pod, _ in growing.there}
    islands = [{member.name for member in island.members} for island in changes.gang.islands]
    begun = set().union(*(members for members in islands if members & here))
    return SeatsByPod(growing.there, {member: node for member, node in growing.absent.items() if member in begun})


def _whole_islands(gang: Gang, growing: SeatsByPod) -> list[tuple[Pod, str]]:
    """An island that is bound to a domain grows whole."""
    waiting = {
        m.name
        for island in gang.islands
        if island.topology is not None and island.topology.binding
        for m in island.members
        if any(member.name in growing.absent for member in island.members)
    }
    return [(pod, node) for pod, node in growing.there if pod.metadata.name not in waiting]


class VolumeOrder(msgspec.Struct, frozen=True):
    volume: NamedClaim
    node: str
    namespace: str

    @property
    def words(self) -> str:
        title = f"PersistentVolumeClaim {self.namespace}/{self.volume.name}"
        if self.volume.claim is None:
            return f"{title} has yet to be made, which comes with the pod"
        return f"the volume of {title} has yet to be made, for node {self.volume.node or self.node}"


def volume_orders(context: ApplyContext, seats: Iterable[tuple[Pod, str]]) -> list[VolumeOrder]:
    """One order a claim. Of several pods that share a claim, the first decides the node."""
    found: dict[str, VolumeOrder] = {}
    for pod, node in seats:
        for volume in context.view.unmade_volumes(pod):
            found.setdefault(volume.name, VolumeOrder(volume, node, pod.metadata.namespace))
    return list(found.values())


async def order_volumes(context: ApplyContext, orders: Iterable[VolumeOrder], nodes: Container[str]) -> bool:
    """Returns whether a write was necessary. A claim that names an existing node keeps it: its volume may be on its
    way."""
    new = [(one.volume.claim, one.node) for one in orders if one.volume.claim and one.volume.node not in nodes]
    await run_all(partial(context.writer.select_node, *one) for one in new)
    return bool(new)
