"""Who gives way: turns a gang that does not fit into the cheapest set of less important gangs whose leaving makes room.

`Cost` is the order of choice. Small cases are searched exactly, cheapest first: the first set that makes room is the
best one, and since every part of it would have been cheaper, each victim in it is necessary. Large cases are covered
greedily (see cover), and what turns out not to be needed is put back.
"""

from collections.abc import Iterable, Iterator
from itertools import chain, combinations, product
from math import prod

import msgspec

from understudy.decide.greedy_cover import VictimCover, cheap_covers, is_tight
from understudy.decide.order import surplus_of
from understudy.decide.placement import find_seats
from understudy.decide.placement_request import Hypothesis, PlacementRequest
from understudy.decide.proposal import Proposal
from understudy.decide.victim_costs import VictimCosts
from understudy.model.gangs import Gang, TopologyMode
from understudy.model.plans import Cost, Preempt

Pieces = frozenset[tuple[str, str]]  # (gang, member)

PRUNED_VICTIMS = 24  # up to so many victims are put back one by one to see whether each is needed
PRUNED_MEMBERS = 64
TRIED_ALONE = 64
SEARCHED_SEATS = 1 << 15  # seats looked for in all the sets together, beyond which the exact search takes too long


class VictimChoice(msgspec.Struct, frozen=True):
    gangs: frozenset[str]
    members: Pieces  # surplus of elastic gangs that go on
    cost: Cost
    seats: dict[str, str]
    ledger: VictimCosts

    @property
    def victims(self) -> tuple[str, ...]:
        return tuple(sorted(self.gangs | {gang for gang, _ in self.members}))


def choose_victims(floor: Proposal, quest: PlacementRequest) -> VictimChoice | None:
    """The cheapest choice that makes room for the quest, or None."""
    ledger = VictimCosts(floor, quest.gang)
    if not ledger.candidates():
        return None
    options = _options(floor, quest, ledger)
    if options is not None:
        return _exact(floor, quest, ledger, options)
    return _greedy(floor, quest, ledger)


# Small cases: every choice, cheapest first

Option = tuple[frozenset[str], Pieces]  # what one gang gives: nothing, some surplus, or everything
NOTHING: Option = (frozenset(), frozenset())


def _options(floor: Proposal, quest: PlacementRequest, ledger: VictimCosts) -> list[list[Option]] | None:
    """What each gang could give, or None where that is too much to search."""
    most = floor.policy.exact_victims
    if len(ledger.candidates()) > 4 * most:
        return None
    gangs = (floor.snapshot.gangs[key] for key in sorted(stake.gang for stake in ledger.candidates()))
    relevant = [gang for gang in gangs if _in_the_way(floor, quest, gang)]
    options = [list(_gifts(gang)) for gang in relevant]
    count = prod(len(gifts) for gifts in options)
    seats = sum(len(part.members) for part in quest.parts)
    return options if count <= 1 << most and count * seats <= SEARCHED_SEATS else None


def _gifts(gang: Gang) -> Iterator[Option]:
    yield NOTHING
    pieces = surplus_of(gang)
    for size in range(1, len(pieces) + 1):
        for chosen in combinations(pieces, size):
            yield (frozenset(), frozenset((gang.key, m.name) for m in chain(*chosen)))
    yield _whole(gang.key)


def _in_the_way(floor: Proposal, quest: PlacementRequest, gang: Gang) -> bool:
    """Whether the gang sits anywhere that a member of the quest could use, or in a domain an island could own."""
    shapes = list({id(m.shape): m.shape for part in quest.parts for m in part.members}.values())
    topologies = {part.island.topology.key for part in quest.parts if part.island.topology is not None and part.bound}
    for node in gang.occupied():
        if node not in floor.snapshot.rooms:
            continue  # a held seat on a node that is gone
        if any(floor.refusal(shape, node) is None for shape in shapes):
            return True
        if topologies & floor.snapshot.rooms[node].node.labels.keys():
            return True
    if any(island.topology is not None and island.topology.mode is TopologyMode.EXCLUSIVE for island in gang.islands):
        return True  # it keeps others off nodes it does not use itself
    # One that only repels the newcomers may sit anywhere.
    return gang.key in floor.snapshot.repelling or any(shape.minds_neighbours for shape in shapes)


