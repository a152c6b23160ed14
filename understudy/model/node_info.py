"""One node with its pods and what they leave free, and what preemption needs to know of a running gang."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter

import msgspec

from understudy.model.gangs import Gang, Member
from understudy.model.nodes import Health, Node, Verdict

_by_gang = attrgetter("gang")
_by_member = attrgetter("member.name")
CapacityBucket = tuple[str, int]  # (flavor, free amount)
# Of the placeholder for a deleted node that still has pods.
NODE_GONE = Health(Verdict.LOST, cause="the node does not exist")


class RunningGang(msgspec.Struct, frozen=True, gc=False):
    """What preempting a running gang would cost. It saves the victim search a look at the members of every gang."""

    gang: str
    priority: int
    seats: int
    accelerators: int
    started_at: float | None
    since: float | None  # the last checkpoint, else the start: preemption loses the work since then
    elastic: bool


class Seat(msgspec.Struct, frozen=True, gc=False):
    """One pod on one node. A terminating pod keeps its seat until it is deleted."""

    gang: str
    member: Member
    leaving: bool = False
    running: RunningGang | None = None  # None where the gang cannot be preempted


class NodeInfo(msgspec.Struct, frozen=True, gc=False):
    """A node, the pods on it, and the resources they leave free."""

    node: Node
    seats: tuple[Seat, ...]  # sorted by gang and member
    free: Mapping[str, int]
    bucket: CapacityBucket | None  # its entry in `Snapshot.buckets`; None where no new pod may go


def seats_of(gang: Gang) -> list[Seat]:
    if gang.warm_for:
        return []
    seats = [Seat(gang.key, m) for island in gang.islands for m in island.members if m.node]
    if gang.leaving:
        seats.extend(Seat(gang.key, m, leaving=True) for m in gang.leaving)
    return seats


def node_info_of(node: Node, seats: list[Seat]) -> NodeInfo:
    if len(seats) > 1:
        seats.sort(key=_by_member)
        seats.sort(key=_by_gang)
    free = _free_resources(node, seats)
    bucket: CapacityBucket | None = None
    if node.usable:
        flavor = node.flavor
        # Buckets of free cpu are powers of two: exact amounts would make a bucket for almost every node.
        bucket = (
            flavor,
            max(0, free["cpu"]).bit_length() if flavor == "cpu" and "cpu" in free else free.get(flavor, 0),
        )
    return NodeInfo(node, tuple(seats), free, bucket)


def _free_resources(node: Node, seats: list[Seat]) -> dict[str, int]:
    free = dict(node.allocatable)
    index, count = 0, len(seats)
    while index < count:
        shape, first = seats[index].member.shape, index
        while index < count and seats[index].member.shape is shape:  # one multiplication for all pods of a template
            index += 1
        for name, amount in shape.requests:
            free[name] = free.get(name, 0) - amount * (index - first)
    return free


def running_gang_of(gang: Gang, seated: list[Member]) -> RunningGang:
    started, since = gang.started_at, gang.checkpoint_at
    if since is None or (started is not None and started > since):
        since = started  # a checkpoint from before the start does not save work done since
    accelerators = seated[0].shape.accelerators if len(seated) == 1 else sum(m.shape.accelerators for m in seated)
    return RunningGang(gang.key, gang.priority, len(seated), accelerators, started, since, gang.min_members is not None)
