"""A plan in the making: the actions recorded so far, and the snapshot that the next decision works on.

A Proposal lives for one call of `plan`. It also caches what many decisions of a cycle ask for: the order in which idle
nodes are offered, which domains are vacant, and which gang owns or holds a domain.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import partial
from heapq import merge
from itertools import chain, groupby
from operator import itemgetter

import msgspec

from understudy.decide.buckets import buckets_for, is_unwanted
from understudy.decide.describe import until_clause
from understudy.decide.fit import capacity, refusal
from understudy.decide.guards import failed_lately, lemon, over_budget
from understudy.decide.holds import HeldSeat, HoldIndex
from understudy.decide.policy import Policy
from understudy.decide.prices import price_order
from understudy.decide.projection import apply_actions
from understudy.decide.spares import may_borrow, spare_nodes
from understudy.model.gangs import Gang, Island, Member, Shape, TopologyMode
from understudy.model.node_info import CapacityBucket, Seat
from understudy.model.nodes import PREFER_NO_SCHEDULE, CapacityPolicy, Node
from understudy.model.plans import Action, Grow, Start, Wait
from understudy.model.snapshot import Snapshot

Rank = tuple[float, bool, str, str]  # price and whether it is a last choice, in an unused domain, domain, name
LAST_CHOICE = 1e12  # added to the price of last choices


class Proposal:
    def __init__(self, snapshot: Snapshot, policy: Policy, now: float) -> None:
        self.snapshot = snapshot  # as the applied actions leave it
        self.policy = policy
        self.now = now
        self.actions: list[Action] = []
        self.rechecks: list[float | None] = []  # when time alone could change a decision
        self.unplaceable: set[object] = set()  # equivalence classes of gangs that fit nowhere in this snapshot
        self.touched: set[str] = set()  # gangs with a recorded action
        self.spares = spare_nodes(snapshot, policy, now)
        self.warm = _warm_nodes(snapshot)
        self.keys = sorted(snapshot.topologies)  # label keys that place islands of gangs
        self._pending: list[Action] = []  # recorded, not yet applied
        self._refusals: dict[tuple[int, str], str | None] = {}
        self._ranked: dict[CapacityBucket, list[Rank]] = {}
        self._ranks: dict[str, Rank] = {}
        self._vacant_domains: dict[str, dict[str, None]] = {}
        self._owners: dict[tuple[str, str], tuple[str, str] | None] = {}
        self._gangs_in: dict[tuple[str, str], tuple[str, ...]] = {}
        self._unowned_ranked: dict[CapacityBucket, list[Rank]] = {}  # `_ranked` without nodes in owned domains
        self._hold_index: HoldIndex | None = None
        self._unhealthy_domains: dict[str, frozenset[str]] = {}
        self._domain_prices: dict[tuple[str, str], float] = {}
        self._large_enough: dict[tuple[object, str, str], bool] = {}

    def record(self, *actions: Action) -> None:
        """Adds actions to the plan. `apply` makes the snapshot follow, before the next decision reads it."""
        self.actions.extend(actions)
        self.touched.update(action.gang for action in actions)
        self._pending.extend(action for action in actions if not isinstance(action, Wait))
        if not all(isinstance(action, Start | Grow | Wait) for action in actions):
            self.unplaceable.clear()  # the other actions may free seats

    def record_unapplied(self, *actions: Action) -> None:
        """Adds actions that change nothing for later decisions: those about warm understudies."""
        self.actions.extend(actions)
        self.touched.update(action.gang for action in actions)

    def apply(self) -> None:
        """Replaces the snapshot by the one that the recorded actions lead to. A plan whose last actions no decision
        follows does not pay for their snapshot."""
        if not self._pending:
            return
        changing, self._pending = self._pending, []
        before = self.snapshot
        self.snapshot = after = apply_actions(before, changing)
        touched: set[str] = set()
        for key in {action.gang for action in changing}:
            old, new = before.gangs[key], after.gangs[key]
            if self._hold_index is not None:
                self._hold_index.change(new, after)
            if old.islands is not new.islands or old.leaving is not new.leaving:
                touched.update(m.node for gang in (old, new) for m in (*gang.members(), *gang.leaving) if m.node)
        for name in touched:
            self._forget_owners(before.nodes[name].node)
            self._move_bucket(name, before)

    def _forget_owners(self, node: Node) -> None:
        """Drops what is cached about the owners of the node's domains."""
        self._unowned_ranked.clear()
        for key in self.keys:
            domain = (key, node.labels.get(key, ""))
            self._owners.pop(domain, None)
            self._gangs_in.pop(domain, None)

    # Single nodes

    def refusal(self, shape: Shape, name: str) -> str | None:
        """Why this node cannot take the shape however empty it is, cached for the cycle."""
        key = (id(shape), name)  # ids stay unique: shapes live as long as the snapshot
        if key not in self._refusals:
            node = self.snapshot.nodes[name].node
            self._refusals[key] = refusal(shape, node) or self._repeated_failures(node)
        return self._refusals[key]

    def _repeated_failures(self, node: Node) -> str | None:
        found = lemon(node, self.policy, self.now) if node.failures else None
        if found is None:
            return None
        self.rechecks.append(found.until)
        return f"{found.guard}: {found.detail}{until_clause(found.until)}"

    def kept_as_spare(self, gang: Gang, name: str, repairing: bool) -> bool:
        """Whether the node is a spare that this gang may not use: only repairs, restarts and borrowers may."""
        role = self.spares.get(name)
        return role is not None and not (repairing or gang.displaced or may_borrow(gang, role, self.policy))

    # The order in which idle nodes are offered

    def candidates(self, shape: Shape, owners: Set[str] | None = None) -> Iterator[str]:
        """Nodes with some free capacity in packing order: the fullest first, so that whole domains stay free.

        Last choices come after all others, however well they fit. With prices, cheap nodes come before expensive ones.
        For pods that prefer spot capacity, all spot nodes come first. `owners` leaves out nodes in exclusive domains
        of other gangs, which is much cheaper than a check of each node.
        """
        spot = self.snapshot.spot
        if shape.capacity is not CapacityPolicy.PREFER_SPOT or not len(spot):
            return self._in_packing_order(shape, owners)
        on_spot = (name for name in self._in_packing_order(shape, owners) if name in spot)
        return chain(on_spot, (name for name in self._in_packing_order(shape, owners) if name not in spot))

    def _in_packing_order(self, shape: Shape, owners: Set[str] | None) -> Iterator[str]:
        avoided = []
        buckets = buckets_for(shape, self.snapshot)
        for ranks in (
            map(partial(self._open_ranks, owners), buckets)
            if not self.policy.prices
            else self._by_price(shape, buckets, owners)
        ):
            for rank in ranks:
                if rank[0] and rank[0] >= LAST_CHOICE:
                    avoided.append(rank[3])
                else:
                    yield rank[3]
        yield from avoided

    def _open_ranks(self, owners: Set[str] | None, bucket: CapacityBucket) -> Iterable[Rank]:
        if bucket not in self._ranked:
            self._ranked[bucket] = sorted(self._rank(name) for name in self.snapshot.buckets[bucket])
        return self._ranked[bucket] if owners is None else self._not_owned(bucket, owners)

    def _by_price(
        self, shape: Shape, buckets: Sequence[CapacityBucket], owners: Set[str] | None
    ) -> Iterator[Iterator[Rank]]:
        """The nodes of all buckets of wanted nodes, the cheapest first, then those of the other buckets."""
        for _, alike in groupby(buckets, key=partial(is_unwanted, shape)):
            yield merge(*[self._open_ranks(owners, bucket) for bucket in alike], key=itemgetter(0))

    def _not_owned(self, bucket: CapacityBucket, besides: Set[str]) -> Iterator[Rank]:
        """The ranked nodes of a bucket without those in domains owned by gangs other than `besides`. A complete walk is
        cached for the next call."""
        if not besides and bucket in self._unowned_ranked:
            yield from self._unowned_ranked[bucket]
            return
        found = []
        for rank in self._ranked[bucket]:
            if self._is_open(rank[3], besides):
                found.append(rank)
                yield rank
        if not besides:
            self._unowned_ranked[bucket] = found

    def _is_open(self, name: str, besides: Set[str]) -> bool:
        labels = self.snapshot.nodes[name].node.labels
        for key in self.keys:
            if (value := labels.get(key)) is not None:
                owner = self.owner(key, value)
                if owner is not None and owner[0] not in besides:
                    return False
        return True

    def avoided(self, name: str) -> bool:
        """Whether the node is a last choice: a spare, one that failed lately, or one with a PreferNoSchedule taint."""
        node = self.snapshot.nodes[name].node
        return bool(node.failures or node.taints or name in self.spares) and self._rank(name)[0] >= LAST_CHOICE

    def _rank(self, name: str) -> Rank:
        """A node keeps its rank for the whole cycle, so that one domain fills up before the next one is used."""
        if name not in self._ranks:
            self._ranks[name] = self._first_rank(name)
        return self._ranks[name]

    def _first_rank(self, name: str) -> Rank:
        node = self.snapshot.nodes[name].node
        avoided = name in self.spares or failed_lately(node, self.policy, self.now)
        avoided = avoided or any(t.effect == PREFER_NO_SCHEDULE for t in node.taints)
        level = (price_order(node, self.policy) if self.policy.prices else 0.0) + (LAST_CHOICE if avoided else 0.0)
        for key in self.keys:
            if (value := node.labels.get(key)) is not None:
                return (level, value not in self.snapshot.domain_gangs[key], value, name)
        return (level, False, "", name)

    def domain_price(self, key: str, value: str) -> float:
        """Orders domains by the mean price of their nodes."""
        if (key, value) not in self._domain_prices:
            prices = [price_order(self.snapshot.nodes[name].node, self.policy) for name in self.domain(key, value)]
            self._domain_prices[key, value] = sum(prices) / max(1, len(prices))
        return self._domain_prices[key, value]

    def _move_bucket(self, name: str, before: Snapshot) -> None:
        info = self.snapshot.nodes.get(name)
        if info is None:
            return  # the node was deleted, and its last pod has left
        for key in self._vacant_domains:
            value = info.node.labels.get(key)
            if value in self._vacant_domains[key] and self.gangs_in(key, value):
                del self._vacant_domains[key][value]
        old, new = before.nodes[name].bucket, info.bucket
        if old == new:
            return
        if old in self._ranked:
            ranked = self._ranked[old]
            del ranked[bisect_left(ranked, self._rank(name))]
        if new in self._ranked:
            insort(self._ranked[new], self._rank(name))

    def leaving_nodes(self) -> Iterator[str]:
        """Nodes with terminating pods: they will have more free than their bucket says."""
        for key in sorted(self.snapshot.leaving):
            for member in self.snapshot.gangs[key].leaving:
                yield member.node

    # Domains

    def domain(self, key: str, value: str) -> tuple[str, ...]:
        return self.snapshot.domains[key].get(value, ())

    def vacant_domains(self, key: str) -> Iterable[str]:
        """Domains with healthy nodes only and no pods but daemons, the smallest first."""
        snapshot = self.snapshot
        if key not in self._vacant_domains:
            unhealthy, by_domain, gangs = self.unhealthy_domains(key), snapshot.domain_gangs[key], snapshot.gangs
            values = []
            for value, nodes in snapshot.domains[key].items():
                if value in unhealthy:
                    continue
                for gang in by_domain.get(value, ()):
                    if not gangs[gang].infrastructure:
                        break
                else:
                    values.append((len(nodes), value))
            self._vacant_domains[key] = {value: None for _, value in sorted(values)}
        return list(self._vacant_domains[key])

    def gangs_in(self, key: str, value: str) -> tuple[str, ...]:
        """The gangs with seats in a domain, without daemons."""
        snapshot = self.snapshot
        if (key, value) not in self._gangs_in:
            found, gangs = snapshot.domain_gangs[key].get(value, ()), snapshot.gangs
            self._gangs_in[key, value] = tuple(sorted(gang for gang in found if not gangs[gang].infrastructure))
        return self._gangs_in[key, value]

    def could_hold(self, key: str, value: str, members: Sequence[Member]) -> bool:
        """A cheap first check: whether the empty domain could hold as many members as there are of the first shape."""
        shapes = tuple(id(m.shape) for m in members)
        memo = (shapes, key, value)
        if memo not in self._large_enough:
            shape = members[0].shape
            wanted = shapes.count(id(shape))
            infos = (self.snapshot.nodes[n] for n in self.domain(key, value) if self.refusal(shape, n) is None)
            held = sum(capacity(shape, info.node.allocatable, wanted) for info in infos)
            self._large_enough[memo] = held >= wanted
        return self._large_enough[memo]

    def unhealthy_domains(self, key: str) -> frozenset[str]:
        """Domains with an unhealthy node. A slice works only whole."""
        if key not in self._unhealthy_domains:
            labels = (self.snapshot.nodes[name].node.labels.get(key) for name in self.snapshot.unhealthy)
            self._unhealthy_domains[key] = frozenset(value for value in labels if value is not None)
        return self._unhealthy_domains[key]

    def owner(self, key: str, value: str) -> tuple[str, str] | None:
        """The gang and island that own this exclusive domain. Terminating pods own it until they are deleted."""
        if (key, value) not in self._owners:
            self._owners[key, value] = self._find_owner(key, value)
        return self._owners[key, value]

    def _find_owner(self, key: str, value: str) -> tuple[str, str] | None:
        snapshot = self.snapshot

        def in_domain(member: Member) -> bool:
            return snapshot.nodes[member.node].node.labels.get(key) == value

        for gang_key in sorted(snapshot.domain_gangs[key].get(value, ())):
            gang = snapshot.gangs[gang_key]
            for island in gang.islands:
                topology = island.topology
                if topology is None or topology.key != key or topology.mode is not TopologyMode.EXCLUSIVE:
                    continue
                if any(m.node and in_domain(m) and not snapshot.is_lost(m.node) for m in island.members):
                    return (gang_key, island.name)
                if any(in_domain(m) for m in _leaving_members(gang, island)):
                    return (gang_key, island.name)
        return None

    # Holds

    @property
    def hold_index(self) -> HoldIndex:
        if self._hold_index is None:
            self._hold_index = HoldIndex(self.snapshot)
        return self._hold_index

    @property
    def held(self) -> dict[str, list[HeldSeat]]:
        """Node -> seats held there for gangs that are not seated there yet."""
        return self.hold_index.seats

    def respects_hold(self, gang: Gang, held: HeldSeat) -> bool:
        """Whether the gang may not use a seat that is held for another gang. Using it counts as preemption; a reserved
        seat is free only when its whole gang is preempted."""
        holder = held.gang
        if holder.key == gang.key:
            return False
        may_preempt = gang.preempts and over_budget(gang, self.policy, self.now) is None
        return held.reserved or holder.priority >= gang.priority or not may_preempt

    def held_for(self, key: str, value: str) -> Iterable[HeldSeat]:
        """For each gang that holds this domain for an exclusive island, one of the seats held there."""
        return self.hold_index.domains.get((key, value), {}).values()

    def promised(self, gang: Gang) -> list[Seat]:
        """Held seats that the gang must respect, as leaving seats, where inter-pod rules make them matter."""
        if not self.held:
            return []
        if not self.hold_index.has_anti_affinity and not any(m.shape.has_inter_pod_rules for m in gang.members()):
            return []
        return [
            Seat(held.gang.key, msgspec.structs.replace(held.member, node=node), leaving=True)
            for node, there in self.held.items()
            for held in there
            if node in self.snapshot.nodes and self.respects_hold(gang, held)
        ]


def _warm_nodes(snapshot: Snapshot) -> dict[str, tuple[str, ...]]:
    """By gang, the nodes with its started warm understudies."""
    found: dict[str, set[str]] = {}
    for key in snapshot.warm:
        gang = snapshot.gangs[key]
        nodes = {m.node for m in gang.seated() if m.node in snapshot.nodes and gang.started_at is not None}
        found.setdefault(gang.warm_for, set()).update(nodes)
    return {key: tuple(sorted(nodes)) for key, nodes in found.items()}


def _leaving_members(gang: Gang, island: Island) -> list[Member]:
    """The terminating pods of this island. Of an ended gang, every terminating pod counts."""
    if not gang.leaving:
        return []
    names = {name for m in island.members for name in (m.name, m.place) if name}
    all_count = not names or len(gang.islands) == 1
    return [m for m in gang.leaving if all_count or m.name in names or m.place in names]
