"""Why not: turns a gang that waits into a WaitReason."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations

from msgspec.structs import replace

from understudy.decide.fit import capacity, shortage
from understudy.decide.gang_needs import needs
from understudy.decide.guards import ActiveGuard, over_budget
from understudy.decide.placement.candidate_order import why_domain_closed
from understudy.decide.placement.capacity_limits import limits_beside
from understudy.decide.placement.gang_placement import find_seats
from understudy.decide.placement.placement_request import (
    NO_HYPOTHESIS,
    NO_LIMIT,
    CapacityLimit,
    IslandRequest,
    PlacementRequest,
)
from understudy.decide.placement.seat_search import SeatSearch, only_nodes
from understudy.decide.proposal import Proposal
from understudy.model.gangs import Gang, Island, Member, Shape, TopologyMode
from understudy.model.node_info import CapacityBucket
from understudy.model.nodes import is_accelerator
from understudy.model.plans import Holder, Refusal, WaitCode, WaitReason
from understudy.model.quantity import format_quantity

SHOWN_HOLDERS = 5
NAMED_NODES = 3
_TOO_SMALL = ("has only", "has no")
EXACTLY_COUNTED = 5  # islands
COUNTED_GANGS = 512  # in a large cluster, at most so many gangs are searched for holders of seats


# Reasons


def suspended(gang: Gang) -> WaitReason:
    return WaitReason(WaitCode.SUSPENDED, needs(gang), wanted=gang.minimum)


def gated(gang: Gang) -> WaitReason:
    refusals = tuple(Refusal(f"scheduling gate {gate} has to be lifted", gang.size) for gate in gang.gates)
    return WaitReason(WaitCode.GATED, needs(gang), wanted=gang.minimum, refusals=refusals)


def incomplete(gang: Gang) -> WaitReason:
    refusals = tuple(Refusal(words, gang.size) for words in gang.awaits)
    return WaitReason(WaitCode.INCOMPLETE, needs(gang), wanted=gang.minimum, refusals=refusals)


def unsupported(gang: Gang) -> WaitReason:
    words: Counter[str] = Counter()
    for shape, count in gang.shape_counts():
        for word in shape.unsupported:
            words[word] += count
    return WaitReason(
        WaitCode.UNSUPPORTED,
        needs(gang),
        wanted=gang.minimum,
        refusals=tuple(Refusal(word, count) for word, count in sorted(words.items())),
    )


def still_leaving(gang: Gang) -> WaitReason:
    why = Refusal("its own pods are still on their way out", len(gang.leaving))
    return WaitReason(WaitCode.STILL_LEAVING, needs(gang), wanted=gang.minimum, refusals=(why,))


def guarded(gang: Gang, guard: ActiveGuard) -> WaitReason:
    return WaitReason(
        WaitCode.GUARDED, needs(gang), wanted=gang.minimum, guard=f"{guard.guard}: {guard.detail}", until=guard.until
    )


def no_replacement(gang: Gang, why: str, deadline: float | None) -> WaitReason:
    """The gang still runs on a leaving node that nothing can replace yet."""
    refusal = Refusal(f"{why}; nothing can replace it yet, it runs on until then", 1)
    return WaitReason(WaitCode.NO_REPLACEMENT, needs(gang), wanted=gang.minimum, refusals=(refusal,), until=deadline)


def checkpointing(gang: Gang, why: str, move_at: float) -> WaitReason:
    """The gang runs on, with seats held for it, until it has saved a checkpoint."""
    refusal = Refusal(f"{why}; it moves as soon as it has saved a checkpoint", 1)
    return WaitReason(WaitCode.CHECKPOINTING, needs(gang), wanted=gang.minimum, refusals=(refusal,), until=move_at)


def in_doubt(gang: Gang, why: str, node: str) -> WaitReason:
    refusal = Refusal(f"{why}; {node}, kept for it, is suspect, and is waited for", 1)
    return WaitReason(WaitCode.NO_REPLACEMENT, needs(gang), wanted=gang.minimum, refusals=(refusal,))


def victims_leaving(proposal: Proposal, gang: Gang, nodes: set[str]) -> WaitReason:
    counts: Counter[str] = Counter()
    for name in nodes:
        counts.update(seat.gang for seat in proposal.snapshot.nodes[name].seats if seat.leaving)
    if not counts:  # no pod leaves these nodes: a domain or an inter-pod rule is what waits
        terminating = {key: proposal.snapshot.gangs[key].leaving for key in proposal.snapshot.leaving}
        counts.update({key: len(leaving) for key, leaving in terminating.items() if key != gang.key})
    holders = [
        Holder(key, proposal.snapshot.gangs[key].priority, seats, "is leaving") for key, seats in counts.most_common()
    ]
    return WaitReason(
        WaitCode.VICTIMS_LEAVING,
        needs(gang),
        wanted=len(nodes),
        holders=tuple(sorted(holders, key=lambda h: (-h.seats, h.gang))),
    )


def no_room(proposal: Proposal, gang: Gang) -> WaitReason:
    """What is free, why the rest does not fit, and which gangs hold it."""
    guard = over_budget(gang, proposal.policy, proposal.now) if gang.preempts else None
    reason = _blocked_domains(proposal, gang) or _no_seats(proposal, gang)
    if guard is None:
        return reason
    return replace(reason, code=WaitCode.GUARDED, guard=f"{guard.guard}: {guard.detail}", until=guard.until)


def _blocked_domains(proposal: Proposal, gang: Gang) -> WaitReason | None:
    """The reason where domains are missing; None where seats are."""
    bound = [IslandRequest(i, i.members) for i in _needed(gang) if i.topology is not None and i.topology.binding]
    if not bound or (free := _islands_free(proposal, gang, bound)) >= len(bound):
        return None
    return WaitReason(
        WaitCode.BLOCKED_DOMAINS,
        needs(gang),
        wanted=len(bound),
        free=free,
        refusals=_domain_refusals(proposal, gang, bound[0]),
        holders=_domain_holders(proposal, gang, bound[0]),
    )


def _no_seats(proposal: Proposal, gang: Gang) -> WaitReason:
    members = sorted(_essential(gang), key=lambda m: m.shape.requests)
    limits = limits_beside(proposal, gang, {m.name for m in members}, NO_HYPOTHESIS)
    tries = [_members_free(proposal, gang, members, limit) for limit in limits]
    free, unplaced, limit = max(tries, key=lambda found: found[0])
    refusals = _node_refusals(proposal, gang, unplaced, limit)
    return WaitReason(
        WaitCode.NO_ROOM,
        needs(gang),
        wanted=gang.minimum,
        free=min(free, gang.minimum - 1),  # each member may fit alone, but not all together
        refusals=refusals,
        holders=_rival_holders(proposal, gang, unplaced),
        infeasible=_infeasible(proposal, unplaced.shape, refusals),
    )


def _infeasible(proposal: Proposal, shape: Shape, refusals: tuple[Refusal, ...]) -> str:
    """Why no node could take such a pod however empty it is; '' if one could."""
    if not any(refusal.why.startswith(_TOO_SMALL) for refusal in refusals):
        return ""
    infos = proposal.snapshot.nodes
    open_nodes = [infos[name].node for name in infos if proposal.refusal(shape, name) is None]
    if any(capacity(shape, node.allocatable, 1) for node in open_nodes):
        return ""
    for name, amount in shape.requests:
        largest = max((node.allocatable.get(name, 0) for node in open_nodes), default=0)
        if not largest:
            return f"no node that it may use has {name}"
        if amount > largest:
            asked, most = format_quantity(amount, name), format_quantity(largest, name)
            return f"a pod asks for {asked} {name}, and no node that it may use has more than {most}"
    return "no node that it may use has all that a pod asks for"


def _essential(gang: Gang) -> list[Member]:
    """The unseated members that the gang needs to run."""
    return [m for m in list(gang.members())[: gang.minimum] if not m.node] or gang.unseated()


def _needed(gang: Gang) -> list[Island]:
    """The islands that the gang needs to run."""
    size = 0
    for count, island in enumerate(gang.islands):
        if size >= gang.minimum:
            return list(gang.islands[:count])
        size += len(island.members)
    return list(gang.islands)


def _islands_free(proposal: Proposal, gang: Gang, parts: list[IslandRequest]) -> int:
    """How many of the islands fit now: exact for few islands, else a greedy count."""
    if len(parts) > EXACTLY_COUNTED:
        return _islands_free_in_order(proposal, gang, parts)
    for count in range(len(parts), 0, -1):
        for some in combinations(parts, count):
            if find_seats(proposal, PlacementRequest(gang, some)) is not None:
                return count
    return 0


def _islands_free_in_order(proposal: Proposal, gang: Gang, parts: list[IslandRequest]) -> int:
    search = SeatSearch(proposal, gang)
    search.limit = _sure_limit(proposal, gang)
    free = 0
    for part in parts:
        assert part.island.topology is not None
        key = part.island.topology.key
        for value in sorted(proposal.snapshot.domains[key]):
            if (key, value) in search.claims or why_domain_closed(search, part, value) is not None:
                continue
            nodes = proposal.domain(key, value)
            if next(search.seat_assignments(part.island, part.members, only_nodes(nodes)), True) is None:
                free += 1
                if part.island.topology.mode is TopologyMode.EXCLUSIVE:
                    search.claims[key, value] = part.island.name
                break
    return free


def _sure_limit(proposal: Proposal, gang: Gang) -> CapacityLimit:
    """What holds whichever kind of capacity the gang will sit on."""
    limits = limits_beside(proposal, gang, {m.name for m in gang.unseated()}, NO_HYPOTHESIS)
    return limits[0] if len(limits) == 1 or limits[0].kind is None else NO_LIMIT


def _members_free(
    proposal: Proposal, gang: Gang, members: list[Member], limit: CapacityLimit
) -> tuple[int, Member, CapacityLimit]:
    """How many of the members fit now in this order, the first that does not (else the last), and what the limit leaves
    to that one."""
    search = SeatSearch(proposal, gang)
    search.limit = limit
    island = Island("", ())
    free, unplaced = 0, None
    places = {id(m.shape): iter(proposal.candidates(m.shape)) for m in members}
    current: dict[int, str] = {}
    full: set[int] = set()  # shapes that no node has room for any more
    for member in members:
        if id(member.shape) in full:
            continue
        name = current.get(id(member.shape)) or next(places[id(member.shape)], None)
        while name is not None and not search.seat(island, member, name):
            name = next(places[id(member.shape)], None)
        if name is not None:
            current[id(member.shape)] = name
            free += 1
        else:
            unplaced = unplaced or member
            if not search.inter_pod:
                full.add(id(member.shape))
    if search.inter_pod and len(members) <= EXACTLY_COUNTED:
        free = max(free, _most_together(proposal, gang, members))  # with inter-pod rules the order of seating matters
    if limit.spot_seats is not None:
        limit = replace(limit, spot_seats=limit.spot_seats - search.spot_taken)
    return free, unplaced or members[-1], limit


def _most_together(proposal: Proposal, gang: Gang, members: list[Member]) -> int:
    for count in range(len(members), 0, -1):
        for some in combinations(members, count):
            if find_seats(proposal, PlacementRequest(gang, (IslandRequest(Island("", some), some),))) is not None:
                return count
    return 0


def _node_refusals(proposal: Proposal, gang: Gang, member: Member, limit: CapacityLimit) -> tuple[Refusal, ...]:
    """Why nodes cannot take this member, counted. A whole bucket with too little free counts at once."""
    search = SeatSearch(proposal, gang)
    search.limit = limit
    island = Island("", ())
    refused: dict[str, list[str]] = defaultdict(list)
    asked = {name: amount for name, amount in member.shape.requests if is_accelerator(name)}
    for bucket, names in proposal.snapshot.buckets.items():
        short = _too_little(bucket, asked)
        if short is not None and len(names) > COUNTED_GANGS:
            refused[short].extend(names)
            continue
        for name in names:
            info = proposal.snapshot.nodes[name]
            why = search.why_closed(member.shape, island, name)
            why = why or shortage(member.shape, search.free_space(name).free, info.node)
            refused[why or f"has room for {search.room_for(member.shape, island, name, gang.size)} of the pods"].append(
                name
            )
    for name in proposal.snapshot.unhealthy:
        refused[proposal.refusal(member.shape, name) or "is not healthy"].append(name)
    return _refusals(refused)


def _too_little(bucket: CapacityBucket, asked: dict[str, int]) -> str | None:
    flavor, level = bucket
    if asked and flavor == "cpu":
        return f"has no {next(iter(asked))}"
    return f"has too little {flavor} free" if level < asked.get(flavor, 0) else None


def _domain_refusals(proposal: Proposal, gang: Gang, part: IslandRequest) -> tuple[Refusal, ...]:
    search = SeatSearch(proposal, gang)
    search.limit = _sure_limit(proposal, gang)
    refused: dict[str, list[str]] = defaultdict(list)
    for value in domains_of(proposal, part):
        refused[why_not_domain(search, part, value) or "is free"].append(value)
    return _refusals(refused)


def domains_of(proposal: Proposal, part: IslandRequest) -> list[str]:
    assert part.island.topology is not None
    return sorted(proposal.snapshot.domains[part.island.topology.key])


def why_not_domain(search: SeatSearch, part: IslandRequest, value: str) -> str | None:
    """Why the island cannot be seated in this domain now."""
    assert part.island.topology is not None
    why = why_domain_closed(search, part, value)
    if why is not None:
        return why
    nodes = search.proposal.domain(part.island.topology.key, value)
    for _ in search.seat_assignments(part.island, part.members, only_nodes(nodes)):
        return None
    counts: Counter[str] = Counter()
    for name in nodes:
        for shape in {id(m.shape): m.shape for m in part.members}.values():
            node = search.proposal.snapshot.nodes[name].node
            why = search.why_closed(shape, part.island, name) or shortage(shape, search.free_space(name).free, node)
            if why is not None:
                counts[why] += 1
    return f"does not hold the island: {counts.most_common(1)[0][0]}" if counts else "is too small for the island"


def _refusals(refused: Mapping[str, Sequence[str]]) -> tuple[Refusal, ...]:
    """Most frequent first. Names are for few nodes only: they would change the reason with every node that changes."""
    by_count = sorted(refused.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(
        Refusal(why, len(names), tuple(sorted(names)) if len(names) <= NAMED_NODES else ()) for why, names in by_count
    )


def _domain_holders(proposal: Proposal, gang: Gang, part: IslandRequest) -> tuple[Holder, ...]:
    assert part.island.topology is not None
    counts: Counter[str] = Counter()
    for domain_gangs in proposal.snapshot.domain_gangs[part.island.topology.key].values():
        for key in domain_gangs:
            counts[key] += domain_gangs[key]
    return _holders(proposal, gang, counts)


def _rival_holders(proposal: Proposal, gang: Gang, member: Member) -> tuple[Holder, ...]:
    """The gangs in seats that the member could use. For an accelerator, only gangs that use it count."""
    asked = {name for name, _ in member.shape.requests if is_accelerator(name)}
    return _seat_holders(proposal, gang, member, asked) or _seat_holders(proposal, gang, member, set())


def _seat_holders(proposal: Proposal, gang: Gang, member: Member, asked: set[str]) -> tuple[Holder, ...]:
    """Counts all seats, or only seats that use something of what is requested."""
    counts: Counter[str] = Counter()
    looked_at = 0
    for priority in sorted(proposal.snapshot.running, reverse=True):
        for key in sorted(proposal.snapshot.running[priority])[: COUNTED_GANGS - looked_at]:
            looked_at += 1
            seats = [
                m
                for m in proposal.snapshot.gangs[key].seated()
                if not asked or asked & {n for n, _ in m.shape.requests}
            ]
            counts[key] = sum(1 for m in seats if _could_take(proposal, member.shape, m.node))
    return _holders(proposal, gang, counts)


def _could_take(proposal: Proposal, shape: Shape, name: str) -> bool:
    """Whether the node could take such a pod if it were empty."""
    if proposal.refusal(shape, name) is not None:
        return False
    return bool(capacity(shape, proposal.snapshot.nodes[name].node.allocatable, 1))


def _holders(proposal: Proposal, gang: Gang, counts: Counter[str]) -> tuple[Holder, ...]:
    holders = [
        Holder(key, proposal.snapshot.gangs[key].priority, seats, _keeps(gang, proposal.snapshot.gangs[key]))
        for key, seats in counts.items()
        if seats and key != gang.key and not proposal.snapshot.gangs[key].infrastructure
    ]
    return tuple(sorted(holders, key=lambda h: (-h.seats, h.gang))[:SHOWN_HOLDERS])


def _keeps(gang: Gang, holder: Gang) -> str:
    if not holder.seated():
        return "is leaving"
    if not holder.managed:
        return "is seated by another scheduler"
    if holder.priority >= gang.priority:
        more = "has the same priority" if holder.priority == gang.priority else "has a higher priority"
        return f"{more} ({holder.priority})"
    if not gang.seated() and not gang.preempts:
        return "is less important, but this gang may not preempt"
    return "is less important, but its seats are not enough"
