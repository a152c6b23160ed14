"""One node with the pods seated on it and what they leave free; what preemption needs to know of a running gang."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter

import msgspec

from understudy.model.gangs import Gang, Member
from understudy.model.nodes import Health, Node, Verdict

_by_gang = attrgetter("gang")
_by_member = attrgetter("member.name")
CapacityBucket = tuple[str, int]  # (flavor, how much of it is free)
NODE_GONE = Health(Verdict.LOST, cause="the node does not exist")  # of the placeholder that pods without a node sit on


class RunningGang(msgspec.Struct, frozen=True, gc=False):
    """What a running gang has to lose, so that choosing among very many gangs need not look at each one's members."""

    gang: str
    priority: int
    seats: int
    accelerators: int
    started_at: float | None
    since: float | None  # work since then would be lost: the last checkpoint, else the start
    elastic: bool


class Seat(msgspec.Struct, frozen=True, gc=False):
    """One pod on one node. A leaving one fills its seat until its pod is gone."""

    gang: str
    member: Member
    leaving: bool = False
    stake: RunningGang | None = None  # of its gang, where that could be preempted


class NodeInfo(msgspec.Struct, frozen=True, gc=False):
    """A node, what sits on it, and what is left."""

    node: Node
    seats: tuple[Seat, ...]  # sorted by gang and member
    free: Mapping[str, int]
    shelf: CapacityBucket | None  # where `Snapshot.shelves` lists it; None where no seat may be given


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
    free = _left_over(node, seats)
    shelf: CapacityBucket | None = None
    if node.usable:
        flavor = node.flavor
        # Free cpu is shelved by powers of two: exact shelves would be as many as there are nodes.
        shelf = (flavor, max(0, free["cpu"]).bit_length() if flavor == "cpu" and "cpu" in free else free.get(flavor, 0))
    return NodeInfo(node, tuple(seats), free, shelf)


def _left_over(node: Node, seats: list[Seat]) -> dict[str, int]:
    free = dict(node.allocatable)
    index, count = 0, len(seats)
    while index < count:
        shape, first = seats[index].member.shape, index
        while index < count and seats[index].member.shape is shape:  # pods of one template are counted, not added up
            index += 1
        for name, amount in shape.requests:
            free[name] = free.get(name, 0) - amount * (index - first)
    return free


def running_gang_of(gang: Gang, seated: list[Member]) -> RunningGang:
    started, since = gang.started_at, gang.checkpoint_at
    if since is None or (started is not None and started > since):
        since = started  # a checkpoint from before the start has nothing to do with the work since
    accelerators = seated[0].shape.accelerators if len(seated) == 1 else sum(m.shape.accelerators for m in seated)
    return RunningGang(gang.key, gang.priority, len(seated), accelerators, started, since, gang.min_members is not None)