def _exact(
    floor: Proposal, quest: PlacementRequest, ledger: VictimCosts, options: list[list[Option]]
) -> VictimChoice | None:
    everything = _union(gifts[-1] for gifts in options)
    if _seats_without(floor, quest, everything) is None:
        return None
    needed = [
        index
        for index in range(len(options))
        if _seats_without(floor, quest, _union(o[-1] for i, o in enumerate(options) if i != index)) is None
    ]
    # A gang without which nothing else suffices is in every choice that makes room.
    choices = [_union(gifts) for gifts in product(*(o[1:] if i in needed else o for i, o in enumerate(options)))]
    priced = sorted(((ledger.cost(*choice), choice) for choice in choices), key=lambda priced: priced[0])
    for cost, choice in priced:
        if choice == NOTHING:
            continue  # that there is room without victims is for others to find out
        seats = _seats_without(floor, quest, choice)
        if seats is not None:
            return VictimChoice(*choice, cost, seats, ledger)
    return None


def _union(options: Iterable[Option]) -> Option:
    taken = list(options)
    return frozenset(chain(*(gangs for gangs, _ in taken))), frozenset(chain(*(pieces for _, pieces in taken)))


def _seats_without(floor: Proposal, quest: PlacementRequest, choice: Option) -> dict[str, str] | None:
    """Seats for the quest once these have left, and everybody who is leaving already."""
    gangs, pieces = choice
    gone = Hypothesis(gangs, pieces | quest.gone.members, leaving=True)
    return find_seats(floor, quest.imagining(gone, chain(_nodes_of(floor, gangs, pieces), floor.leaving_nodes())))


def _nodes_of(floor: Proposal, gangs: Iterable[str], pieces: Pieces) -> Iterator[str]:
    for key in sorted({*gangs, *(gang for gang, _ in pieces)}):
        gang = floor.snapshot.gangs[key]
        if key in gangs:
            yield from (node for node in gang.occupied() if node in floor.snapshot.rooms)
        else:
            yield from (m.node for m in gang.seated() if (key, m.name) in pieces)


# Large cases: cover greedily, put back what is not needed


def _greedy(floor: Proposal, quest: PlacementRequest, ledger: VictimCosts) -> VictimChoice | None:
    elastic = [floor.snapshot.gangs[stake.gang] for stake in ledger.candidates() if stake.elastic]
    surplus = [frozenset((gang.key, m.name) for m in piece) for gang in elastic for piece in surplus_of(gang)]
    everything = frozenset(chain(*surplus))
    if surplus and _seats_without(floor, quest, (frozenset(), everything)) is not None:
        return _trimmed(floor, quest, ledger, frozenset(), surplus)
    best: VictimChoice | None = None
    covers = [*cheap_covers(quest, ledger, everything), *_loners(floor, quest, ledger)]
    for cover in sorted(covers, key=lambda cover: ledger.cost(cover.victims, frozenset())):
        tight = not surplus and is_tight(quest, ledger, cover.victims)  # nothing of it can be put back
        if best is not None and tight:
            continue  # and it is dearer
        if tight and cover.seats is not None:
            choice: VictimChoice | None = VictimChoice(
                cover.victims, frozenset(), ledger.cost(cover.victims, frozenset()), cover.seats, ledger
            )
        else:
            rest = [piece for piece in surplus if not {gang for gang, _ in piece} <= cover.victims]
            choice = _trimmed(floor, quest, ledger, cover.victims, rest)
        if choice is not None and (best is None or choice.cost < best.cost):
            best = choice
    if best is None and len(ledger.candidates()) <= PRUNED_VICTIMS:
        best = _trimmed(floor, quest, ledger, frozenset(stake.gang for stake in ledger.candidates()), surplus)
    return best


