"""One scheduling cycle: turns a Snapshot into a Plan. `plan` and `give_turns` are the table of contents."""

from collections.abc import Iterator

from msgspec.structs import replace

from understudy.decide import wait_reasons
from understudy.decide.fit import exceeds_all
from understudy.decide.gang_health import impaired_gangs
from understudy.decide.guards import backing_off, mass_failure, over_budget
from understudy.decide.notices import withdraw_requests
from understudy.decide.order import equivalence_class, importance, turn_order
from understudy.decide.placement.gang_placement import find_seats, find_seats_sparing_holds
from understudy.decide.placement.placement_request import Hypothesis, IslandRequest, PlacementRequest, island_request
from understudy.decide.policy import Policy
from understudy.decide.preemption.victims import choose_victims, preempt_actions
from understudy.decide.preemption_delay import start_delayed, with_preemption_delay
from understudy.decide.proposal import Proposal
from understudy.decide.repair import release_stale_holds, release_unusable_holds, repair
from understudy.decide.warm_understudies import plan_warm_understudies
from understudy.model.gangs import Gang, Suspension
from understudy.model.plans import Action, Grow, Hold, Plan, Preempt, Requeue, Start, Wait, WaitCode, WaitReason
from understudy.model.snapshot import Snapshot

SEARCHED = 64  # members; for smaller gangs seats are searched at once


def plan(snapshot: Snapshot, policy: Policy, now: float, explaining: bool = True) -> Plan:
    """What to do now. The same snapshot, policy and time always give the same plan.

    To say why a gang does not fit takes a look at the whole cluster. Without `explaining`, the plan has no Wait for
    such gangs.
    """
    proposal = Proposal(snapshot, policy, now)
    unplaced = give_turns(proposal)
    grow_elastic_gangs(proposal, snapshot)
    release_stale_holds(proposal, snapshot)
    withdraw_requests(proposal, snapshot)
    if len(snapshot.warm):
        plan_warm_understudies(proposal, explaining)
    if explaining:
        add_wait_reasons(proposal, unplaced)  # last: by what is left after all turns
    return Plan(tuple(proposal.actions), _recheck_at(proposal))


def give_turns(proposal: Proposal) -> list[str]:
    """Repairs impaired gangs, starts what fits, preempts for what does not. Returns the gangs that fit nowhere.

    There is one pass in order of priority, with repairs first at equal priority. With separate passes, one plan could
    seat or repair a gang at the expense of others and then preempt it for a more important one.
    """
    release_unusable_holds(proposal)
    impaired = impaired_gangs(proposal.snapshot)
    guarded = mass_failure(proposal.snapshot, proposal.policy, proposal.now) if impaired else {}
    gangs = [proposal.snapshot.gangs[key] for key in {*impaired, *proposal.snapshot.open}]
    unplaced: list[str] = []
    for gang in sorted(gangs, key=lambda gang: turn_order(gang, gang.key in impaired)):
        proposal.apply()
        if gang.key in proposal.touched:
            gang = proposal.snapshot.gangs[gang.key]
            if gang.leaving and not gang.seated():
                continue  # an earlier turn preempted it
        if gang.key in impaired:
            settled = repair(proposal, gang, guarded)
        else:
            settled = _seat(proposal, gang)
        if not settled:
            unplaced.append(gang.key)
    return _use_leftover_room(proposal, unplaced)


def _use_leftover_room(proposal: Proposal, unplaced: list[str]) -> list[str]:
    """Seats gangs that may not preempt in what is left of the room that less important gangs preempted for."""
    made_room = any(isinstance(action, Preempt | Requeue) for action in proposal.actions)
    left, trying = unplaced, made_room
    while trying and left:
        trying, proposal.unplaceable = False, set()
        for key in list(left):
            proposal.apply()
            gang = proposal.snapshot.gangs[key]
            alike = equivalence_class(gang)
            if alike is not None and alike in proposal.unplaceable:
                continue
            if _start(proposal, gang) or _await_room(proposal, gang):
                left, trying = [other for other in left if other != key], True
            else:
                proposal.unplaceable.add(alike)
    return left


