"""Warm understudies: decides which of them take over a seat, which are dismissed, and which get a seat.

They use free capacity, and all other decisions treat their seats as free. So this comes last in a cycle, when all other
seats are known. Only repairs look at them earlier, to try seats with an understudy first.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from understudy.decide.fit import capacity
from understudy.decide.proposal import Proposal
from understudy.model.gangs import Gang, Member, Shape, Suspension
from understudy.model.nodes import Verdict
from understudy.model.plans import Dismiss, Grow, Refusal, Start, Swap, Wait, WaitCode, WaitReason

SeatKey = tuple[str, str]  # (gang, node)


def plan_warm_understudies(proposal: Proposal, explaining: bool) -> None:
    """Decides about all warm understudies."""
    proposal.apply()
    warm_seats = WarmSeats(proposal)
    gangs = [proposal.snapshot.gangs[key] for key in sorted(proposal.snapshot.warm)]
    waiting = [gang for gang in gangs if not warm_seats.keep(gang)]
    for gang in waiting:
        if not warm_seats.seat(gang) and explaining:
            proposal.record_unapplied(Wait(gang.key, _no_seat(proposal, gang)))


class WarmSeats:
    """The seats of understudies: what gangs and understudies leave free of each node."""

    def __init__(self, proposal: Proposal) -> None:
        self._proposal = proposal
        self._incoming_members = _incoming_members(proposal)
        self._left: dict[str, dict[str, int]] = {}
        self._understudy_nodes: dict[str, set[str]] = defaultdict(set)  # by gang, the nodes with its understudies

    def keep(self, gang: Gang) -> bool:
        """Keeps, promotes or dismisses a seated understudy; False where it has no seat yet."""
        for member in gang.leaving:
            if self._proposal.snapshot.is_lost(member.node):  # no agent will report that the pod is gone
                self._proposal.record_unapplied(Dismiss(gang.key, member.node, "its node is lost"))
        seated = gang.seated()
        for member in seated:
            role = self._role_to_take(gang, member)
            if role:
                why = f"it steps in as {role}"
                self._proposal.record_unapplied(Dismiss(gang.key, member.node, why, gang.warm_for, role))
            elif why := self._reason_to_leave(gang, member):
                self._proposal.record_unapplied(Dismiss(gang.key, member.node, why, gang.warm_for))
            else:
                self._take(gang, member.shape, member.node)
        return bool(seated or gang.leaving)

    def seat(self, gang: Gang) -> bool:
        member = next(gang.members(), None)
        if member is None or not _is_wanted(self._proposal, gang):
            return False
        for name in self._places(gang):
            if self._proposal.refusal(member.shape, name) is None and self._fits(gang, member.shape, name):
                self._take(gang, member.shape, name)
                self._proposal.record_unapplied(Start(gang.key, ((member.name, name),)))
                return True
        return False

    def _role_to_take(self, gang: Gang, member: Member) -> str:
        """The member of its gang that gets this seat in this plan and requests the same resources."""
        if gang.started_at is None:
            return ""  # its agent does not know it yet
        for other in self._incoming_members[gang.warm_for, member.node]:
            if other.shape.requests == member.shape.requests:
                self._incoming_members[gang.warm_for, member.node].remove(other)
                return other.name
        return ""

    def _reason_to_leave(self, gang: Gang, member: Member) -> str:
        info = self._proposal.snapshot.nodes.get(member.node)
        if info is None:
            return "its node is gone"
        refused = self._proposal.refusal(member.shape, member.node)
        if refused is not None and info.node.health.verdict is not Verdict.SUSPECT:
            return f"{member.node} {refused}"
        return "" if self._fits(gang, member.shape, member.node) else f"{member.node} is needed"

    def _fits(self, gang: Gang, shape: Shape, name: str) -> bool:
        proposal, labels = self._proposal, self._proposal.snapshot.nodes[name].node.labels
        for key in proposal.keys:
            if (value := labels.get(key)) is not None:
                owner = proposal.owner(key, value)
                owners = {held.gang.key for held in proposal.held_for(key, value)} | ({owner[0]} if owner else set())
                if owners - {gang.warm_for}:
                    return False  # another gang owns the domain
        return bool(capacity(shape, self._free_on(name), 1))

    def _free_on(self, name: str) -> dict[str, int]:
        if name not in self._left:
            self._left[name] = dict(self._proposal.snapshot.nodes[name].free)
        return self._left[name]

    def _take(self, gang: Gang, shape: Shape, name: str) -> None:
        self._understudy_nodes[gang.warm_for].add(name)
        if name in self._proposal.snapshot.nodes:
            info = self._free_on(name)
            for what, amount in shape.requests:
                info[what] = info.get(what, 0) - amount

    def _places(self, gang: Gang) -> Iterable[str]:
        """Spares where there are any, else all nodes; those near the gang and its understudies first."""
        proposal = self._proposal
        near = {
            label
            for name in (*self._understudy_nodes[gang.warm_for], *self._seats_of(gang))
            for label in self._near(name)
        }
        named = bool(proposal.spares or proposal.policy.spares)
        names = [
            name
            for name in (proposal.spares if named else proposal.snapshot.nodes)
            if not self._is_promised(gang, name)
        ]
        return sorted(names, key=lambda name: (proposal.avoided(name) and not named, not near & self._near(name), name))

    def _seats_of(self, gang: Gang) -> Iterator[str]:
        return (m.node for m in self._proposal.snapshot.gangs[gang.warm_for].seated())

    def _near(self, name: str) -> set[tuple[str, str]]:
        labels = self._proposal.snapshot.nodes[name].node.labels
        return {(key, labels[key]) for key in self._proposal.keys if key in labels}

    def _is_promised(self, gang: Gang, name: str) -> bool:
        return any(held.gang.key != gang.warm_for for held in self._proposal.held.get(name, ()))


def _incoming_members(proposal: Proposal) -> dict[SeatKey, list[Member]]:
    """The members that get a seat in this plan, by gang and node."""
    found: dict[SeatKey, list[Member]] = defaultdict(list)
    for action in proposal.actions:
        match action:
            case Start(seats=seats, waits_for=()) | Grow(seats=seats):
                taken = dict(seats)
            case Swap(moves=moves, waits_for=()):
                taken = {move.member: move.to_node for move in moves}
            case _:
                continue
        for member in proposal.snapshot.gangs[action.gang].members():
            if member.name in taken:
                found[action.gang, taken[member.name]].append(member)
    return found


def _is_wanted(proposal: Proposal, gang: Gang) -> bool:
    """Whether its gang runs: only a running gang can lose a member."""
    job = proposal.snapshot.gangs.get(gang.warm_for)
    return job is not None and job.suspension is Suspension.NONE and bool(job.seated())


def _no_seat(proposal: Proposal, gang: Gang) -> WaitReason:
    why = "no spare has room for it" if _is_wanted(proposal, gang) else f"{gang.warm_for} does not run"
    return WaitReason(WaitCode.NO_ROOM, "a spare seat", wanted=1, refusals=(Refusal(why, 1),))
