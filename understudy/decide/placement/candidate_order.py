"""The order in which domains and nodes are tried for a placement request, best candidates first."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from understudy.decide.fit import preference, soft_taints
from understudy.decide.placement.placement_request import IslandRequest, PlacementRequest
from understudy.decide.placement.seat_search import SeatSearch
from understudy.decide.prices import price_order
from understudy.decide.proposal import Proposal
from understudy.model.gangs import Shape, TopologyMode
from understudy.model.nodes import CapacityPolicy

SCORED_DOMAINS = 256  # at most so many domains are scored for the best fit; more are tried in a fixed order


def domain_order(search: SeatSearch, request: PlacementRequest, part: IslandRequest) -> Iterator[str]:
    """The candidate domains, best first: the previous one, those that the hypothesis frees, then the tightest fit."""
    topology = part.island.topology
    assert topology is not None
    key, proposal = topology.key, search.proposal
    if part.pinned is not None:
        values: Iterable[str] = [part.pinned]
    else:
        homes = [] if search.has_no_previous_seats else [search.previous_seat(m) for m in part.members]
        near = [label for n in (*homes, *request.near) if n and (label := _domain_value(proposal, n, key)) is not None]
        values = dict.fromkeys(chain(near, _unpinned_domains(search, request, part)))
        if search.limit.on_demand_first:
            values = sorted(values, key=lambda value: _spot_share(proposal, key, value))
    for value in values:
        closed = (key, value) in search.claims or why_domain_closed(search, part, value) is not None
        if not closed and proposal.could_hold(key, value, part.members):
            yield value


def _unpinned_domains(search: SeatSearch, request: PlacementRequest, part: IslandRequest) -> Iterable[str]:
    topology = part.island.topology
    assert topology is not None
    proposal = search.proposal
    if topology.mode is TopologyMode.EXCLUSIVE:
        vacant_domains = list(proposal.vacant_domains(topology.key))
        _sort_by_capacity(proposal, part, vacant_domains)
        if proposal.spares:  # for repairs spare domains come first, for borrowers last
            vacant_domains.sort(key=lambda value: _is_spare(proposal, topology.key, value) is not request.repairing)
        return _warm_first(proposal, request, topology.key, vacant_domains)
    values = sorted(proposal.snapshot.domains[topology.key])
    if len(values) <= SCORED_DOMAINS:
        values.sort(key=lambda value: _spare_capacity(search, part, value))
    _sort_by_capacity(proposal, part, values)
    return _warm_first(proposal, request, topology.key, values)


def _sort_by_capacity(proposal: Proposal, part: IslandRequest, values: list[str]) -> None:
    """Cheap domains first; before that, spot domains for pods that prefer them. The sorts are stable."""
    assert part.island.topology is not None
    key = part.island.topology.key
    if proposal.policy.prices:
        values.sort(key=lambda value: proposal.domain_price(key, value))
    if len(proposal.snapshot.spot) and part.members[0].shape.capacity is CapacityPolicy.PREFER_SPOT:
        values.sort(key=lambda value: -_spot_share(proposal, key, value))


def _spot_share(proposal: Proposal, key: str, value: str) -> float:
    nodes = proposal.domain(key, value)
    return sum(name in proposal.snapshot.spot for name in nodes) / max(1, len(nodes))


def _warm_first(proposal: Proposal, request: PlacementRequest, key: str, values: list[str]) -> list[str]:
    """For a repair, domains with warm understudies of the gang come first."""
    warm = proposal.warm.get(request.gang.key) if request.repairing and proposal.warm else None
    if not warm:
        return values
    counts = Counter(_domain_value(proposal, name, key) for name in warm)
    return sorted(values, key=lambda value: -counts[value])  # the sort is stable


def _is_spare(proposal: Proposal, key: str, value: str) -> bool:
    return all(name in proposal.spares for name in proposal.domain(key, value))


def _spare_capacity(search: SeatSearch, part: IslandRequest, value: str) -> int:
    """How many such members the domain could take. The tightest fit keeps large domains whole."""
    assert part.island.topology is not None
    shape = part.members[0].shape
    nodes = search.proposal.domain(part.island.topology.key, value)
    return sum(search.room_for(shape, part.island, name, 1 << 16) for name in nodes)


def why_domain_closed(search: SeatSearch, part: IslandRequest, value: str) -> str | None:
    """Why an exclusive island cannot have this domain; None for a domain that is shared."""
    topology = part.island.topology
    if topology is None or topology.mode is not TopologyMode.EXCLUSIVE:
        return None
    key, proposal = topology.key, search.proposal
    if part.pinned is None and value in proposal.unhealthy_domains(key):
        return "has a node that is not healthy"
    for resident in proposal.gangs_in(key, value):
        if search.has_left(resident, key, value):
            continue
        if (
            resident == search.gang.key
            and value == part.pinned
            and proposal.owner(key, value) == (resident, part.island.name)
        ):
            continue
        return f"{resident} sits there"
    for name in proposal.domain(key, value):
        for held in proposal.held.get(name, ()):
            if search.keeps(held, (name,)):
                return f"is held for {held.gang.key}"
    return None


def domain_nodes(search: SeatSearch, part: IslandRequest, value: str) -> list[str]:
    """The nodes of a domain: the fullest first, last choices last. For a repair, nodes with warm understudies come
    first, then spares."""
    assert part.island.topology is not None
    proposal = search.proposal
    infos = proposal.snapshot.nodes
    shape = part.members[0].shape
    warm = proposal.warm.get(search.gang.key, ()) if search.repairing else ()

    def order(name: str) -> tuple[bool, bool, bool, int, int, str]:
        bucket = infos[name].bucket
        level = bucket[1] if bucket and shape.accelerators else 0
        wanted = preference(shape, infos[name].node) if shape.preferred else 0
        cold = search.repairing and name not in proposal.spares
        return (name not in warm, cold, proposal.avoided(name), -wanted, level, name)

    names = sorted(proposal.domain(part.island.topology.key, value), key=order)
    return _by_capacity(search, shape, names, order)


def _by_capacity(
    search: SeatSearch, shape: Shape, names: list[str], order: Callable[[str], tuple[bool, bool, bool, int, int, str]]
) -> list[str]:
    """The nodes of a domain, which are in this order, by kind of capacity and price as far as these matter: after warm
    understudies, spares and preferences of the pod. The sorts are stable."""
    proposal, spot = search.proposal, search.proposal.snapshot.spot
    if proposal.policy.prices:
        prices = {name: price_order(proposal.snapshot.nodes[name].node, proposal.policy) for name in names}
        names = sorted(names, key=lambda name: (*order(name)[:4], prices[name]))
    if len(spot) and shape.capacity is CapacityPolicy.PREFER_SPOT:
        names = sorted(names, key=lambda name: (*order(name)[:2], order(name)[3], name not in spot))
    return sorted(names, key=lambda name: name in spot) if search.limit.on_demand_first else names


def nodes_of_fewest_domains(search: SeatSearch, part: IslandRequest) -> Iterator[str]:
    topology = part.island.topology
    assert topology is not None
    wanted = len(part.members)
    infos = {v: _spare_capacity(search, part, v) for v in sorted(search.proposal.snapshot.domains[topology.key])}

    values = list(infos)
    _sort_by_capacity(search.proposal, part, values)
    liking = {value: place for place, value in enumerate(values)} if values != list(infos) else {}

    def order(value: str) -> tuple[bool, bool, int, int, str]:
        enough = infos[value] >= wanted
        like = liking.get(value, 0) if enough else 0
        return (value != part.pinned, not enough, like, infos[value] if enough else -infos[value], value)

    for value in sorted(infos, key=order):
        if infos[value]:
            yield from domain_nodes(search, part, value)


def node_order(search: SeatSearch, request: PlacementRequest, shape: Shape) -> Iterable[str]:
    """Nodes for members that may sit anywhere: those the hypothesis frees, then all others in packing order.

    For a repair, nodes with warm understudies of the gang come first, then spares, those in the domains of the lost
    seats before the others.
    """
    proposal = search.proposal
    near = [name for name in request.near if name in proposal.snapshot.nodes]
    names: Iterable[str] = chain(near, proposal.candidates(shape, search.owners))
    if request.repairing and proposal.spares:
        close = {label for name in near for label in _domains_of_node(proposal, name)}
        spares = sorted(proposal.spares, key=lambda name: (not close & _domains_of_node(proposal, name), name))
        names = chain(spares, names)
    elif proposal.spares:  # lent only where no other node fits
        names = chain((name for name in names if name not in proposal.spares), sorted(proposal.spares))
    if request.repairing and proposal.warm:
        names = chain(proposal.warm.get(request.gang.key, ()), names)
    if shape.preferred or shape.preferred_affinity or shape.spreads:
        names = sorted(dict.fromkeys(names), key=lambda name: _soft_penalty(search, shape, name))  # the sort is stable
    if search.limit.on_demand_first:
        return sorted(dict.fromkeys(names), key=lambda name: name in proposal.snapshot.spot)
    return names


def _domains_of_node(proposal: Proposal, name: str) -> set[tuple[str, str]]:
    labels = proposal.snapshot.nodes[name].node.labels
    return {(key, labels[key]) for key in proposal.keys if key in labels}


def _soft_penalty(search: SeatSearch, shape: Shape, name: str) -> int:
    """How much the soft rules speak against a node."""
    node = search.proposal.snapshot.nodes[name].node
    return 100 * soft_taints(shape, node) - preference(shape, node) - search.pod_affinity.affinity_score(shape, node)


def _domain_value(proposal: Proposal, name: str, key: str) -> str | None:
    info = proposal.snapshot.nodes.get(name)
    return info.node.labels.get(key) if info else None