def add_wait_reasons(proposal: Proposal, unplaced: list[str]) -> None:
    """Adds a Wait with its reason for each gang that fits nowhere. Equivalent gangs share one reason."""
    if unplaced:
        proposal.apply()
    reasons: dict[object, WaitReason] = {}
    for key in unplaced:
        gang = proposal.snapshot.gangs[key]
        alike = equivalence_class(gang) or key
        if alike not in reasons:
            reasons[alike] = wait_reasons.no_room(proposal, gang)
        proposal.record(Wait(key, with_preemption_delay(proposal, gang, reasons[alike])))


def _seat(proposal: Proposal, gang: Gang) -> bool:
    reason = _reason_to_skip(proposal, gang)
    if reason is not None:
        moving = reason.code is WaitCode.STILL_LEAVING  # to seats held for it: the hold stays
        proposal.record(*([] if moving else _without_holds(gang)), Wait(gang.key, reason))
        return True
    if _exceeds_cluster(proposal, gang):
        proposal.record(*_without_holds(gang))
        return False
    if not _unseated_parts(proposal, gang, _extreme_sizes(gang)[-1]):
        return True  # it runs already; more members are growth
    alike = equivalence_class(gang)
    if alike is not None and start_delayed(proposal, gang) is not None:
        alike = ("delayed", alike)  # another one like it may preempt already
    if alike is not None and alike in proposal.unplaceable:
        return False
    if _start(proposal, gang) or _await_room(proposal, gang) or _make_room(proposal, gang):
        return True
    proposal.record(*_without_holds(gang))
    proposal.unplaceable.add(alike)
    return False


def _exceeds_cluster(proposal: Proposal, gang: Gang) -> bool:
    """Whether a large gang would not fit if it had the cluster for itself. It costs other gangs no search for seats."""
    if gang.size < SEARCHED or gang.elastic:
        return False
    infos = proposal.snapshot.nodes.values()
    return exceeds_all(gang.shape_counts(), (info.node.allocatable for info in infos))


def _reason_to_skip(proposal: Proposal, gang: Gang) -> WaitReason | None:
    """Why this gang cannot start now wherever there is room."""
    if gang.suspension is Suspension.BY_OWNER:
        return wait_reasons.suspended(gang)
    if gang.gates:
        return wait_reasons.gated(gang)
    if gang.awaits:
        return wait_reasons.incomplete(gang)
    if any(shape.unsupported for shape in gang.shapes()):
        return wait_reasons.unsupported(gang)
    if gang.leaving:
        return wait_reasons.still_leaving(gang)
    if (guard := backing_off(gang, proposal.policy, proposal.now)) is not None:
        return wait_reasons.guarded(gang, guard)
    return None


def _without_holds(gang: Gang) -> list[Action]:
    return [Hold(gang.key, (), "it cannot use them now")] if gang.holds else []


def _start(proposal: Proposal, gang: Gang) -> bool:
    """Seats as much of the gang as fits now: all of it, or as many members of an elastic gang as possible."""
    sizes = list(_sizes(gang))
    low, high = 0, len(sizes) - 1
    best = find_seats_sparing_holds(proposal, PlacementRequest(gang, _unseated_parts(proposal, gang, sizes[0])))
    if best is None and high > 0:
        best = find_seats_sparing_holds(proposal, PlacementRequest(gang, _unseated_parts(proposal, gang, sizes[high])))
        while best is not None and low < high - 1:  # what fits at one size fits at every smaller one
            middle = (low + high) // 2
            seats = find_seats_sparing_holds(
                proposal, PlacementRequest(gang, _unseated_parts(proposal, gang, sizes[middle]))
            )
            low, high, best = (low, middle, seats) if seats is not None else (middle, high, best)
    if best is None:
        return False
    proposal.record(Start(gang.key, tuple(sorted(best.items()))))
    return True


