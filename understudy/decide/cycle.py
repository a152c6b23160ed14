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
from understudy.decide.repair import release_stale_holds, repair, void_holds
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
    floor = Proposal(snapshot, policy, now)
    helpless = give_turns(floor)
    grow_elastic_gangs(floor, snapshot)
    release_stale_holds(floor, snapshot)
    if len(snapshot.warm):
        plan_warm_understudies(floor, explaining)
    if explaining:
        add_wait_reasons(floor, helpless)  # last, by what is left when everybody has had a turn
    return Plan(tuple(floor.actions), _recheck_at(floor))


def give_turns(floor: Proposal) -> list[str]:
    """Repair what is broken, start what fits, preempt for what does not; whoever cannot be helped is returned.

    One pass by importance, in which at equal priority repairs come first. Separate passes would let a gang be seated or
    repaired, at the expense of others, and be preempted by a more important one in the same plan.
    """
    void_holds(floor)
    damaged = damaged_gangs(floor.snapshot)
    guarded = mass_failure(floor.snapshot, floor.policy, floor.now) if damaged else {}
    gangs = [floor.snapshot.gangs[key] for key in {*damaged, *floor.snapshot.open}]
    helpless: list[str] = []
    for gang in sorted(gangs, key=lambda gang: turn_order(gang, gang.key in damaged)):
        if gang.key in floor.touched:
            gang = floor.snapshot.gangs[gang.key]
            if gang.leaving and not gang.seated():
                continue  # somebody's victim
        if gang.key in damaged:
            helped = repair(floor, gang, guarded)
        else:
            helped = _seat(floor, gang)
        if not helped:
            helpless.append(gang.key)
    return _use_leftover_room(floor, helpless)


def _use_leftover_room(floor: Proposal, helpless: list[str]) -> list[str]:
    """Let those who may not preempt have what is left of the room that less important gangs made for themselves."""
    made_room = any(isinstance(action, Preempt | Requeue) for action in floor.actions)
    left, trying = helpless, made_room
    while trying and left:
        trying, floor.hopeless = False, set()
        for key in list(left):
            gang = floor.snapshot.gangs[key]
            alike = equivalence_class(gang)
            if alike is not None and alike in floor.hopeless:
                continue
            if _start(floor, gang) or _await_room(floor, gang):
                left, trying = [other for other in left if other != key], True
            else:
                floor.hopeless.add(alike)
    return left


def add_wait_reasons(floor: Proposal, helpless: list[str]) -> None:
    reasons: dict[object, WaitReason] = {}
    for key in helpless:
        gang = floor.snapshot.gangs[key]
        alike = equivalence_class(gang) or key
        if alike not in reasons:
            reasons[alike] = wait_reasons.no_room(floor, gang)
        floor.do(Wait(key, reasons[alike]))


def _seat(floor: Proposal, gang: Gang) -> bool:
    reason = _standing_still(floor, gang)
    if reason is not None:
        moving = reason.code is WaitCode.STILL_LEAVING  # to the seats that are held for it
        floor.do(*([] if moving else _without_holds(gang)), Wait(gang.key, reason))
        return True
    if not _first(floor, gang, _ends(gang)[-1]):
        return True  # it runs; seats for the rest of it are growth
    alike = equivalence_class(gang)
    if alike is not None and alike in floor.hopeless:
        return False
    if _start(floor, gang) or _await_room(floor, gang) or _make_room(floor, gang):
        return True
    floor.do(*_without_holds(gang))
    floor.hopeless.add(alike)
    return False


def _standing_still(floor: Proposal, gang: Gang) -> WaitReason | None:
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
    if (guard := backing_off(gang, floor.policy, floor.now)) is not None:
        return wait_reasons.guarded(gang, guard)
    return None


def _without_holds(gang: Gang) -> list[Action]:
    return [Hold(gang.key, (), "it cannot use them now")] if gang.holds else []


