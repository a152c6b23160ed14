"""What is wrong with a running gang: turns the health of its nodes into lost, leaving, suspect and missing members."""

import msgspec

from understudy.decide.proposal import Proposal
from understudy.model.gangs import Gang, Member
from understudy.model.nodes import Verdict
from understudy.model.snapshot import Snapshot


class Damage(msgspec.Struct, frozen=True):
    """What is wrong with a running gang."""

    lost: tuple[Member, ...] = ()  # on nodes that are gone
    going: tuple[Member, ...] = ()  # on nodes that will be gone
    suspect: tuple[Member, ...] = ()  # on nodes that may be gone
    missing: tuple[Member, ...] = ()  # without a seat
    moving: tuple[Member, ...] = ()  # seated, but on the move with their island already
    healthy: tuple[Member, ...] = ()

    @property
    def displaced(self) -> tuple[Member, ...]:
        return self.lost + self.going + self.missing + self.moving

    @property
    def broken(self) -> bool:
        """Whether the gang cannot go on as it is. One on a leaving node still can, until the node goes."""
        return bool(self.lost or self.missing)


def damaged_gangs(snapshot: Snapshot) -> set[str]:
    """Running gangs with seats on nodes that are not healthy, or with members that have none."""
    hit = {seat.gang for name in snapshot.unhealthy for seat in snapshot.nodes[name].seats if not seat.leaving}
    hit |= {key for key in snapshot.open if is_seated(snapshot.gangs[key])}
    return {key for key in hit if snapshot.gangs[key].managed and not snapshot.gangs[key].infrastructure}


def is_suspect(proposal: Proposal, node: str) -> bool:
    return _is(proposal, node, Verdict.SUSPECT)


def is_lost(proposal: Proposal, node: str) -> bool:
    return _is(proposal, node, Verdict.LOST)


def _is(proposal: Proposal, node: str, verdict: Verdict) -> bool:
    info = proposal.snapshot.nodes.get(node)
    return info is not None and info.node.health.verdict is verdict


def is_seated(gang: Gang) -> bool:
    return any(m.node for island in gang.islands for m in island.members)


def assess(proposal: Proposal, gang: Gang) -> Damage:
    found: dict[str, list[Member]] = {verdict.value: [] for verdict in Verdict}
    missing = []
    for member in gang.members():
        if member.node:
            found[proposal.snapshot.nodes[member.node].node.health.verdict].append(member)
        else:
            missing.append(member)
    holds = dict(gang.holds)
    healthy = found[Verdict.HEALTHY] + found[Verdict.SUSPECT]
    moving = [m for m in found[Verdict.HEALTHY] if holds.get(m.name, m.node) != m.node]
    if gang.elastic:  # seats beyond what it had, or needs to run, are growth and not repair
        seated = len(healthy) + len(found[Verdict.LEAVING]) + len(found[Verdict.LOST])
        needed = {m.name for m in missing[: max(0, gang.minimum - seated)]} | _in_split_islands(gang)
        missing = [m for m in missing if m.name in needed]
    return Damage(
        lost=tuple(found[Verdict.LOST]),
        going=tuple(found[Verdict.LEAVING]),
        suspect=tuple(found[Verdict.SUSPECT]),
        missing=tuple(missing),
        moving=tuple(moving) if missing or found[Verdict.LOST] or found[Verdict.LEAVING] else (),
        healthy=tuple(healthy),
    )


def _in_split_islands(gang: Gang) -> set[str]:
    """Who has no seat while others of an island sit that works only whole: that is no growth, which can wait."""
    bound = [i.members for i in gang.islands if i.topology is not None and i.topology.binding]
    return {m.name for members in bound if any(m.node for m in members) for m in members if not m.node}
