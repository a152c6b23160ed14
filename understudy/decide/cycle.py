"""One cycle of the decision: turns a Snapshot into a Plan. This file is the table of contents."""

from collections.abc import Iterator

from msgspec.structs import replace

from understudy.decide import wait_reasons
from understudy.decide.damage import damaged_gangs
from understudy.decide.guards import backing_off, mass_failure, over_budget
from understudy.decide.order import equivalence_class, importance, turn_order
from understudy.decide.placement import find_seats, find_seats_sparing_holds
from understudy.decide.placement_request import Hypothesis, IslandRequest, PlacementRequest, island_request
from understudy.decide.policy import Policy
from understudy.decide.proposal import Proposal
from understudy.decide.repair import release_stale_holds, release_unusable_holds, repair
from understudy.decide.victims import choose_victims, preempt_actions
from understudy.decide.warm_understudies import plan_warm_understudies
from understudy.model.gangs import Gang, Suspension
from understudy.model.plans import Action, Grow, Hold, Plan, Preempt, Requeue, Start, Wait, WaitCode, WaitReason
from understudy.model.snapshot import Snapshot


def plan(snapshot: Snapshot, policy: Policy, now: float, explaining: bool = True) -> Plan:
    """What to do now. The same snapshot, policy and time always give the same plan.

    Why nobody could help a gang takes a look at the whole cluster. Whoever only wants to know what to do can do
    without, and gets a plan that says nothing about those gangs.
    """
    proposal = Proposal(snapshot, policy, now)
    unplaced = give_turns(proposal)
    grow_elastic_gangs(proposal, snapshot)
    release_stale_holds(proposal, snapshot)
    if len(snapshot.warm):
        plan_warm_understudies(proposal, explaining)
    if explaining:
        add_wait_reasons(proposal, unplaced)  # last, by what is left when everybody has had a turn
    return Plan(tuple(proposal.actions), _recheck_at(proposal))


def give_turns(proposal: Proposal) -> list[str]:
    """Repair what is broken, start what fits, preempt for what does not; whoever cannot be helped is returned.

    One pass by importance, in which at equal priority repairs come first. Separate passes would let a gang be seated or
    repaired, at the expense of others, and be preempted by a more important one in the same plan.
    """
    release_unusable_holds(proposal)
    damaged = damaged_gangs(proposal.snapshot)
    guarded = mass_failure(proposal.snapshot, proposal.policy, proposal.now) if damaged else {}
    gangs = [proposal.snapshot.gangs[key] for key in {*damaged, *proposal.snapshot.open}]
    unplaced: list[str] = []
    for gang in sorted(gangs, key=lambda gang: turn_order(gang, gang.key in damaged)):
        if gang.key in proposal.touched:
            gang = proposal.snapshot.gangs[gang.key]
            if gang.leaving and not gang.seated():
                continue  # somebody's victim
        if gang.key in damaged:
            helped = repair(proposal, gang, guarded)
        else:
            helped = _seat(proposal, gang)
        if not helped:
            unplaced.append(gang.key)
    return _use_leftover_room(proposal, unplaced)


def _use_leftover_room(proposal: Proposal, unplaced: list[str]) -> list[str]:
    """Let those who may not preempt have what is left of the room that less important gangs made for themselves."""
    made_room = any(isinstance(action, Preempt | Requeue) for action in proposal.actions)
    left, trying = unplaced, made_room
    while trying and left:
        trying, proposal.unplaceable = False, set()
        for key in list(left):
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
    reasons: dict[object, WaitReason] = {}
    for key in unplaced:
        gang = proposal.snapshot.gangs[key]
        alike = equivalence_class(gang) or key
        if alike not in reasons:
            reasons[alike] = wait_reasons.no_room(proposal, gang)
        proposal.do(Wait(key, reasons[alike]))


def _seat(proposal: Proposal, gang: Gang) -> bool:
    reason = _reason_to_skip(proposal, gang)
    if reason is not None:
        moving = reason.code is WaitCode.STILL_LEAVING  # to the seats that are held for it
        proposal.do(*([] if moving else _without_holds(gang)), Wait(gang.key, reason))
        return True
    if not _first(proposal, gang, _ends(gang)[-1]):
        return True  # it runs; seats for the rest of it are growth
    alike = equivalence_class(gang)
    if alike is not None and alike in proposal.unplaceable:
        return False
    if _start(proposal, gang) or _await_room(proposal, gang) or _make_room(proposal, gang):
        return True
    proposal.do(*_without_holds(gang))
    proposal.unplaceable.add(alike)
    return False


def _reason_to_skip(proposal: Proposal, gang: Gang) -> WaitReason | None:
    """Why nobody should even try to seat this gang now."""
    if gang.suspension is Suspension.BY_OWNER:
        return wait_reasons.suspended(gang)
    if gang.gates:
        return wait_reasons.gated(gang)
    if gang.awaits:
        return wait_reasons.incomplete(gang)
    if any(m.shape.unsupported for m in gang.members()):
        return wait_reasons.unsupported(gang)
    if gang.leaving:
        return wait_reasons.still_leaving(gang)
    if (guard := backing_off(gang, proposal.policy, proposal.now)) is not None:
        return wait_reasons.guarded(gang, guard)
    return None


