"""Victim search: finds the cheapest set of gangs of lower priority whose preemption makes room for a gang.

`Cost` is the order of choice. Small cases are searched exactly, cheapest first: the first set that makes room is the
best, and every victim in it is necessary, since each smaller set was cheaper. Large cases use a greedy cover (see
greedy_cover), from which victims that are not needed are put back.
"""

from collections.abc import Iterable, Iterator
from itertools import chain, combinations, product
from math import prod

import msgspec

from understudy.decide.order import surplus_of
from understudy.decide.placement.gang_placement import find_seats
from understudy.decide.placement.placement_request import Hypothesis, PlacementRequest
from understudy.decide.preemption.greedy_cover import VictimCover, cheap_covers, is_tight
from understudy.decide.preemption.victim_costs import VictimCosts
from understudy.decide.proposal import Proposal
from understudy.model.gangs import Gang, TopologyMode
from understudy.model.plans import Cost, Preempt

Pieces = frozenset[tuple[str, str]]  # (gang, member)

PRUNED_VICTIMS = 24  # at most so many victims are tried one by one for whether each is needed
PRUNED_MEMBERS = 64
TRIED_ALONE = 64
SEARCHED_SEATS = 1 << 15  # the exact search looks for at most so many seats over all sets


class VictimChoice(msgspec.Struct, frozen=True):
    gangs: frozenset[str]
    members: Pieces  # surplus of elastic gangs that continue
    cost: Cost
    seats: dict[str, str]
    costs: VictimCosts

    @property
    def victims(self) -> tuple[str, ...]:
        return tuple(sorted(self.gangs | {gang for gang, _ in self.members}))


def choose_victims(proposal: Proposal, request: PlacementRequest) -> VictimChoice | None:
    """The cheapest choice of victims that makes room for the request, or None."""
    costs = VictimCosts(proposal, request.gang)
    if not costs.candidates():
        return None
    options = _options(proposal, request, costs)
    if options is not None:
        return _exact(proposal, request, costs, options)
    return _greedy(proposal, request, costs)


# Small cases: every choice, cheapest first

Option = tuple[frozenset[str], Pieces]  # what one gang gives: nothing, some surplus, or everything
NOTHING: Option = (frozenset(), frozenset())


def _options(proposal: Proposal, request: PlacementRequest, costs: VictimCosts) -> list[list[Option]] | None:
    """What each gang could give, or None where the search would be too large."""
    most = proposal.policy.exact_victims
    if len(costs.candidates()) > 4 * most:
        return None
    gangs = (proposal.snapshot.gangs[key] for key in sorted(gang.gang for gang in costs.candidates()))
    relevant = [gang for gang in gangs if _is_in_the_way(proposal, request, gang)]
    options = [list(_options_of(gang)) for gang in relevant]
    count = prod(len(gifts) for gifts in options)
    seats = sum(len(part.members) for part in request.parts)
    return options if count <= 1 << most and count * seats <= SEARCHED_SEATS else None


def _options_of(gang: Gang) -> Iterator[Option]:
    yield NOTHING
    pieces = surplus_of(gang)
    for size in range(1, len(pieces) + 1):
        for chosen in combinations(pieces, size):
            yield (frozenset(), frozenset((gang.key, m.name) for m in chain(*chosen)))
    yield _whole(gang.key)


def _is_in_the_way(proposal: Proposal, request: PlacementRequest, gang: Gang) -> bool:
    """Whether the gang has seats where a member of the request could sit, or in a domain an island could own."""
    shapes = list({id(m.shape): m.shape for part in request.parts for m in part.members}.values())
    topologies = {part.island.topology.key for part in request.parts if part.island.topology is not None and part.bound}
    for node in gang.occupied():
        if node not in proposal.snapshot.nodes:
            continue  # a held seat on a deleted node
        if any(proposal.refusal(shape, node) is None for shape in shapes):
            return True
        if topologies & proposal.snapshot.nodes[node].node.labels.keys():
            return True
    if any(island.topology is not None and island.topology.mode is TopologyMode.EXCLUSIVE for island in gang.islands):
        return True  # it keeps other gangs off nodes that it does not use itself
    # A gang whose anti-affinity keeps the new pods away may sit anywhere.
    return gang.key in proposal.snapshot.with_anti_affinity or any(shape.has_inter_pod_rules for shape in shapes)


