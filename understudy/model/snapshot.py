"""The cluster at one moment, as an immutable value with the indexes decisions need.

`Snapshot.updated` turns a snapshot and a few changed nodes or gangs into the next snapshot. It costs what changed, not
what is there: the maps are persistent, and old and new snapshots share all that did not change. The same function keeps
the view up to date event by event, builds a snapshot from nothing, and makes the hypotheses of a plan.
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
from understudy.model.nodes import Node, Verdict
from understudy.model.selectors import Selector

K = TypeVar("K")
V = TypeVar("V")


class Budget(msgspec.Struct, frozen=True, gc=False):
    """A PodDisruptionBudget: how many more of the matching pods may be disturbed now."""

    name: str
    namespace: str
    selector: Selector | None
    allowed: int

    def covers(self, gang: Gang, member: Member) -> bool:
        if self.selector is None or gang.namespace != self.namespace:
            return False
        return self.selector.matches(member.labels)


class Snapshot(msgspec.Struct, frozen=True):
    rooms: HashTrieMap[str, NodeInfo] = HashTrieMap()
    gangs: HashTrieMap[str, Gang] = HashTrieMap()
    budgets: tuple[Budget, ...] = ()
    open: HashTrieSet[str] = HashTrieSet()  # managed gangs with members that have no seat
    holding: HashTrieSet[str] = HashTrieSet()  # gangs with holds
    leaving: HashTrieSet[str] = HashTrieSet()  # gangs with pods on their way out
    running: HashTrieMap[int, HashTrieMap[str, RunningGang]] = HashTrieMap()  # priority -> managed gangs with seats
    repelling: HashTrieSet[str] = HashTrieSet()  # gangs with pods on nodes that have required anti-affinity
    sick: HashTrieSet[str] = HashTrieSet()  # nodes whose verdict is not healthy, and nodes that are gone
    spares: HashTrieSet[str] = HashTrieSet()  # nodes labelled as spares
    warm: HashTrieSet[str] = HashTrieSet()  # warm understudies: they sit in no room, and only `decide.warm` sees them
    shelves: HashTrieMap[CapacityBucket, HashTrieSet[str]] = HashTrieMap()  # where new seats may be given
    domains: HashTrieMap[str, HashTrieMap[str, tuple[str, ...]]] = HashTrieMap()  # key -> value -> sorted nodes
    tenants: HashTrieMap[str, HashTrieMap[str, HashTrieMap[str, int]]] = HashTrieMap()  # key -> value -> gang -> seats

    @staticmethod
    def of(
        nodes: Iterable[Node] = (),
        gangs: Iterable[Gang] = (),
        budgets: Iterable[Budget] = (),
        index: Iterable[str] = (),
    ) -> Snapshot:
        """A snapshot from scratch; `index` names label keys, besides the gangs' own, that decisions group nodes by."""
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
        listing = _listed(changed)
        rooms = self._changed_rooms(fresh, frozenset(gone_nodes), listing.seats, before)
        indexed = self._with_topologies(changed.values())
        return msgspec.structs.replace(
            indexed,
            rooms=_merged(self.rooms, rooms),
            gangs=_merged(self.gangs, {**dict.fromkeys(before), **changed} if before else changed),
            sick=_toggled(self.sick, {name: room is not None and _is_sick(room) for name, room in rooms.items()}),
            spares=_toggled(
                self.spares, {name: room is not None and bool(room.node.spare) for name, room in rooms.items()}
            ),
            shelves=_reshelved(self, rooms),
            domains=_redivided(indexed, rooms),
            tenants=_resettled(indexed, rooms),
            **_relisted(self, listing, before),
        )

    def _changed_rooms(
        self, fresh: dict[str, Node], gone: frozenset[str], arriving: dict[str, list[Seat]], before: dict[str, Gang]
    ) -> dict[str, NodeInfo | None]:
        """The rooms that the changes touch, made anew; None where neither node nor seat is left."""
        touched = {seat.member.node for gang in before.values() for seat in seats_of(gang)}
        touched.update(arriving, fresh, gone)
        rooms: dict[str, NodeInfo | None] = {}
        for name in touched:
            old = self.rooms.get(name)
            staying = [seat for seat in old.seats if seat.gang not in before] if old else []
            seats = staying + arriving[name] if name in arriving else staying
            node = fresh.get(name)
            if node is None and old is not None and name not in gone and old.node.health is not NODE_GONE:
                node = old.node
            rooms[name] = node_info_of(node or Node(name, health=NODE_GONE), seats) if node or seats else None
        return rooms

    def _with_topologies(self, gangs: Iterable[Gang]) -> Snapshot:
        """The same snapshot, indexed by every topology key the gangs' islands use."""
        keys = {island.topology.key for gang in gangs for island in gang.islands if island.topology is not None}
        domains, tenants = self.domains, self.tenants
        for key in sorted(keys):
            if key not in domains:
                domains = domains.insert(key, _divided(key, self.rooms.values()))
            if key not in tenants:
                tenants = tenants.insert(key, _settled(key, self.rooms.values()))
        if tenants is self.tenants and domains is self.domains:
            return self
        return msgspec.structs.replace(self, domains=domains, tenants=tenants)


def _is_sick(room: NodeInfo) -> bool:
    return room.node.health.verdict is not Verdict.HEALTHY


class Listing(msgspec.Struct, frozen=True):
    """Where changed gangs sit, and which lists they belong on."""

    seats: dict[str, list[Seat]]  # by node
    stakes: dict[str, RunningGang]
    open: list[str]
    holding: list[str]
    leaving: list[str]
    repelling: list[str]
    warm: list[str]


