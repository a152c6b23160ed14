"""Checks plans against the snapshot they were made from, so that a fast plan that is wrong cannot pass."""

from collections import Counter
from collections.abc import Mapping

from understudy.model.plans import Hold, Plan, Preempt, Seats, Start, Swap, Wait
from understudy.model.snapshot import Snapshot

SLACK = 1.02  # how far above the least possible the work lost may be


class WrongAnswer(AssertionError):
    """The plan is not what this cluster calls for."""


def victims(plan: Plan) -> set[str]:
    return {action.gang for action in plan.actions if isinstance(action, Preempt)}


def victims_are(plan: Plan, count: int, least_work: float) -> None:
    """Expects `count` victims, all preempted whole, and hardly more accelerator-seconds lost than necessary."""
    preemptions = [action for action in plan.actions if isinstance(action, Preempt)]
    _expect(len(preemptions) == count, f"{count} victims are needed, the plan has {len(preemptions)}")
    _expect(all(action.whole for action in preemptions), "a victim goes whole")
    lost = sum(action.work_lost for action in preemptions)
    _expect(lost <= least_work * SLACK, f"{lost:.0f} accelerator-seconds are lost where {least_work:.0f} would do")


def starts_after_preempting(snapshot: Snapshot, plan: Plan, gang: str, pods: int) -> None:
    """`gang` gets a node a pod, on nodes that only victims fill, and waits for exactly those victims."""
    start = next((a for a in plan.actions if isinstance(a, Start) and a.gang == gang), None)
    if start is None:
        raise WrongAnswer(f"{gang} does not start")
    _expect(len(start.seats) == pods, f"{gang} needs {pods} seats and gets {len(start.seats)}")
    _expect(set(start.waits_for) == victims(plan), f"{gang} waits for others than its victims")
    _only_victims_there(snapshot, plan, start.seats)


def owns_whole_domains(snapshot: Snapshot, plan: Plan, gang: str, key: str, size: int) -> None:
    """The seats of `gang` fill whole domains, and each island has a domain of its own."""
    start = next(a for a in plan.actions if isinstance(a, Start) and a.gang == gang)
    where = dict(start.seats)
    domains = set()
    for island in snapshot.gangs[gang].islands:
        values = {snapshot.nodes[where[member.name]].node.labels[key] for member in island.members}
        _expect(len(values) == 1 and len(island.members) == size, f"island {island.name} sits in domains {values}")
        domains |= values
    _expect(len(domains) == len(snapshot.gangs[gang].islands), "two islands share a domain")


def replaces(snapshot: Snapshot, plan: Plan, lost: Mapping[str, int]) -> None:
    """Every gang in `lost`, and no other, is swapped: that many members, to healthy nodes that only victims fill."""
    swapped = {action.gang for action in plan.actions if isinstance(action, Swap)}
    _expect(swapped == set(lost), f"{sorted(lost)} lost seats, {sorted(swapped)} are swapped")
    given = {gang: _replacements(plan, gang) for gang in lost}
    for gang, seats in given.items():
        _expect(len(seats) == lost[gang], f"{gang} lost {lost[gang]} seats, {len(seats)} are replaced")
        _expect(all(snapshot.nodes[node].node.usable for _, node in seats), f"{gang} moves to a bad node")
    _only_victims_there(snapshot, plan, tuple(seat for seats in given.values() for seat in seats))


def _replacements(plan: Plan, gang: str) -> Seats:
    for action in plan.actions:
        if isinstance(action, Swap) and action.gang == gang:
            return tuple((move.member, move.to_node) for move in action.moves)
    return ()


def every_gang_starts(plan: Plan, gangs: int, pods: int) -> None:
    """`gangs` gangs start now, `pods` seats each, and no node (of one pod's size) is given twice."""
    starts = [action for action in plan.actions if isinstance(action, Start) and not action.waits_for]
    _expect(len(starts) == gangs, f"{gangs} gangs fit, {len(starts)} start")
    _expect(all(len(start.seats) == pods for start in starts), "a gang starts in part")
    _no_node_twice(tuple(seat for start in starts for seat in start.seats))


def every_gang_waits(plan: Plan, gangs: int) -> None:
    """`gangs` gangs wait, each for want of all its seats, and nothing else is done."""
    waits = [action.reason for action in plan.actions if isinstance(action, Wait)]
    _expect(len(waits) == len(plan.actions) == gangs, f"{gangs} gangs have to wait, {len(waits)} do")
    _expect(all(reason.free == 0 and reason.holders for reason in waits), "a gang is not told who has the seats")


def keeps_places(snapshot: Snapshot, plan: Plan, wanted: Mapping[str, int], enough_for: int) -> None:
    """Expects that as many of the gangs in `wanted` as there is room for hold that many seats on healthy nodes, and
    that no gang moves."""
    _expect(all(isinstance(action, Hold) for action in plan.actions), "something else is done than to keep places")
    holds = {action.gang: action.seats for action in plan.actions if isinstance(action, Hold)}
    kept = {gang: holds[gang] for gang in wanted if gang in holds}
    _expect(len(kept) == min(len(wanted), enough_for), f"{len(kept)} of {len(wanted)} gangs have places kept for them")
    for gang, seats in kept.items():
        _expect(len(seats) == wanted[gang], f"{gang} needs {wanted[gang]} places, {len(seats)} are kept")
        _expect(all(snapshot.nodes[node].node.usable for _, node in seats), f"a bad node is kept for {gang}")


def _only_victims_there(snapshot: Snapshot, plan: Plan, seats: Seats) -> None:
    _no_node_twice(seats)
    going = victims(plan)
    for member, node in seats:
        staying = {seat.gang for seat in snapshot.nodes[node].seats} - going
        _expect(not staying, f"{member} is given {node}, where {sorted(staying)[:1]} stays")


def _no_node_twice(seats: Seats) -> None:
    if seats:
        node, times = Counter(node for _, node in seats).most_common(1)[0]
        _expect(times == 1, f"{node} is given {times} times and holds one such pod")


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise WrongAnswer(otherwise)