def _without_holds(gang: Gang) -> list[Action]:
    return [Hold(gang.key, (), "it cannot use them now")] if gang.holds else []


def _start(proposal: Proposal, gang: Gang) -> bool:
    """Seat as much of the gang as fits now: all of it, or as far down as an elastic one goes."""
    sizes = list(_sizes(gang))
    low, high = 0, len(sizes) - 1
    best = find_seats_sparing_holds(proposal, PlacementRequest(gang, _first(proposal, gang, sizes[0])))
    if best is None and high > 0:
        best = find_seats_sparing_holds(proposal, PlacementRequest(gang, _first(proposal, gang, sizes[high])))
        while best is not None and low < high - 1:  # what fits at one size fits at every smaller one
            middle = (low + high) // 2
            seats = find_seats_sparing_holds(proposal, PlacementRequest(gang, _first(proposal, gang, sizes[middle])))
            low, high, best = (low, middle, seats) if seats is not None else (middle, high, best)
    if best is None:
        return False
    proposal.do(Start(gang.key, tuple(sorted(best.items()))))
    return True


def _await_room(proposal: Proposal, gang: Gang) -> bool:
    """Hold seats that are being cleared already, rather than clear others."""
    if not len(proposal.snapshot.leaving):
        return False
    near = tuple(proposal.leaving_nodes())
    for parts in _worth_holding(proposal, gang):
        seats = find_seats(proposal, PlacementRequest(gang, parts, Hypothesis(leaving=True), near=near))
        if seats is None:
            continue
        wanted, leaving = (
            tuple(sorted(seats.items())),
            wait_reasons.victims_leaving(proposal, gang, set(seats.values())),
        )
        if wanted == gang.holds:
            proposal.do(Wait(gang.key, leaving))
        else:
            proposal.do(Start(gang.key, wanted, waits_for=tuple(holder.gang for holder in leaving.holders)))
        return True
    return False


def _worth_holding(proposal: Proposal, gang: Gang) -> Iterator[tuple[IslandRequest, ...]]:
    """What it holds already, so that plans stay as they are; else the gang whole, else the gang at its smallest."""
    if gang.holds:
        held = {name for name, _ in gang.holds}
        islands = ((island, [m for m in island.members if m.name in held]) for island in gang.islands)
        yield tuple(island_request(proposal, island, members) for island, members in islands if members)
    for size in _ends(gang):
        yield _first(proposal, gang, size)


def _make_room(proposal: Proposal, gang: Gang) -> bool:
    """Preempt for the gang; for no more of an elastic one than it needs to run."""
    if not gang.preempts or over_budget(gang, proposal.policy, proposal.now) is not None:
        return False
    choice = choose_victims(proposal, PlacementRequest(gang, _first(proposal, gang, _ends(gang)[-1])))
    if choice is None:
        return False
    start = Start(gang.key, tuple(sorted(choice.seats.items())), waits_for=choice.victims)
    proposal.do(*preempt_actions(proposal, choice, gang), start)
    return True


def grow_elastic_gangs(proposal: Proposal, snapshot: Snapshot) -> None:
    """Give running elastic gangs the members they go without, where that disturbs nobody."""
    victims = {action.gang for action in proposal.actions if isinstance(action, Preempt)}
    elastic = {key for key in {*snapshot.open, *proposal.touched} - victims if snapshot.gangs[key].elastic}
    for gang in sorted((proposal.snapshot.gangs[key] for key in elastic), key=importance):
        if not gang.seated() or gang.leaving or gang.gates:
            continue
        non_preempting = replace(gang, preempts=False)  # it leaves every hold alone
        for size in _sizes(gang):
            parts = _first(proposal, gang, size)
            if not parts:
                break
            seats = find_seats(proposal, PlacementRequest(non_preempting, parts))
            if seats is not None:
                proposal.do(Grow(gang.key, tuple(sorted(seats.items()))))
                break


def _sizes(gang: Gang) -> Iterator[int]:
    """How many members the gang may run with, most first. Islands that need a domain come and go whole."""
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


def _ends(gang: Gang) -> list[int]:
    """The gang whole, and the gang at its smallest."""
    sizes = list(_sizes(gang))
    return list(dict.fromkeys((sizes[0], sizes[-1])))


def _first(proposal: Proposal, gang: Gang, size: int) -> tuple[IslandRequest, ...]:
    """The first `size` members of the gang, as far as they have no seat."""
    parts = []
    for island in gang.islands:
        members = [m for m in island.members[:size] if not m.node]
        if members:
            parts.append(island_request(proposal, island, members))
        size -= min(size, len(island.members))
    return tuple(parts)


def _recheck_at(proposal: Proposal) -> float | None:
    """When the clock alone could change this plan."""
    untils = [action.reason.until for action in proposal.actions if isinstance(action, Wait)]
    return min((at for at in (*untils, *proposal.rechecks) if at is not None), default=None)
