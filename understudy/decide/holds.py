"""Holds: the seats kept for gangs that do not occupy them yet, indexed by node and by exclusive domain."""

import msgspec

from understudy.model.gangs import Gang, Island, Member, TopologyMode
from understudy.model.snapshot import Snapshot

Domain = tuple[str, str]  # key, value


class HeldSeat(msgspec.Struct, frozen=True):
    gang: Gang
    island: Island
    member: Member
    reserved: bool  # see Gang.reserved


class HoldIndex:
    """Built once a plan and then updated gang by gang, so that each of hundreds of holding gangs is read once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.seats: dict[str, list[HeldSeat]] = {}  # by node, sorted by gang key
        # Domains held for exclusive islands: gang -> one of the seats held there.
        self.domains: dict[Domain, dict[str, HeldSeat]] = {}
        self._of: dict[str, list[tuple[str, Domain | None]]] = {}  # gang -> its entries
        self._with_anti_affinity = 0  # held seats of members that require anti-affinity
        for key in sorted(snapshot.holding):
            self.change(snapshot.gangs[key], snapshot)

    @property
    def has_anti_affinity(self) -> bool:
        return self._with_anti_affinity > 0

    def change(self, gang: Gang, snapshot: Snapshot) -> None:
        """Replaces what is indexed for the gang by its present holds."""
        self._forget(gang.key)
        wanted = dict(gang.holds)
        if not wanted:
            return
        begun = any(m.node for m in gang.members())
        entries = self._of[gang.key] = []
        for island in gang.islands:
            for member in island.members:
                node = wanted.get(member.name)
                if node and node != member.node:
                    entries.append((node, _whole_domain(island, node, snapshot)))
                    self._add(HeldSeat(gang, island, member, begun and not member.node), *entries[-1])

    def _add(self, seat: HeldSeat, node: str, domain: Domain | None) -> None:
        there = self.seats.setdefault(node, [])
        there.append(seat)
        there.sort(key=lambda held: held.gang.key)
        self._with_anti_affinity += bool(seat.member.shape.anti_affinity)
        if domain is not None:
            there_first = self.domains.setdefault(domain, {})
            if seat.reserved or seat.gang.key not in there_first:
                there_first[seat.gang.key] = seat

    def _forget(self, key: str) -> None:
        for node, domain in self._of.pop(key, ()):
            there = self.seats.pop(node, [])
            self._with_anti_affinity -= sum(
                bool(held.member.shape.anti_affinity) for held in there if held.gang.key == key
            )
            if staying := [held for held in there if held.gang.key != key]:
                self.seats[node] = staying
            if domain is not None:
                self.domains.get(domain, {}).pop(key, None)


def _whole_domain(island: Island, node: str, snapshot: Snapshot) -> Domain | None:
    topology = island.topology
    if topology is None or topology.mode is not TopologyMode.EXCLUSIVE or node not in snapshot.nodes:
        return None
    return (topology.key, snapshot.nodes[node].node.labels.get(topology.key, ""))
