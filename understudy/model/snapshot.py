"""The cluster at one moment, as an immutable value with the indexes that decisions need.

`Snapshot.updated` turns a snapshot and changed nodes or gangs into the next snapshot. Its cost depends on the size of
the change, not of the cluster: the maps are persistent, and both snapshots share what did not change. The same function
applies single events, builds a snapshot from nothing, and applies the actions of a plan.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TypeVar, cast

import msgspec
from rpds import HashTrieMap, HashTrieSet

from understudy.model.gangs import Gang, Member
from understudy.model.node_info import (
    NODE_GONE,
    CapacityBucket,
    NodeInfo,
    RunningGang,
    Seat,
    node_info_of,
    running_gang_of,
    seats_of,
)
from understudy.model.nodes import Capacity, Node, Verdict
from understudy.model.selectors import Selector

K = TypeVar("K")
V = TypeVar("V")


class Budget(msgspec.Struct, frozen=True, gc=False):
    """A PodDisruptionBudget: how many more of the matching pods may be disrupted now."""

    name: str
    namespace: str
    selector: Selector | None
    allowed: int

    def covers(self, gang: Gang, member: Member) -> bool:
        if self.selector is None or gang.namespace != self.namespace:
            return False
        return self.selector.matches(member.labels)


class Snapshot(msgspec.Struct, frozen=True):
    nodes: HashTrieMap[str, NodeInfo] = HashTrieMap()
    gangs: HashTrieMap[str, Gang] = HashTrieMap()
    budgets: tuple[Budget, ...] = ()
    open: HashTrieSet[str] = HashTrieSet()  # managed gangs with members that have no seat
    holding: HashTrieSet[str] = HashTrieSet()  # gangs with holds
    leaving: HashTrieSet[str] = HashTrieSet()  # gangs with terminating pods
    running: HashTrieMap[int, HashTrieMap[str, RunningGang]] = HashTrieMap()  # priority -> managed gangs with seats
    asked: HashTrieSet[str] = HashTrieSet()  # gangs with pods that were asked to save a checkpoint
    with_anti_affinity: HashTrieSet[str] = HashTrieSet()  # gangs with seated pods that require anti-affinity
    unhealthy: HashTrieSet[str] = HashTrieSet()  # nodes whose verdict is not HEALTHY, and deleted nodes with pods
    spares: HashTrieSet[str] = HashTrieSet()  # nodes labelled as spares
    spot: HashTrieSet[str] = HashTrieSet()  # nodes of spot capacity
    warm: HashTrieSet[str] = HashTrieSet()  # warm understudies: `nodes` does not count their pods
    buckets: HashTrieMap[CapacityBucket, HashTrieSet[str]] = HashTrieMap()  # nodes that take new pods
    domains: HashTrieMap[str, HashTrieMap[str, tuple[str, ...]]] = HashTrieMap()  # label key -> value -> nodes
    topologies: HashTrieMap[str, HashTrieSet[str]] = HashTrieMap()  # label key -> gangs with an island placed by it
    # Label key -> value -> gang -> number of its seats in that domain. Has the keys of `topologies`, and keeps those
    # that no gang names any more, since the next gang that names one would cost a pass over all seats.
    domain_gangs: HashTrieMap[str, HashTrieMap[str, HashTrieMap[str, int]]] = HashTrieMap()

    @staticmethod
    def of(
        nodes: Iterable[Node] = (),
        gangs: Iterable[Gang] = (),
        budgets: Iterable[Budget] = (),
        index: Iterable[str] = (),
    ) -> Snapshot:
        """Builds a snapshot from nothing. `index` names label keys to group nodes by, besides those of the gangs."""
        empty = Snapshot(
            budgets=tuple(sorted(budgets, key=lambda b: (b.namespace, b.name))),
            domains=HashTrieMap({key: HashTrieMap() for key in index}),
        )
        return empty.updated(nodes=nodes, gangs=gangs)

    def updated(
        self,
        nodes: Iterable[Node] = (),
        gangs: Iterable[Gang] = (),
        gone_nodes: Iterable[str] = (),
        gone_gangs: Iterable[str] = (),
    ) -> Snapshot:
        changed = {gang.key: gang for gang in gangs}
        known = (*changed, *gone_gangs) if len(self.gangs) else ()
        before = {key: old for key in known if (old := self.gangs.get(key)) is not None}
        fresh = {node.name: node for node in nodes}
        entries = _index_entries(changed)
        infos = self._changed_nodes(fresh, frozenset(gone_nodes), entries.seats, before)
        indexed = self._with_topologies(_updated_topologies(self, changed, before))
        return msgspec.structs.replace(
            indexed,
            nodes=_merged(self.nodes, infos),
            gangs=_merged(self.gangs, {**dict.fromkeys(before), **changed} if before else changed),
            unhealthy=_with_membership(
                self.unhealthy, {name: info is not None and _is_unhealthy(info) for name, info in infos.items()}
            ),
            spares=_with_membership(
                self.spares, {name: info is not None and bool(info.node.spare) for name, info in infos.items()}
            ),
            spot=_updated_spot(self.spot, fresh, gone_nodes),
            buckets=_updated_buckets(self, infos),
            domains=_updated_domains(indexed, infos),
            domain_gangs=_updated_domain_gangs(indexed, infos),
            **_updated_gang_sets(self, entries, before),
        )

    def _changed_nodes(
        self, fresh: dict[str, Node], gone: frozenset[str], arriving: dict[str, list[Seat]], before: dict[str, Gang]
    ) -> dict[str, NodeInfo | None]:
        """The nodes that the changes touch, rebuilt; None where neither the node nor a seat on it is left."""
        touched = {seat.member.node for gang in before.values() for seat in seats_of(gang)}
        touched.update(arriving, fresh, gone)
        infos: dict[str, NodeInfo | None] = {}
        for name in touched:
            old = self.nodes.get(name)
            staying = [seat for seat in old.seats if seat.gang not in before] if old else []
            seats = staying + arriving[name] if name in arriving else staying
            node = fresh.get(name)
            if node is None and old is not None and name not in gone and old.node.health is not NODE_GONE:
                node = old.node
            infos[name] = node_info_of(node or Node(name, health=NODE_GONE), seats) if node or seats else None
        return infos

    def _with_topologies(self, topologies: HashTrieMap[str, HashTrieSet[str]]) -> Snapshot:
        """The same snapshot with these topologies, indexed by each of their keys."""
        if topologies is self.topologies:
            return self
        domains, domain_gangs = self.domains, self.domain_gangs
        for key in sorted(topologies):
            if key not in domains:
                domains = domains.insert(key, _grouped_by_label(key, self.nodes.values()))
            if key not in domain_gangs:
                domain_gangs = domain_gangs.insert(key, _counted_by_domain(key, self.nodes.values()))
        return msgspec.structs.replace(self, topologies=topologies, domains=domains, domain_gangs=domain_gangs)

    def is_lost(self, node: str) -> bool:
        """Whether the node counts as lost. A node that does not exist does."""
        info = self.nodes.get(node)
        return info is None or info.node.health.verdict is Verdict.LOST


def _updated_spot(old: HashTrieSet[str], fresh: Mapping[str, Node], gone: Iterable[str]) -> HashTrieSet[str]:
    """Only nodes that are put or removed are looked at, so that the actions of a plan cost nothing here."""
    wanted = dict.fromkeys(gone, False) if len(old) else {}
    for name, node in fresh.items():
        if node.capacity is Capacity.SPOT or name in old:
            wanted[name] = node.capacity is Capacity.SPOT
    return _with_membership(old, wanted) if wanted else old


def _is_unhealthy(info: NodeInfo) -> bool:
    return info.node.health.verdict is not Verdict.HEALTHY


class IndexEntries(msgspec.Struct, frozen=True):
    """What changed gangs contribute to the indexes."""

    seats: dict[str, list[Seat]]  # by node
    running: dict[str, RunningGang]  # by gang
    open: list[str]
    holding: list[str]
    leaving: list[str]
    asked: list[str]
    with_anti_affinity: list[str]
    warm: list[str]


def _index_entries(changed: dict[str, Gang]) -> IndexEntries:
    """One pass over the gangs, since it runs for every gang when a snapshot is built from nothing."""
    entries = IndexEntries(defaultdict(list), {}, [], [], [], [], [], [])
    for key, gang in changed.items():
        if gang.warm_for:
            entries.warm.append(key)
            continue
        seated = []
        unseated = anti_affinity = False
        for island in gang.islands:
            for member in island.members:
                if member.node:
                    seated.append(member)
                    anti_affinity = anti_affinity or bool(member.shape.anti_affinity)
                else:
                    unseated = True
        running = running_gang_of(gang, seated) if seated and gang.managed and not gang.infrastructure else None
        if running is not None:
            entries.running[key] = running
        for member in seated:
            entries.seats[member.node].append(Seat(key, member, False, running))
        if unseated and gang.managed:
            entries.open.append(key)
        if gang.holds:
            entries.holding.append(key)
        if gang.checkpoint_requests:
            entries.asked.append(key)
        if gang.leaving:
            entries.leaving.append(key)
            anti_affinity = anti_affinity or any(m.shape.anti_affinity for m in gang.leaving)
            for member in gang.leaving:
                entries.seats[member.node].append(Seat(key, member, True))
        if anti_affinity:
            entries.with_anti_affinity.append(key)
    return entries


_GANG_SETS = ("open", "holding", "leaving", "asked", "with_anti_affinity", "warm")


def _updated_gang_sets(old: Snapshot, entries: IndexEntries, before: dict[str, Gang]) -> dict[str, object]:
    changes: dict[int, dict[str, RunningGang | None]] = defaultdict(dict)
    for key, gang in before.items():
        changes[gang.priority][key] = None
    for key, running in entries.running.items():
        changes[running.priority][key] = running
    groups = {priority: _merged(old.running.get(priority, HashTrieMap()), group) for priority, group in changes.items()}
    sets: dict[str, list[str]] = {name: getattr(entries, name) for name in _GANG_SETS}
    return {
        **{
            name: _with_membership(getattr(old, name), dict.fromkeys(before, False) | dict.fromkeys(keys, True))
            for name, keys in sets.items()
        },
        "running": _merged(
            old.running, {priority: group if len(group) else None for priority, group in groups.items()}
        ),
    }


def _updated_buckets(
    old: Snapshot, infos: Mapping[str, NodeInfo | None]
) -> HashTrieMap[CapacityBucket, HashTrieSet[str]]:
    moves: dict[CapacityBucket, dict[str, bool]] = defaultdict(dict)
    for name, info in infos.items():
        was = old.nodes.get(name)
        bucket = info.bucket if info else None
        if was and was.bucket is not None and was.bucket != bucket:
            moves[was.bucket][name] = False
        if bucket is not None and (was is None or was.bucket != bucket):
            moves[bucket][name] = True
    return _regrouped(old.buckets, moves)


def _updated_topologies(
    old: Snapshot, changed: Mapping[str, Gang], before: Mapping[str, Gang]
) -> HashTrieMap[str, HashTrieSet[str]]:
    wanted: dict[str, dict[str, bool]] = defaultdict(dict)
    for gangs, stays in ((before, False), (changed, True)):
        for key, gang in gangs.items():
            for island in gang.islands:
                if island.topology is not None:
                    wanted[island.topology.key][key] = stays
    moves: dict[str, dict[str, bool]] = {}
    for label, keys in wanted.items():
        there = old.topologies.get(label, HashTrieSet())
        if moved := {key: stays for key, stays in keys.items() if stays != (key in there)}:
            moves[label] = moved
    return _regrouped(old.topologies, moves)


def _grouped_by_label(key: str, infos: Iterable[NodeInfo]) -> HashTrieMap[str, tuple[str, ...]]:
    groups: dict[str, list[str]] = defaultdict(list)
    for info in infos:
        if (value := info.node.labels.get(key)) is not None:
            groups[value].append(info.node.name)
    return HashTrieMap({value: tuple(sorted(names)) for value, names in groups.items()})


def _updated_domains(
    old: Snapshot, infos: Mapping[str, NodeInfo | None]
) -> HashTrieMap[str, HashTrieMap[str, tuple[str, ...]]]:
    domains = old.domains
    for key in domains:
        moves: dict[str, dict[str, bool]] = defaultdict(dict)
        for name, info in infos.items():
            was = old.nodes.get(name)
            left = was.node.labels.get(key) if was else None
            joined = info.node.labels.get(key) if info else None
            if left == joined:
                continue
            if left is not None:
                moves[left][name] = False
            if joined is not None:
                moves[joined][name] = True
        if not moves:
            continue
        changes: dict[str, tuple[str, ...] | None] = {}
        for value, names in moves.items():
            there = dict.fromkeys(domains[key].get(value, ()), True) | names
            changes[value] = tuple(sorted(name for name, stays in there.items() if stays)) or None
        domains = domains.insert(key, _merged(domains[key], changes))
    return domains


def _counted_by_domain(key: str, infos: Iterable[NodeInfo]) -> HashTrieMap[str, HashTrieMap[str, int]]:
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for info in infos:
        if (value := info.node.labels.get(key)) is not None:
            for seat in info.seats:
                counts[value][seat.gang] += 1
    return HashTrieMap({value: HashTrieMap(gangs) for value, gangs in counts.items()})


def _updated_domain_gangs(
    old: Snapshot, infos: Mapping[str, NodeInfo | None]
) -> HashTrieMap[str, HashTrieMap[str, HashTrieMap[str, int]]]:
    domain_gangs = old.domain_gangs
    for key in domain_gangs:
        deltas: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for name, info in infos.items():
            for sign, side in ((-1, old.nodes.get(name)), (1, info)):
                value = side.node.labels.get(key) if side else None
                if side is not None and value is not None:
                    for seat in side.seats:
                        deltas[value][seat.gang] += sign
        changes: dict[str, HashTrieMap[str, int] | None] = {}
        for value, gangs in deltas.items():
            was = domain_gangs[key].get(value, HashTrieMap())
            now = {gang: was.get(gang, 0) + delta for gang, delta in gangs.items() if delta}
            if now:
                changes[value] = _merged(was, {gang: count or None for gang, count in now.items()}) or None
        if changes:
            domain_gangs = domain_gangs.insert(key, _merged(domain_gangs[key], changes))
    return domain_gangs


def _merged(old: HashTrieMap[K, V], changes: Mapping[K, V | None]) -> HashTrieMap[K, V]:
    """`old` with the changes; None removes an entry. Large changes rebuild the map: a quarter of the cost an entry."""
    if not changes:
        return old
    if len(changes) * 4 > len(old):
        both = {**dict(old.items()), **changes} if len(old) else changes
        if None in both.values():
            both = {key: value for key, value in both.items() if value is not None}
        return HashTrieMap(cast("Mapping[K, V]", both))
    for key, value in changes.items():
        old = old.discard(key) if value is None else old.insert(key, value)
    return old


def _with_membership(old: HashTrieSet[K], wanted: Mapping[K, bool]) -> HashTrieSet[K]:
    if not len(old):
        return HashTrieSet(key for key, wants in wanted.items() if wants)
    for key, wants in wanted.items():
        if wants:
            old = old.insert(key)
        elif key in old:
            old = old.discard(key)
    return old


def _regrouped(
    old: HashTrieMap[K, HashTrieSet[V]], moves: Mapping[K, Mapping[V, bool]]
) -> HashTrieMap[K, HashTrieSet[V]]:
    changes = {group: _with_membership(old.get(group, HashTrieSet()), names) for group, names in moves.items()}
    return _merged(old, {group: names if len(names) else None for group, names in changes.items()})