def _await_room(proposal: Proposal, gang: Gang) -> bool:
    """Holds seats that terminating pods free, rather than preempt more gangs."""
    if not len(proposal.snapshot.leaving):
        return False
    near = tuple(proposal.leaving_nodes())
    for parts in _holdable_requests(proposal, gang):
        seats = find_seats(proposal, PlacementRequest(gang, parts, Hypothesis(leaving=True), near=near))
        if seats is None:
            continue
        wanted = tuple(sorted(seats.items()))
        leaving = wait_reasons.victims_leaving(proposal, gang, set(seats.values()))
        if wanted == gang.holds:
            proposal.record(Wait(gang.key, leaving))
        else:
            proposal.record(Start(gang.key, wanted, waits_for=tuple(holder.gang for holder in leaving.holders)))
        return True
    return False


def _holdable_requests(proposal: Proposal, gang: Gang) -> Iterator[tuple[IslandRequest, ...]]:
    """What the gang holds already, so that plans are stable; else the whole gang; else the gang at its minimum."""
    if gang.holds:
        held = {name for name, _ in gang.holds}
        islands = ((island, [m for m in island.members if m.name in held]) for island in gang.islands)
        yield tuple(island_request(proposal, island, members) for island, members in islands if members)
    for size in _extreme_sizes(gang):
        yield _unseated_parts(proposal, gang, size)


def _make_room(proposal: Proposal, gang: Gang) -> bool:
    """Preempts for the gang; for an elastic gang only up to its minimum."""
    if not gang.preempts or over_budget(gang, proposal.policy, proposal.now) is not None:
        return False
    if (delayed := start_delayed(proposal, gang)) is not None:
        proposal.rechecks.append(delayed.until)
        return False
    choice = choose_victims(proposal, PlacementRequest(gang, _unseated_parts(proposal, gang, _extreme_sizes(gang)[-1])))
    if choice is None:
        return False
    start = Start(gang.key, tuple(sorted(choice.seats.items())), waits_for=choice.victims)
    proposal.record(*preempt_actions(proposal, choice, gang), start)
    return True


def grow_elastic_gangs(proposal: Proposal, snapshot: Snapshot) -> None:
    """Gives running elastic gangs more members, where that takes neither seats nor holds from other gangs."""
    victims = {action.gang for action in proposal.actions if isinstance(action, Preempt)}
    elastic = {key for key in {*snapshot.open, *proposal.touched} - victims if snapshot.gangs[key].elastic}
    if elastic:
        proposal.apply()
    for gang in sorted((proposal.snapshot.gangs[key] for key in elastic), key=importance):
        if not gang.seated() or gang.leaving or gang.gates:
            continue
        non_preempting = replace(gang, preempts=False)  # so that it respects every hold
        for size in _sizes(gang):
            parts = _unseated_parts(proposal, gang, size)
            if not parts:
                break
            seats = find_seats(proposal, PlacementRequest(non_preempting, parts))
            if seats is not None:
                proposal.record(Grow(gang.key, tuple(sorted(seats.items()))))
                proposal.apply()
                break


def _sizes(gang: Gang) -> Iterator[int]:
    """The sizes the gang may run with, largest first. Islands bound to a domain are added and left out whole."""
    if any(island.topology is not None and island.topology.binding for island in gang.islands):
        size = gang.size
        yield size
        for island in reversed(gang.islands):
            size -= len(island.members)
            if size < max(1, gang.minimum):
                return
            yield size
    else:
        yield from range(gang.size, max(1, gang.minimum) - 1, -1)


def _extreme_sizes(gang: Gang) -> list[int]:
    """The largest and the smallest size the gang may run with."""
    sizes = list(_sizes(gang))
    return list(dict.fromkeys((sizes[0], sizes[-1])))


def _unseated_parts(proposal: Proposal, gang: Gang, size: int) -> tuple[IslandRequest, ...]:
    """Requests for those of the first `size` members of the gang that have no seat."""
    parts = []
    for island in gang.islands:
        members = [m for m in island.members[:size] if not m.node]
        if members:
            parts.append(island_request(proposal, island, members))
        size -= min(size, len(island.members))
    return tuple(parts)


def _recheck_at(proposal: Proposal) -> float | None:
    """The earliest time at which this plan could change without a change of the cluster."""
    untils = [action.reason.until for action in proposal.actions if isinstance(action, Wait)]
    return min((at for at in (*untils, *proposal.rechecks) if at is not None), default=None)
