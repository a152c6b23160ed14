"""Hot swap: replaces the seats that a running gang lost or is about to lose, with the least disruption.

The order: spares and idle nodes; the seats of the cheapest gangs of lower priority; fewer members, if the gang is
elastic; else the gang gives up its remaining seats and queues. Healthy members keep their seats, except that an
exclusive island moves whole, since a slice works only whole. With enough notice, a gang saves a checkpoint first.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product

import msgspec

from understudy.decide import wait_reasons
from understudy.decide.gang_health import GangHealth, gang_health, is_suspect, suspect_near
from understudy.decide.guards import ActiveGuard, over_budget, pool_of
from understudy.decide.notices import notice_terms, request_checkpoint
from understudy.decide.placement.gang_placement import find_seats, find_seats_sparing_holds
from understudy.decide.placement.placement_request import Hypothesis, IslandRequest, PlacementRequest, island_request
from understudy.decide.preemption.victims import VictimChoice, choose_victims, preempt_actions
from understudy.decide.preemption_delay import repair_delayed
from understudy.decide.proposal import Proposal
from understudy.model.gangs import Gang, Island, Member, TopologyMode
from understudy.model.node_info import NODE_GONE
from understudy.model.plans import Hold, Move, Requeue, SeatSource, Shrink, Swap, Wait
from understudy.model.snapshot import Snapshot

Parts = tuple[IslandRequest, ...]
Piece = tuple[Member, ...]


def repair(proposal: Proposal, gang: Gang, guarded: Mapping[str, ActiveGuard]) -> bool:
    """Repairs an impaired gang as far as possible now. False where it is queued again and could start at once."""
    if gang.stalled:
        return _requeue_stalled(proposal, gang)
    health = gang_health(proposal, gang)
    guard = _guard(proposal, health, guarded)
    if guard is not None:
        proposal.record(Wait(gang.key, wait_reasons.guarded(gang, guard)))
        return True
    if gang.gates and health.missing:  # no victims for members that may not be seated yet
        proposal.record(Wait(gang.key, wait_reasons.gated(gang)))
        health = msgspec.structs.replace(health, missing=())
    repaired = Repair(proposal, gang, health).carry_out() if health.displaced else True
    if health.suspect:
        proposal.apply()
        gang = proposal.snapshot.gangs[gang.key]
        if not _held_for(gang, health.displaced) and gang.seated():
            _plan_ahead(proposal, gang, gang_health(proposal, gang))
    return repaired


def _requeue_stalled(proposal: Proposal, gang: Gang) -> bool:
    """The gang gives up all seats, since its controller does not create the pods of its next stage."""
    absent = sum(1 for m in gang.unseated() if not m.exists)
    why = f"its controller has not made {absent} of its {gang.size} pods"
    proposal.record(Requeue(gang.key, tuple(m.name for m in gang.seated()), why, stalled=True))
    proposal.apply()
    return bool(proposal.snapshot.gangs[gang.key].leaving)


def release_unusable_holds(proposal: Proposal) -> None:
    """Releases holds on seats that their gang cannot get any more, before they keep other gangs from those seats."""
    for key in sorted(proposal.snapshot.holding):
        gang = proposal.snapshot.gangs[key]
        holds = dict(gang.holds)
        for island in gang.islands:
            held = [(m, holds[m.name]) for m in island.members if m.name in holds]
            if _is_split(proposal, island, held) or any(_is_unusable(proposal, island, m, node) for m, node in held):
                proposal.record(Hold(key, (), "a place held for it cannot be had any more"))
                break
    proposal.apply()


def _is_split(proposal: Proposal, island: Island, held: Iterable[tuple[Member, str]]) -> bool:
    """Whether an island that needs one domain has holds in two. Holds are written pod by pod, so after a change of plan
    some can be from the new plan and some from the old one."""
    topology, infos = island.topology, proposal.snapshot.nodes
    if topology is None or not topology.binding:
        return False
    return len({infos[node].node.labels.get(topology.key) for _, node in held if node in infos}) > 1


def _is_unusable(proposal: Proposal, island: Island, member: Member, node: str) -> bool:
    """A suspect node may be healthy again soon, and with it its domain."""
    info = proposal.snapshot.nodes.get(node)
    if is_suspect(proposal, node):
        return False
    if info is None or proposal.refusal(member.shape, node) is not None:
        return True
    if island.topology is None or island.topology.mode is not TopologyMode.EXCLUSIVE:
        return False
    domain = proposal.domain(island.topology.key, info.node.labels.get(island.topology.key, ""))
    return any(name in proposal.snapshot.unhealthy and not is_suspect(proposal, name) for name in domain)


def release_stale_holds(proposal: Proposal, snapshot: Snapshot) -> None:
    """Releases the holds of gangs that are complete and on healthy nodes."""
    for key in sorted(snapshot.holding):
        gang = snapshot.gangs[key]
        sound = not gang.unseated() and not any(m.node in snapshot.unhealthy for m in gang.seated())
        if sound and key not in proposal.touched:
            proposal.record(Hold(key, (), "it is whole again"))


def _guard(proposal: Proposal, health: GangHealth, guarded: Mapping[str, ActiveGuard]) -> ActiveGuard | None:
    for member in health.lost:
        if guard := guarded.get(pool_of(proposal.snapshot.nodes[member.node].node, proposal.policy)):
            return guard
    return None


def _plan_ahead(proposal: Proposal, gang: Gang, health: GangHealth) -> None:
    """Holds seats for members on suspect nodes, where that takes neither seats nor holds from other gangs."""
    non_preempting = msgspec.structs.replace(gang, preempts=False)  # so that it respects every hold
    parts = _parts(proposal, gang, health.suspect, moving=False)
    seats = find_seats(proposal, PlacementRequest(non_preempting, parts, repairing=True, near=_near(health.suspect)))
    wanted = tuple(sorted(seats.items())) if seats is not None else ()
    if wanted != gang.holds:
        why = f"node {health.suspect[0].node} is suspect" if wanted else "a more important gang has them now"
        proposal.record(Hold(gang.key, wanted, why))


def _held_for(gang: Gang, members: Iterable[Member]) -> dict[str, str]:
    holds = dict(gang.holds)
    return {m.name: holds[m.name] for m in members if m.name in holds}


def _near(members: tuple[Member, ...]) -> tuple[str, ...]:
    return tuple(m.node or m.last_node for m in members if m.node or m.last_node)


def _parts(proposal: Proposal, gang: Gang, displaced: tuple[Member, ...], moving: bool) -> Parts:
    """Requests for the displaced members; with `moving`, for the whole islands of members bound to a domain."""
    names = {m.name for m in displaced}
    parts = []
    for island in gang.islands:
        members = [m for m in island.members if m.name in names]
        if members and _moves_whole(proposal, island, members, moving):
            members = list(island.members)
        if members:
            parts.append(island_request(proposal, island, members))
    return tuple(parts)


def _moves_whole(proposal: Proposal, island: Island, displaced: list[Member], moving: bool) -> bool:
    if island.topology is None or not island.topology.binding:
        return False
    key, infos = island.topology.key, proposal.snapshot.nodes
    seated = [m.node for m in (*displaced, *island.members) if m.node]
    unhealthy, domains = proposal.snapshot.unhealthy, proposal.unhealthy_domains(key)
    hit = any(node in unhealthy or infos[node].node.labels.get(key) in domains for node in seated)
    return moving or (hit and island.topology.mode is TopologyMode.EXCLUSIVE)


class Repair:
    """The ways to repair one gang, in order."""

    def __init__(self, proposal: Proposal, gang: Gang, health: GangHealth) -> None:
        self.proposal = proposal
        self.gang = gang
        self.health = health
        self.why = self._cause()
        self.delayed: ActiveGuard | None = None  # it could preempt, and waits for new machines first
        self.hypothesis = Hypothesis(members=frozenset((gang.key, m.name) for m in health.lost))
        self.notice = notice_terms(proposal, gang, health)
        self.moves_now = False

    def carry_out(self) -> bool:
        """Repairs the gang as far as possible. A gang that stays on a leaving node is asked to save a checkpoint."""
        repaired = self._repaired()
        if self.notice is not None and not self.moves_now:
            request_checkpoint(self.proposal, self.gang, self.notice, self.why)
        return repaired

    def _repaired(self) -> bool:
        everyone = self.health.displaced
        if self._replace(everyone) or self._await_leaving(everyone):
            return True
        if self._await_verdict() or self._take_over(everyone):
            return True
        for fewer, dropped in self._fewer():
            if not fewer or self._replace(fewer) or self._await_leaving(fewer) or self._take_over(fewer):
                self._shrink_by(dropped)
                return True
        if self.health.broken:
            return self._await_machines() or self._requeue()
        self._keep_running()
        return True

    def _cause(self) -> str:
        lost = {m.node for m in self.health.lost}
        leaving = {m.node for m in self.health.leaving}
        snapshot = self.proposal.snapshot
        left = {m.last_node for m in self.health.missing if m.last_node and snapshot.is_lost(m.last_node)}
        for nodes, what in ((lost, "lost"), (leaving, "leaving"), (left, "lost")):
            if nodes:
                info = snapshot.nodes.get(min(nodes))
                cause = info.node.health.cause if info is not None else NODE_GONE.cause
                return f"{', '.join(sorted(nodes))} {what}" + (f": {cause}" if cause else "")
        count = len(self.health.missing)
        return "a member has no seat" if count == 1 else f"{count} members have no seat"

    def _requests(self, members: tuple[Member, ...]) -> Iterator[PlacementRequest]:
        """First a request that leaves the other members in place; then one that moves whole islands. After these the
        same with the seats held for members on suspect nodes: a seat that is lost is more urgent than one in doubt."""
        displaced = {m.name for m in self.health.displaced}
        in_doubt = frozenset(name for name, _ in self.gang.holds if name not in displaced)
        tried: set[tuple[frozenset[str], tuple[str, ...]]] = set()
        for taking, moving in product((frozenset[str](), in_doubt), (False, True)):
            parts = _parts(self.proposal, self.gang, members, moving)
            names = tuple(m.name for part in parts for m in part.members)
            if (taking, names) not in tried:
                tried.add((taking, names))
                yield PlacementRequest(self.gang, parts, self.hypothesis, True, _near(members), taking)

    def _replace(self, members: tuple[Member, ...]) -> bool:
        """Swaps to spares and idle nodes; holds them instead while the gang has time to save a checkpoint."""
        for request in self._requests(members):
            seats = find_seats_sparing_holds(self.proposal, request)
            if seats is None:
                continue
            if self.notice is not None and self.notice.grant_time(self.gang, self.proposal.now):
                self._hold(seats)
                reason = wait_reasons.checkpointing(self.gang, self.why, self.notice.move_at)
                self.proposal.record(Wait(self.gang.key, reason))
            else:
                self.proposal.record(self._swap(seats, frozenset(), ()))
                self.moves_now = True
            return True
        return False

    def _hold(self, seats: dict[str, str]) -> None:
        at = {m.name: m.node for m in self.gang.members()}
        wanted = tuple(sorted((name, node) for name, node in seats.items() if at[name] != node))
        if wanted != self.gang.holds:
            self.proposal.record(Hold(self.gang.key, wanted, self.why))

    def _await_leaving(self, members: tuple[Member, ...]) -> bool:
        """Waits for seats that terminating pods free."""
        for request in self._requests(members):
            hypothesis = msgspec.structs.replace(self.hypothesis, leaving=True)
            seats = find_seats(self.proposal, request.under(hypothesis, self.proposal.leaving_nodes()))
            if seats is None:
                continue
            leaving = wait_reasons.victims_leaving(self.proposal, self.gang, set(seats.values()))
            if tuple(sorted(seats.items())) == self.gang.holds and not self.health.lost:  # a Swap releases lost seats
                self.proposal.record(Wait(self.gang.key, leaving))
            else:
                cleared = frozenset(self.proposal.leaving_nodes())
                self.proposal.record(self._swap(seats, cleared, tuple(holder.gang for holder in leaving.holders)))
            return True
        return False

    def _await_verdict(self) -> bool:
        """Waits where a held seat is on a suspect node, or in its exclusive domain: it is too early to preempt or to
        give up before the verdict is known."""
        held = _held_for(self.gang, self.health.displaced)
        seats = [(island, held[m.name]) for island in self.gang.islands for m in island.members if m.name in held]
        suspect = [near for island, node in seats if (near := suspect_near(self.proposal, island, node))]
        if suspect:
            self.proposal.record(Wait(self.gang.key, wait_reasons.in_doubt(self.gang, self.why, suspect[0])))
        return bool(suspect)

    def _take_over(self, members: tuple[Member, ...]) -> bool:
        """Preempts the cheapest gangs of lower priority."""
        if not self.gang.preempts or over_budget(self.gang, self.proposal.policy, self.proposal.now):
            return False
        choices = [
            c for request in self._requests(members) if (c := choose_victims(self.proposal, request)) is not None
        ]
        if not choices:
            return False
        self.delayed = repair_delayed(self.proposal, self.gang, members)
        if self.delayed is not None:
            self.proposal.rechecks.append(self.delayed.until)
            return False
        choice: VictimChoice = min(choices, key=lambda c: c.cost)
        cleared = frozenset(
            m.node
            for key in choice.victims
            for m in self.proposal.snapshot.gangs[key].seated()
            if key in choice.gangs or (key, m.name) in choice.members
        )
        swap = self._swap(choice.seats, cleared, choice.victims)
        self.proposal.record(*preempt_actions(self.proposal, choice, self.gang, self.why), swap)
        return True

    def _await_machines(self) -> bool:
        """Keeps its seats while new machines are worth waiting for, where a preemption would repair it after that."""
        if self.delayed is not None:
            self.proposal.record(Wait(self.gang.key, wait_reasons.guarded(self.gang, self.delayed)))
        return self.delayed is not None

    def _fewer(self) -> Iterator[tuple[tuple[Member, ...], list[Piece]]]:
        """Fewer members to replace and the pieces to drop, as long as an elastic gang keeps its minimum."""
        if not self.gang.elastic:
            return
        displaced = {m.name for m in self.health.displaced}
        pieces = [piece for piece in _pieces(self.gang) if any(m.name in displaced for m in piece)]
        seated = {m.name for m in self.health.healthy}
        for count in range(len(pieces) - 1, -1, -1):
            fewer = tuple(m for piece in pieces[:count] for m in piece if m.name in displaced)
            dropped = {m.name for piece in pieces[count:] for m in piece}
            if len((seated | {m.name for m in fewer}) - dropped) >= self.gang.minimum:
                yield fewer, pieces[count:]

    def _shrink_by(self, dropped: list[Piece]) -> None:
        broken = {m.name for m in self.health.lost + self.health.missing}
        lost = tuple(m.name for piece in dropped if any(m.name in broken for m in piece) for m in piece if m.node)
        if lost:
            self.proposal.record(Shrink(self.gang.key, lost, self.why))

    def _requeue(self) -> bool:
        """Queues the gang again. True where its pods have to leave first, False where it could start at once."""
        seated = tuple(m.name for m in self.gang.seated())
        self.proposal.record(Requeue(self.gang.key, seated, f"{self.why}; nothing can replace it"))
        self.proposal.apply()
        return bool(self.proposal.snapshot.gangs[self.gang.key].leaving)

    def _keep_running(self) -> None:
        """Nothing is lost yet: the gang stays on the leaving node until the deadline."""
        given_up = _held_for(self.gang, self.health.displaced)
        if given_up:  # or it would keep them for good where their occupants stay after all
            kept = tuple(hold for hold in self.gang.holds if hold[0] not in given_up)
            self.proposal.record(Hold(self.gang.key, kept, "their occupants stay"))
        nodes = (self.proposal.snapshot.nodes[m.node].node for m in self.health.leaving)
        deadline = min((n.health.deadline for n in nodes if n.health.deadline is not None), default=None)
        self.proposal.record(Wait(self.gang.key, wait_reasons.no_replacement(self.gang, self.why, deadline)))

    def _swap(self, seats: dict[str, str], cleared: frozenset[str], victims: tuple[str, ...]) -> Swap:
        at = {m.name: m.node for m in self.gang.members()}
        moves = [
            Move(name, at[name], node, self._source(node, cleared))
            for name, node in sorted(seats.items())
            if at[name] != node
        ]
        return Swap(self.gang.key, tuple(moves), self.why, victims)

    def _source(self, node: str, cleared: frozenset[str]) -> SeatSource:
        if node in cleared:
            return SeatSource.VICTIM
        return SeatSource.SPARE if node in self.proposal.spares else SeatSource.IDLE


def _pieces(gang: Gang) -> Iterator[Piece]:
    """The pieces in which an elastic gang can be shrunk: single members, and whole islands that need a domain."""
    for island in gang.islands:
        if island.topology is not None and island.topology.binding:
            yield island.members
        else:
            yield from ((m,) for m in island.members)