def _loners(floor: Proposal, quest: PlacementRequest, ledger: VictimCosts) -> Iterator[VictimCover]:
    """The cheapest single gang that makes room by itself, where there are few enough to try.

    For islands that want domains to themselves the price by place freed finds it anyhow.
    """
    if len(ledger.candidates()) <= TRIED_ALONE and not all(part.exclusive for part in quest.parts):
        for key in sorted(
            (stake.gang for stake in ledger.candidates()), key=lambda key: ledger.cost({key}, frozenset())
        ):
            if _seats_without(floor, quest, _whole(key)) is not None:
                yield VictimCover(frozenset([key]))
                return


def _trimmed(
    floor: Proposal, quest: PlacementRequest, ledger: VictimCosts, gangs: frozenset[str], surplus: list[Pieces]
) -> VictimChoice | None:
    """The cover without what it can do without: what no seat depends on in one go, then one by one, dearest first."""
    cover: Option = (gangs, frozenset(chain(*surplus)))
    seats = _seats_without(floor, quest, cover)
    if seats is None:
        return None
    there = _sitting_around(floor, quest, set(seats.values()))
    near = [piece for piece in surplus if any(gang in there for gang, _ in piece)]
    fewer: Option = (gangs & there, frozenset(chain(*near)))
    if fewer != cover and (fewer_seats := _seats_without(floor, quest, fewer)) is not None:
        cover, seats, surplus = fewer, fewer_seats, near
    if len(cover[0]) + len(surplus) <= PRUNED_VICTIMS and len(seats) <= PRUNED_MEMBERS:
        gifts = [_whole(key) for key in cover[0]] + [(frozenset(), piece) for piece in surplus]
        for gift in sorted(gifts, key=lambda gift: ledger.cost(*gift), reverse=True):
            fewer = (cover[0] - gift[0], cover[1] - gift[1])
            if (fewer_seats := _seats_without(floor, quest, fewer)) is not None:
                cover, seats = fewer, fewer_seats
    return VictimChoice(*cover, ledger.cost(*cover), seats, ledger)


def _whole(key: str) -> Option:
    return (frozenset([key]), frozenset())


def _sitting_around(floor: Proposal, quest: PlacementRequest, nodes: set[str]) -> frozenset[str]:
    """Gangs that sit on one of these nodes, in a domain of theirs that the quest will be bound to, or that repel."""
    snapshot = floor.snapshot
    gangs = {seat.gang for name in nodes for seat in snapshot.rooms[name].seats}
    gangs |= _reserving_around(floor, nodes)
    for name in nodes if floor.keys else ():
        for key in floor.keys:
            value = snapshot.rooms[name].node.labels.get(key)
            if value is not None:
                gangs.update(snapshot.tenants[key].get(value, ()))
    minds = any(m.shape.minds_neighbours for part in quest.parts for m in part.members)
    return frozenset(snapshot.gangs) if minds else frozenset(gangs.union(snapshot.repelling))


def _reserving_around(floor: Proposal, nodes: set[str]) -> set[str]:
    """Gangs with reserved seats on one of these nodes, or in one of their domains."""
    places = set(nodes)
    for name in nodes if floor.keys and floor.held else ():
        labels = floor.snapshot.rooms[name].node.labels
        places.update(*(floor.domain(key, labels[key]) for key in floor.keys if key in labels))
    return {held.gang.key for name in places for held in floor.held.get(name, ()) if held.reserved}


# As actions


def preempt_actions(floor: Proposal, choice: VictimChoice, by: Gang, cause: str = "") -> list[Preempt]:
    """The choice as actions. `cause` is what a repair is for."""
    actions = []
    for key in choice.victims:
        gang = floor.snapshot.gangs[key]
        whole = key in choice.gangs
        members = [m for m in gang.seated() if whole or (key, m.name) in choice.members]
        _, violations, _, work, _ = choice.ledger.weight(key) if whole else (0, 0, 0, 0.0, 0)
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