def _listed(changed: dict[str, Gang]) -> Listing:
    """One pass over the gangs: this runs for every gang there is when a snapshot is made from nothing."""
    listing = Listing(defaultdict(list), {}, [], [], [], [], [])
    for key, gang in changed.items():
        if gang.warm_for:
            listing.warm.append(key)
            continue
        seated = []
        unseated = repels = False
        for island in gang.islands:
            for member in island.members:
                if member.node:
                    seated.append(member)
                    repels = repels or bool(member.shape.anti_affinity)
                else:
                    unseated = True
        stake = running_gang_of(gang, seated) if seated and gang.managed and not gang.infrastructure else None
        if stake is not None:
            listing.stakes[key] = stake
        for member in seated:
            listing.seats[member.node].append(Seat(key, member, False, stake))
        if unseated and gang.managed:
            listing.open.append(key)
        if gang.holds:
            listing.holding.append(key)
        if gang.leaving:
            listing.leaving.append(key)
            repels = repels or any(m.shape.anti_affinity for m in gang.leaving)
            for member in gang.leaving:
                listing.seats[member.node].append(Seat(key, member, True))
        if repels:
            listing.repelling.append(key)
    return listing


_LISTS = ("open", "holding", "leaving", "repelling", "warm")


def _relisted(old: Snapshot, listing: Listing, before: dict[str, Gang]) -> dict[str, object]:
    running: dict[int, dict[str, RunningGang | None]] = defaultdict(dict)
    for key, gang in before.items():
        running[gang.priority][key] = None
    for key, stake in listing.stakes.items():
        running[stake.priority][key] = stake
    groups = {priority: _merged(old.running.get(priority, HashTrieMap()), group) for priority, group in running.items()}
    lists: dict[str, list[str]] = {name: getattr(listing, name) for name in _LISTS}
    return {
        **{
            n: _toggled(getattr(old, n), dict.fromkeys(before, False) | dict.fromkeys(k, True))
            for n, k in lists.items()
        },
        "running": _merged(
            old.running, {priority: group if len(group) else None for priority, group in groups.items()}
        ),
    }


def _reshelved(old: Snapshot, rooms: Mapping[str, NodeInfo | None]) -> HashTrieMap[CapacityBucket, HashTrieSet[str]]:
    moves: dict[CapacityBucket, dict[str, bool]] = defaultdict(dict)
    for name, room in rooms.items():
        was = old.rooms.get(name)
        shelf = room.shelf if room else None
        if was and was.shelf is not None and was.shelf != shelf:
            moves[was.shelf][name] = False
        if shelf is not None and (was is None or was.shelf != shelf):
            moves[shelf][name] = True
    return _regrouped(old.shelves, moves)


def _divided(key: str, rooms: Iterable[NodeInfo]) -> HashTrieMap[str, tuple[str, ...]]:
    groups: dict[str, list[str]] = defaultdict(list)
    for room in rooms:
        if (value := room.node.labels.get(key)) is not None:
            groups[value].append(room.node.name)
    return HashTrieMap({value: tuple(sorted(names)) for value, names in groups.items()})


def _redivided(
    old: Snapshot, rooms: Mapping[str, NodeInfo | None]
) -> HashTrieMap[str, HashTrieMap[str, tuple[str, ...]]]:
    domains = old.domains
    for key in domains:
        moves: dict[str, dict[str, bool]] = defaultdict(dict)
        for name, room in rooms.items():
            was = old.rooms.get(name)
            left = was.node.labels.get(key) if was else None
            joined = room.node.labels.get(key) if room else None
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


def _settled(key: str, rooms: Iterable[NodeInfo]) -> HashTrieMap[str, HashTrieMap[str, int]]:
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for room in rooms:
        if (value := room.node.labels.get(key)) is not None:
            for seat in room.seats:
                counts[value][seat.gang] += 1
    return HashTrieMap({value: HashTrieMap(gangs) for value, gangs in counts.items()})


def _resettled(
    old: Snapshot, rooms: Mapping[str, NodeInfo | None]
) -> HashTrieMap[str, HashTrieMap[str, HashTrieMap[str, int]]]:
    tenants = old.tenants
    for key in tenants:
        deltas: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for name, room in rooms.items():
            for sign, side in ((-1, old.rooms.get(name)), (1, room)):
                value = side.node.labels.get(key) if side else None
                if side is not None and value is not None:
                    for seat in side.seats:
                        deltas[value][seat.gang] += sign
        changes: dict[str, HashTrieMap[str, int] | None] = {}
        for value, gangs in deltas.items():
            was = tenants[key].get(value, HashTrieMap())
            now = {gang: was.get(gang, 0) + delta for gang, delta in gangs.items() if delta}
            if now:
                changes[value] = _merged(was, {gang: count or None for gang, count in now.items()}) or None
        if changes:
            tenants = tenants.insert(key, _merged(tenants[key], changes))
    return tenants


def _merged(old: HashTrieMap[K, V], changes: Mapping[K, V | None]) -> HashTrieMap[K, V]:
    """`old` with the changes; None removes. Large changes are built in one go, four times cheaper for each entry."""
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


def _toggled(old: HashTrieSet[K], wanted: Mapping[K, bool]) -> HashTrieSet[K]:
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
    changes = {group: _toggled(old.get(group, HashTrieSet()), names) for group, names in moves.items()}
    return _merged(old, {group: names if len(names) else None for group, names in changes.items()})