def _start(floor: Proposal, gang: Gang) -> bool:
    """Seat as much of the gang as fits now: all of it, or as far down as an elastic one goes."""
    sizes = list(_sizes(gang))
    low, high = 0, len(sizes) - 1
    best = find_seats_sparing_holds(floor, PlacementRequest(gang, _first(floor, gang, sizes[0])))
    if best is None and high > 0:
        best = find_seats_sparing_holds(floor, PlacementRequest(gang, _first(floor, gang, sizes[high])))
        while best is not None and low < high - 1:  # what fits at one size fits at every smaller one
            middle = (low + high) // 2
            seats = find_seats_sparing_holds(floor, PlacementRequest(gang, _first(floor, gang, sizes[middle])))
            low, high, best = (low, middle, seats) if seats is not None else (middle, high, best)
    if best is None:
        return False
    floor.do(Start(gang.key, tuple(sorted(best.items()))))
    return True


def _await_room(floor: Proposal, gang: Gang) -> bool:
    """Hold seats that are being cleared already, rather than clear others."""
    if not len(floor.snapshot.leaving):
        return False
    near = tuple(floor.leaving_nodes())
    for parts in _worth_holding(floor, gang):
        seats = find_seats(floor, PlacementRequest(gang, parts, Hypothesis(leaving=True), near=near))
        if seats is None:
            continue
        wanted, leaving = tuple(sorted(seats.items())), wait_reasons.victims_leaving(floor, gang, set(seats.values()))
        if wanted == gang.holds:
            floor.do(Wait(gang.key, leaving))
        else:
            floor.do(Start(gang.key, wanted, waits_for=tuple(holder.gang for holder in leaving.holders)))
        return True
    return False


def _worth_holding(floor: Proposal, gang: Gang) -> Iterator[tuple[IslandRequest, ...]]:
    """What it holds already, so that plans stay as they are; else the gang whole, else the gang at its smallest."""
    if gang.holds:
        held = {name for name, _ in gang.holds}
        islands = ((island, [m for m in island.members if m.name in held]) for island in gang.islands)
        yield tuple(island_request(floor, island, members) for island, members in islands if members)
    for size in _ends(gang):
        yield _first(floor, gang, size)


def _make_room(floor: Proposal, gang: Gang) -> bool:
    """Preempt for the gang; for no more of an elastic one than it needs to run."""
    if not gang.preempts or over_budget(gang, floor.policy, floor.now) is not None:
        return False
    choice = choose_victims(floor, PlacementRequest(gang, _first(floor, gang, _ends(gang)[-1])))
    if choice is None:
        return False
    start = Start(gang.key, tuple(sorted(choice.seats.items())), waits_for=choice.victims)
    floor.do(*preempt_actions(floor, choice, gang), start)
    return True


def grow_elastic_gangs(floor: Proposal, snapshot: Snapshot) -> None:
    """Give running elastic gangs the members they go without, where that disturbs nobody."""
    victims = {action.gang for action in floor.actions if isinstance(action, Preempt)}
    elastic = {key for key in {*snapshot.open, *floor.touched} - victims if snapshot.gangs[key].elastic}
    for gang in sorted((floor.snapshot.gangs[key] for key in elastic), key=importance):
        if not gang.seated() or gang.leaving or gang.gates:
            continue
        meek = replace(gang, preempts=False)  # it leaves every hold alone
        for size in _sizes(gang):
            parts = _first(floor, gang, size)
            if not parts:
                break
            seats = find_seats(floor, PlacementRequest(meek, parts))
            if seats is not None:
                floor.do(Grow(gang.key, tuple(sorted(seats.items()))))
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


def _first(floor: Proposal, gang: Gang, size: int) -> tuple[IslandRequest, ...]:
    """The first `size` members of the gang, as far as they have no seat."""
    parts = []
    for island in gang.islands:
        members = [m for m in island.members[:size] if not m.node]
        if members:
            parts.append(island_request(floor, island, members))
        size -= min(size, len(island.members))
    return tuple(parts)


def _recheck_at(floor: Proposal) -> float | None:
    """When the clock alone could change this plan."""
    untils = [action.reason.until for action in floor.actions if isinstance(action, Wait)]
    return min((at for at in (*untils, *floor.rechecks) if at is not None), default=None)
