"""The health of a running gang: turns the health of its nodes into lost, leaving, suspect and missing members."""

from collections.abc import Iterator

import msgspec

from understudy.decide.proposal import Proposal
from understudy.model.gangs import Gang, Island, Member, TopologyMode
from understudy.model.nodes import Verdict
from understudy.model.snapshot import Snapshot


class GangHealth(msgspec.Struct, frozen=True):
    """The members of a running gang by the state of their nodes."""

    lost: tuple[Member, ...] = ()  # on lost nodes
    leaving: tuple[Member, ...] = ()  # on leaving nodes
    suspect: tuple[Member, ...] = ()  # on suspect nodes
    missing: tuple[Member, ...] = ()  # without a seat
    moving: tuple[Member, ...] = ()  # seated, but held seats say that their island is moving
    healthy: tuple[Member, ...] = ()

    @property
    def displaced(self) -> tuple[Member, ...]:
        return self.lost + self.leaving + self.missing + self.moving

    @property
    def broken(self) -> bool:
        """Whether the gang cannot continue as it is. On a leaving node it can, until the node goes."""
        return bool(self.lost or self.missing)


def impaired_gangs(snapshot: Snapshot) -> set[str]:
    """Running gangs with seats on unhealthy nodes, or with members that have no seat."""
    hit = {seat.gang for name in snapshot.unhealthy for seat in snapshot.nodes[name].seats if not seat.leaving}
    hit |= {key for key in snapshot.open if is_seated(snapshot.gangs[key])}
    return {key for key in hit if snapshot.gangs[key].managed and not snapshot.gangs[key].infrastructure}


def is_suspect(proposal: Proposal, node: str) -> bool:
    info = proposal.snapshot.nodes.get(node)
    return info is not None and info.node.health.verdict is Verdict.SUSPECT


def suspect_near(proposal: Proposal, island: Island, node: str) -> str:
    """The suspect node that puts a seat of this island in doubt: its own, or for an exclusive island another one of its
    domain; '' if there is none."""
    info, topology = proposal.snapshot.nodes.get(node), island.topology
    if is_suspect(proposal, node) or info is None or topology is None or topology.mode is not TopologyMode.EXCLUSIVE:
        return node if is_suspect(proposal, node) else ""
    value = info.node.labels.get(topology.key, "")
    return next((name for name in proposal.domain(topology.key, value) if is_suspect(proposal, name)), "")


def is_seated(gang: Gang) -> bool:
    return any(m.node for island in gang.islands for m in island.members)


def gang_health(proposal: Proposal, gang: Gang) -> GangHealth:
    found: dict[str, list[Member]] = {verdict.value: [] for verdict in Verdict}
    missing = []
    for member in gang.members():
        if member.node:
            found[proposal.snapshot.nodes[member.node].node.health.verdict].append(member)
        else:
            missing.append(member)
    healthy = found[Verdict.HEALTHY] + found[Verdict.SUSPECT]
    if gang.elastic:  # members beyond those it ran with, or needs to run, are growth and not repair
        seated = len(healthy) + len(found[Verdict.LEAVING]) + len(found[Verdict.LOST])
        needed = {m.name for m in missing[: max(0, gang.minimum - seated)]} | _in_split_islands(gang)
        missing = [m for m in missing if m.name in needed]
    displaced = {m.name for m in (*found[Verdict.LOST], *found[Verdict.LEAVING], *missing)}
    return GangHealth(
        lost=tuple(found[Verdict.LOST]),
        leaving=tuple(found[Verdict.LEAVING]),
        suspect=tuple(found[Verdict.SUSPECT]),
        missing=tuple(missing),
        moving=tuple(_moving(gang, displaced, found[Verdict.HEALTHY])),
        healthy=tuple(healthy),
    )


def _moving(gang: Gang, displaced: set[str], healthy: list[Member]) -> Iterator[Member]:
    """Only an island that needs a domain, and has a displaced member, moves whole. Seats held for healthy members of
    other islands are a precaution against the loss of a suspect node, or date from a notice that was withdrawn."""
    holds, sound = dict(gang.holds), {m.name for m in healthy}
    for island in gang.islands:
        bound = island.topology is not None and island.topology.binding
        if bound and any(m.name in displaced for m in island.members):
            yield from (m for m in island.members if m.name in sound and holds.get(m.name, m.node) != m.node)


def _in_split_islands(gang: Gang) -> set[str]:
    """Members without a seat whose island works only whole and is partly seated. Seating them is repair, not growth."""
    bound = [i.members for i in gang.islands if i.topology is not None and i.topology.binding]
    return {m.name for members in bound if any(m.node for m in members) for m in members if not m.node}
