"""What gangs have lost, and what a plan does about it: turns Snapshot and Plan into the values that incidents consist
of.

Pure. The cost depends on the seats on unhealthy nodes only."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec.structs import replace

from understudy.model.gangs import Gang, Member, Suspension
from understudy.model.incidents import GangLoss, IncidentDecision, IncidentOutcome
from understudy.model.node_info import NODE_GONE, NodeInfo
from understudy.model.nodes import Health, Verdict
from understudy.model.plans import Dismiss, Plan, Preempt, Requeue, SeatSource, Shrink, Swap
from understudy.model.snapshot import Snapshot

_LEADS_TO = {Swap: IncidentOutcome.SWAPPED, Shrink: IncidentOutcome.SHRUNK, Requeue: IncidentOutcome.REQUEUED}


def lost_nodes(snapshot: Snapshot) -> dict[str, NodeInfo]:
    unhealthy = ((name, snapshot.nodes[name]) for name in snapshot.unhealthy)
    return {name: node for name, node in unhealthy if snapshot.is_lost(name)}


def losses(snapshot: Snapshot, lost: Mapping[str, NodeInfo]) -> dict[str, GangLoss]:
    """By gang, its seats on lost nodes."""
    hit: dict[str, list[tuple[str, str]]] = {}
    for name, node in lost.items():
        for seat in node.seats:
            if not seat.leaving and is_ours(snapshot.gangs[seat.gang]):
                hit.setdefault(seat.gang, []).append((name, seat.member.name))
    return {gang: _loss(snapshot, seats, "lost") for gang, seats in sorted(hit.items())}


def is_ours(gang: Gang) -> bool:
    return gang.managed and not gang.infrastructure


def planned_losses(snapshot: Snapshot, plan: Plan) -> dict[str, GangLoss]:
    """By gang, what a plan moves ahead of a loss, or replaces after the pods are gone."""
    found: dict[str, GangLoss] = {}
    for action in plan.actions:
        if not isinstance(action, Swap | Shrink | Requeue):
            continue
        gang = snapshot.gangs[action.gang]
        leaving = [(m.node, m.name) for m in gang.seated() if _health(snapshot, m.node).verdict is Verdict.LEAVING]
        members = {m.member for m in action.moves} if isinstance(action, Swap) else set(action.members)
        missed = [(m.last_node, m.name) for m in gang.unseated() if m.name in members and _has_lost(snapshot, m)]
        if missed:
            found[gang.key] = _loss(snapshot, missed, "lost")
        elif leaving:
            found[gang.key] = _announced_loss(snapshot, leaving)
    return found


def _has_lost(snapshot: Snapshot, member: Member) -> bool:
    """Whether the member, or its predecessor, sat last on a lost node."""
    return bool(member.last_node) and snapshot.is_lost(member.last_node)


def decisions(snapshot: Snapshot, plan: Plan) -> Iterator[tuple[str, IncidentDecision]]:
    """Each with its gang. A gang may have several."""
    preempted: dict[str, list[str]] = {}
    warm: set[tuple[str, str]] = set()  # (gang, node)
    for action in plan.actions:
        if isinstance(action, Preempt):
            preempted.setdefault(action.by, []).append(action.gang)
        elif isinstance(action, Dismiss) and action.member:
            warm.add((action.by, action.node))
    for action in plan.actions:
        if isinstance(action, Swap):
            leaving = [key for key in action.waits_for if _was_preempted(snapshot, key)]
            victims = dict.fromkeys([*preempted.get(action.gang, ()), *leaving])
            moves = [
                replace(m, source=SeatSource.WARM) if (action.gang, m.to_node) in warm else m for m in action.moves
            ]
            yield action.gang, IncidentDecision(IncidentOutcome.SWAPPED, tuple(moves), tuple(victims))
        elif isinstance(action, Shrink | Requeue):
            gang = snapshot.gangs[action.gang]
            stay = len(gang.seated()) - len(action.members) if isinstance(action, Shrink) else 0
            yield action.gang, IncidentDecision(_LEADS_TO[type(action)], wanted=max(gang.minimum, stay))


def broken_nodes(snapshot: Snapshot, lost: Collection[str], nodes: tuple[str, ...]) -> Collection[str]:
    """The nodes on which a member of a damaged gang does not count: all lost nodes, and the gang's own nodes that are
    leaving."""
    leaving = [name for name in nodes if _health(snapshot, name).verdict is Verdict.LEAVING]
    return {*lost, *leaving} if leaving else lost


def has_pods_on(snapshot: Snapshot, gangs: tuple[str, ...], nodes: set[str]) -> bool:
    """Whether any of these gangs still has a seat on these nodes."""
    found = (snapshot.gangs.get(key) for key in gangs)
    return any(m.node in nodes for gang in found if gang for m in (*gang.seated(), *gang.leaving))


def _was_preempted(snapshot: Snapshot, key: str) -> bool:
    gang = snapshot.gangs.get(key)
    return gang is not None and gang.suspension is Suspension.REQUEUED


def _loss(snapshot: Snapshot, seats: list[tuple[str, str]], what: str) -> GangLoss:
    seats = sorted(seats)
    nodes = tuple(dict.fromkeys(node for node, _ in seats))
    healths = [_health(snapshot, node) for node in nodes]
    why = next((health.cause for health in healths if health.cause), "")
    since = min((h.since for h in healths if h.since is not None), default=None) if what == "lost" else None
    many = f"node{'s' * (len(nodes) != 1)} {', '.join(nodes)}"
    return GangLoss(nodes, tuple(name for _, name in seats), f"{many} {what}" + (f": {why}" if why else ""), since)


def _announced_loss(snapshot: Snapshot, seats: list[tuple[str, str]]) -> GangLoss:
    """With the time of the first notice and the first deadline, as far as they are known."""
    loss = _loss(snapshot, seats, "leaving")
    healths = [_health(snapshot, node) for node in loss.nodes]
    told_at = min((h.since for h in healths if h.since is not None), default=None)
    return replace(loss, told_at=told_at, deadline=first_deadline(healths))


def first_deadline(healths: Iterable[Health]) -> float | None:
    return min((health.deadline for health in healths if health.deadline is not None), default=None)


def deadlines(snapshot: Snapshot, known: Mapping[str, float]) -> dict[str, float]:
    """By node, the deadline of its notice. A node that is lost meanwhile keeps the one that is `known`."""
    found = {}
    for name in snapshot.unhealthy:
        health = _health(snapshot, name)
        deadline = health.deadline if health.verdict is Verdict.LEAVING else None
        if health.verdict is Verdict.LOST:
            deadline = known.get(name)
        if deadline is not None:
            found[name] = deadline
    return found


def _health(snapshot: Snapshot, node: str) -> Health:
    room = snapshot.nodes.get(node)
    return NODE_GONE if room is None else room.node.health
