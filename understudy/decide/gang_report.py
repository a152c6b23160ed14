"""A report on one gang: turns a Snapshot into what the gang needs, every place checked for it, and why not."""

import msgspec

from understudy.decide.cycle import plan
from understudy.decide.fit import shortage
from understudy.decide.gang_health import impaired_gangs
from understudy.decide.gang_needs import needs
from understudy.decide.order import turn_order
from understudy.decide.placement.placement_request import IslandRequest
from understudy.decide.placement.seat_search import SeatSearch
from understudy.decide.policy import Policy
from understudy.decide.preemption.victim_costs import VictimCosts
from understudy.decide.proposal import Proposal
from understudy.decide.wait_reasons import domains_of, why_not_domain
from understudy.model.gangs import Gang, Island, TopologyMode
from understudy.model.plans import Action, Cost, Dismiss, Preempt
from understudy.model.snapshot import Snapshot


class PlaceReport(msgspec.Struct, frozen=True):
    """A node, or a domain (`key` is its label), that was checked. `refused` is '' where it fits."""

    island: str
    place: str
    key: str = ""
    refused: str = ""
    occupants: tuple[str, ...] = ()
    cost: Cost | None = None  # of preempting every occupant, where that is possible


class GangReport(msgspec.Struct, frozen=True):
    gang: str
    title: str
    priority: int
    needs: str
    turn: int  # its position among all gangs with a turn in this cycle; 0: it has none
    turns: int
    places: tuple[PlaceReport, ...] = msgspec.field(name="looks")  # its key in JSON, which docs/reference/cli.md lists
    actions: tuple[Action, ...]  # what the plan does to this gang, or to others for it


def gang_report(snapshot: Snapshot, policy: Policy, now: float, key: str) -> GangReport:
    gang = snapshot.gangs[key]
    actions = plan(snapshot, policy, now).actions
    own = tuple(a for a in actions if a.gang == key or (isinstance(a, Preempt | Dismiss) and a.by == key))
    impaired = impaired_gangs(snapshot)
    keys = {*impaired, *snapshot.open}
    queue = sorted((snapshot.gangs[k] for k in keys), key=lambda g: turn_order(g, g.key in impaired))
    position = [g.key for g in queue].index(key) + 1 if key in keys else 0
    places = tuple(place_reports(snapshot, policy, now, gang)) if position else ()
    return GangReport(key, gang.title, gang.priority, needs(gang), position, len(queue), places, own)


def place_reports(snapshot: Snapshot, policy: Policy, now: float, gang: Gang) -> list[PlaceReport]:
    """Every place for every kind of island, in the cluster before this plan."""
    proposal = Proposal(snapshot, policy, now)
    broken = bool(gang.seated())
    places: list[PlaceReport] = []
    seen: set[object] = set()
    for island in gang.islands:
        likeness = (island.topology, tuple(id(m.shape) for m in island.members))
        if likeness in seen:
            continue  # equal islands have equal reports
        seen.add(likeness)
        search = SeatSearch(proposal, gang, repairing=broken)
        if island.topology is not None and island.topology.binding:
            places.extend(_domains(search, island))
        else:
            places.extend(_nodes(search, island))
    return places


def _domains(search: SeatSearch, island: Island) -> list[PlaceReport]:
    assert island.topology is not None
    proposal, key, part = search.proposal, island.topology.key, IslandRequest(island, island.members)
    places = []
    for value in domains_of(proposal, part):
        gangs = tuple(sorted(proposal.snapshot.domain_gangs[key].get(value, ())))
        occupants = tuple(t for t in gangs if t != search.gang.key and not proposal.snapshot.gangs[t].infrastructure)
        refused = why_not_domain(search, part, value) or ""
        search = SeatSearch(proposal, search.gang, repairing=search.repairing)
        blocking = occupants if island.topology.mode is TopologyMode.EXCLUSIVE or refused else ()
        places.append(PlaceReport(island.name, value, key, refused, occupants, _price(search, blocking)))
    return places


def _nodes(search: SeatSearch, island: Island) -> list[PlaceReport]:
    proposal = search.proposal
    shape = max((m.shape for m in island.members), key=lambda shape: (shape.accelerators, shape.requests))
    places = []
    for name in sorted(proposal.snapshot.nodes):
        info = proposal.snapshot.nodes[name]
        refused = (
            search.why_closed(shape, island, name) or shortage(shape, search.free_space(name).free, info.node) or ""
        )
        seated = sorted({seat.gang for seat in info.seats if seat.gang != search.gang.key})
        occupants = tuple(key for key in seated if not proposal.snapshot.gangs[key].infrastructure)
        places.append(
            PlaceReport(island.name, name, "", refused, occupants, _price(search, occupants) if refused else None)
        )
    return places


def _price(search: SeatSearch, occupants: tuple[str, ...]) -> Cost | None:
    gangs = [search.proposal.snapshot.gangs[key] for key in occupants]
    if not gangs or not all(g.managed and g.priority < search.gang.priority for g in gangs):
        return None
    return VictimCosts(search.proposal, search.gang).cost(set(occupants), frozenset())