def _exact(
    proposal: Proposal, request: PlacementRequest, costs: VictimCosts, options: list[list[Option]]
) -> VictimChoice | None:
    everything = _union(gifts[-1] for gifts in options)
    if _seats_without(proposal, request, everything) is None:
        return None
    needed = [
        index
        for index in range(len(options))
        if _seats_without(proposal, request, _union(o[-1] for i, o in enumerate(options) if i != index)) is None
    ]
    # A gang without which all others do not suffice is in every choice that makes room.
    choices = [_union(gifts) for gifts in product(*(o[1:] if i in needed else o for i, o in enumerate(options)))]
    priced = sorted(((costs.cost(*choice), choice) for choice in choices), key=lambda priced: priced[0])
    for cost, choice in priced:
        if choice == NOTHING:
            continue  # the caller has tried without victims already
        seats = _seats_without(proposal, request, choice)
        if seats is not None:
            return VictimChoice(*choice, cost, seats, costs)
    return None


def _union(options: Iterable[Option]) -> Option:
    taken = list(options)
    return frozenset(chain(*(gangs for gangs, _ in taken))), frozenset(chain(*(pieces for _, pieces in taken)))


def _seats_without(proposal: Proposal, request: PlacementRequest, choice: Option) -> dict[str, str] | None:
    """Seats for the request once these victims and all terminating pods have left."""
    gangs, pieces = choice
    hypothesis = Hypothesis(gangs, pieces | request.hypothesis.members, leaving=True)
    return find_seats(
        proposal, request.under(hypothesis, chain(_nodes_of(proposal, gangs, pieces), proposal.leaving_nodes()))
    )


def _nodes_of(proposal: Proposal, gangs: Iterable[str], pieces: Pieces) -> Iterator[str]:
    for key in sorted({*gangs, *(gang for gang, _ in pieces)}):
        gang = proposal.snapshot.gangs[key]
        if key in gangs:
            yield from (node for node in gang.occupied() if node in proposal.snapshot.nodes)
        else:
            yield from (m.node for m in gang.seated() if (key, m.name) in pieces)


# Large cases: a greedy cover, then victims that are not needed are put back


def _greedy(proposal: Proposal, request: PlacementRequest, costs: VictimCosts) -> VictimChoice | None:
    elastic = [proposal.snapshot.gangs[gang.gang] for gang in costs.candidates() if gang.elastic]
    surplus = [frozenset((gang.key, m.name) for m in piece) for gang in elastic for piece in surplus_of(gang)]
    everything = frozenset(chain(*surplus))
    if surplus and _seats_without(proposal, request, (frozenset(), everything)) is not None:
        return _trimmed(proposal, request, costs, frozenset(), surplus)
    best: VictimChoice | None = None
    covers = [*cheap_covers(request, costs, everything), *_single_victims(proposal, request, costs)]
    for cover in sorted(covers, key=lambda cover: costs.cost(cover.victims, frozenset())):
        tight = not surplus and is_tight(request, costs, cover.victims)  # no victim of it can be put back
        if best is not None and tight:
            continue  # and it costs more
        if tight and cover.seats is not None:
            choice: VictimChoice | None = VictimChoice(
                cover.victims, frozenset(), costs.cost(cover.victims, frozenset()), cover.seats, costs
            )
        else:
            rest = [piece for piece in surplus if not {gang for gang, _ in piece} <= cover.victims]
            choice = _trimmed(proposal, request, costs, cover.victims, rest)
        if choice is not None and (best is None or choice.cost < best.cost):
            best = choice
    if best is None and len(costs.candidates()) <= PRUNED_VICTIMS:
        best = _trimmed(proposal, request, costs, frozenset(gang.gang for gang in costs.candidates()), surplus)
    return best


def _single_victims(proposal: Proposal, request: PlacementRequest, costs: VictimCosts) -> Iterator[VictimCover]:
    """The cheapest single gang that makes room alone, where few enough can be tried.

    For exclusive islands, the price per freed domain finds it anyway.
    """
    if len(costs.candidates()) <= TRIED_ALONE and not all(part.exclusive for part in request.parts):
        for key in sorted((gang.gang for gang in costs.candidates()), key=lambda key: costs.cost({key}, frozenset())):
            if _seats_without(proposal, request, _whole(key)) is not None:
                yield VictimCover(frozenset([key]))
                return


def _trimmed(
    proposal: Proposal, request: PlacementRequest, costs: VictimCosts, gangs: frozenset[str], surplus: list[Pieces]
) -> VictimChoice | None:
    """Puts back victims that are not needed: first all that no seat depends on, then one by one, the dearest first."""
    cover: Option = (gangs, frozenset(chain(*surplus)))
    seats = _seats_without(proposal, request, cover)
    if seats is None:
        return None
    there = _gangs_near(proposal, request, set(seats.values()))
    near = [piece for piece in surplus if any(gang in there for gang, _ in piece)]
    fewer: Option = (gangs & there, frozenset(chain(*near)))
    if fewer != cover and (fewer_seats := _seats_without(proposal, request, fewer)) is not None:
        cover, seats, surplus = fewer, fewer_seats, near
    if len(cover[0]) + len(surplus) <= PRUNED_VICTIMS and len(seats) <= PRUNED_MEMBERS:
        gifts = [_whole(key) for key in cover[0]] + [(frozenset(), piece) for piece in surplus]
        for gift in sorted(gifts, key=lambda gift: costs.cost(*gift), reverse=True):
            fewer = (cover[0] - gift[0], cover[1] - gift[1])
            if (fewer_seats := _seats_without(proposal, request, fewer)) is not None:
                cover, seats = fewer, fewer_seats
    return VictimChoice(*cover, costs.cost(*cover), seats, costs)


def _whole(key: str) -> Option:
    return (frozenset([key]), frozenset())


def _gangs_near(proposal: Proposal, request: PlacementRequest, nodes: set[str]) -> frozenset[str]:
    """Gangs with seats on these nodes or in the domains of these nodes, and gangs whose anti-affinity may matter."""
    snapshot = proposal.snapshot
    gangs = {seat.gang for name in nodes for seat in snapshot.nodes[name].seats}
    gangs |= _gangs_reserving_near(proposal, nodes)
    for name in nodes if proposal.keys else ():
        for key in proposal.keys:
            value = snapshot.nodes[name].node.labels.get(key)
            if value is not None:
                gangs.update(snapshot.domain_gangs[key].get(value, ()))
    minds = any(m.shape.has_inter_pod_rules for part in request.parts for m in part.members)
    return frozenset(snapshot.gangs) if minds else frozenset(gangs.union(snapshot.with_anti_affinity))


def _gangs_reserving_near(proposal: Proposal, nodes: set[str]) -> set[str]:
    """Gangs with reserved seats on these nodes or in the domains of these nodes."""
    places = set(nodes)
    for name in nodes if proposal.keys and proposal.held else ():
        labels = proposal.snapshot.nodes[name].node.labels
        places.update(*(proposal.domain(key, labels[key]) for key in proposal.keys if key in labels))
    return {held.gang.key for name in places for held in proposal.held.get(name, ()) if held.reserved}


# Actions


def preempt_actions(proposal: Proposal, choice: VictimChoice, by: Gang, cause: str = "") -> list[Preempt]:
    """The choice as actions. `cause` says what a repair is for."""
    actions = []
    for key in choice.victims:
        gang = proposal.snapshot.gangs[key]
        whole = key in choice.gangs
        members = [m for m in gang.seated() if whole or (key, m.name) in choice.members]
        _, violations, _, work, _ = choice.costs.weight(key) if whole else (0, 0, 0, 0.0, 0)
        actions.append(
            Preempt(
                gang=key,
                by=by.key,
                members=tuple(m.name for m in members),
                nodes=tuple(m.node for m in members),
                whole=whole,
                why=f"priority {by.priority} goes before {gang.priority}" + (f"; {cause}" if cause else ""),
                work_lost=work,
                budget_violations=violations,
            )
        )
    return actions
