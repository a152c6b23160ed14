"""The cluster as one plan has changed it so far: turns each decided action into the state the next decision sees.

A Floor is born and dies inside one `plan`. It keeps what many decisions of a cycle ask again and again: the order in
which idle nodes are offered, which domains are vacant, who owns or holds a place.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence, Set

import msgspec

from understudy.decide.describe import until_clause
from understudy.decide.fit import capacity, refusal
from understudy.decide.guards import failed_lately, lemon, over_budget
from understudy.decide.holds import HeldSeat, HoldIndex
from understudy.decide.policy import Policy
from understudy.decide.projection import apply_actions
from understudy.decide.spares import may_borrow, spare_nodes
from understudy.model.gangs import Gang, Island, Member, Shape, TopologyMode
from understudy.model.node_info import CapacityBucket, Seat
from understudy.model.nodes import PREFER_NO_SCHEDULE, Node, Verdict, is_accelerator
from understudy.model.plans import Action, Grow, Start, Wait
from understudy.model.snapshot import Snapshot

Rank = tuple[bool, bool, str, str]  # best avoided, in an untouched domain, domain, name


class Proposal:
    def __init__(self, snapshot: Snapshot, policy: Policy, now: float) -> None:
        self._snapshot = snapshot
        self._pending: list[Action] = []
        self.policy = policy
        self.now = now
        self.actions: list[Action] = []
        self.rechecks: list[float | None] = []  # when the clock alone could change what was decided
        self.unplaceable: set[object] = set()  # likenesses of gangs that could not be helped, as things stand
        self.touched: set[str] = set()  # gangs that something was decided about
        self.spares = spare_nodes(snapshot, policy, now)
        self.warm = _warm_nodes(snapshot)
        self.keys = sorted(snapshot.domain_gangs)
        self._refusals: dict[tuple[int, str], str | None] = {}
        self._ranked: dict[CapacityBucket, list[Rank]] = {}
        self._ranks: dict[str, Rank] = {}
        self._vacant_domains: dict[str, dict[str, None]] = {}
        self._owners: dict[tuple[str, str], tuple[str, str] | None] = {}
        self._residents: dict[tuple[str, str], tuple[str, ...]] = {}
        self._unowned_ranked: dict[
            CapacityBucket, list[Rank]
        ] = {}  # what is ranked, less domains that somebody has to himself
        self._kept: HoldIndex | None = None
        self._sick_domains: dict[str, frozenset[str]] = {}
        self._large_enough: dict[tuple[object, str, str], bool] = {}

    def do(self, *actions: Action) -> None:
        """Decide these actions. Whatever is decided next sees the cluster as they leave it."""
        self.actions.extend(actions)
        self.touched.update(action.gang for action in actions)
        self._pending.extend(action for action in actions if not isinstance(action, Wait))
        if not all(isinstance(action, Start | Grow | Wait) for action in actions):
            self.unplaceable.clear()  # the others may give seats back

    def add(self, *actions: Action) -> None:
        """Add to the plan what changes nothing for whoever is decided about next: warm understudies."""
        self.actions.extend(actions)
        self.touched.update(action.gang for action in actions)

    @property
    def snapshot(self) -> Snapshot:
        """The cluster with everything decided so far carried out, which is done when somebody looks."""
        if self._pending:
            self._carry_out(self._pending)
        return self._snapshot

    def _carry_out(self, changing: list[Action]) -> None:
        self._pending = []
        before = self._snapshot
        self._snapshot = after = apply_actions(before, changing)
        touched: set[str] = set()
        for key in {action.gang for action in changing}:
            old, new = before.gangs[key], after.gangs[key]
            if self._kept is not None:
                self._kept.change(new, after)
            if old.islands is not new.islands or old.leaving is not new.leaving:
                touched.update(m.node for gang in (old, new) for m in (*gang.members(), *gang.leaving) if m.node)
        for name in touched:
            self._forget_owners(before.nodes[name].node)
            self._move_bucket(name, before)

    def _forget_owners(self, node: Node) -> None:
        """Who has the node's domains to himself has to be found out again."""
        self._unowned_ranked.clear()
        for key in self.keys:
            domain = (key, node.labels.get(key, ""))
            self._owners.pop(domain, None)
            self._residents.pop(domain, None)

    # What a node alone has to say

    def refusal(self, shape: Shape, name: str) -> str | None:
        """Why this node will never do for this shape, remembered for the cycle."""
        key = (id(shape), name)  # shapes live as long as the snapshot, so their identity does too
        if key not in self._refusals:
            node = self.snapshot.nodes[name].node
            self._refusals[key] = refusal(shape, node) or self._lemon(node)
        return self._refusals[key]

    def _lemon(self, node: Node) -> str | None:
        found = lemon(node, self.policy, self.now) if node.failures else None
        if found is None:
            return None
        self.rechecks.append(found.until)
        return f"{found.guard}: {found.detail}{until_clause(found.until)}"

    def kept_as_spare(self, gang: Gang, name: str, repairing: bool) -> bool:
        """Whether the node is a spare that this gang may not have now: it neither repairs itself nor starts again."""
        role = self.spares.get(name)
        return role is not None and not (repairing or gang.displaced or may_borrow(gang, role, self.policy))

    # The order in which idle nodes are offered

    def candidates(self, shape: Shape, owners: Set[str] | None = None) -> Iterator[str]:
        """Nodes with some room, in packing order: the fullest that could do first, whole domains kept free.

        Nodes that are best avoided come after all others, however well they would fit. With `owners`, nodes in domains
        that anybody else has to himself are left out: it is much cheaper than to ask for each why it will not do.
        """
        avoided = []
        for bucket in _buckets_for(shape, self.snapshot):
            if bucket not in self._ranked:
                self._ranked[bucket] = sorted(self._rank(name) for name in self.snapshot.buckets[bucket])
            for rank in self._ranked[bucket] if owners is None else self._not_owned(bucket, owners):
                if rank[0]:
                    avoided.append(rank[3])
                else:
                    yield rank[3]
        yield from avoided

    def _not_owned(self, bucket: CapacityBucket, besides: Set[str]) -> Iterator[Rank]:
        """What is ranked on a shelf, without domains of owners `besides` these. Whoever comes to its end has found out
        what the next one need not look at."""
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
        """Whether the node is a last choice: a spare, one that failed lately, or one that asks to be left alone."""
        node = self.snapshot.nodes[name].node
        return bool(node.failures or node.taints or name in self.spares) and self._rank(name)[0]

    def _rank(self, name: str) -> Rank:
        """A node keeps its rank for the whole cycle, so that one domain is filled before the next is touched."""
        if name not in self._ranks:
            self._ranks[name] = self._first_rank(name)
        return self._ranks[name]

    def _first_rank(self, name: str) -> Rank:
        node = self.snapshot.nodes[name].node
        avoided = name in self.spares or failed_lately(node, self.policy, self.now)
        avoided = avoided or any(t.effect == PREFER_NO_SCHEDULE for t in node.taints)
        for key in self.keys:
            if (value := node.labels.get(key)) is not None:
                return (avoided, value not in self.snapshot.domain_gangs[key], value, name)
        return (avoided, False, "", name)

    def _move_bucket(self, name: str, before: Snapshot) -> None:
        info = self.snapshot.nodes.get(name)
        if info is None:
            return  # a node that does not exist any more, and the last who sat there
        for key in self._vacant_domains:
            value = info.node.labels.get(key)
            if value in self._vacant_domains[key] and self.residents(key, value):
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
        """Where pods are on their way out: these nodes offer more than their shelf says."""
        for key in sorted(self.snapshot.leaving):
            for member in self.snapshot.gangs[key].leaving:
                yield member.node

    # Domains

    def domain(self, key: str, value: str) -> tuple[str, ...]:
        return self.snapshot.domains[key].get(value, ())

    def vacant_domains(self, key: str) -> Iterable[str]:
        """Domains nobody but daemons sits in, all of whose nodes are healthy; the smallest first."""
        snapshot = self.snapshot
        if key not in self._vacant_domains:
            sick, tenants, gangs = self.sick_domains(key), snapshot.domain_gangs[key], snapshot.gangs
            values = []
            for value, nodes in snapshot.domains[key].items():
                if value in sick:
                    continue
                for gang in tenants.get(value, ()):
                    if not gangs[gang].infrastructure:
                        break
                else:
                    values.append((len(nodes), value))
            self._vacant_domains[key] = {value: None for _, value in sorted(values)}
        return list(self._vacant_domains[key])

    def residents(self, key: str, value: str) -> tuple[str, ...]:
        """Who sits in a domain, daemons aside."""
        snapshot = self.snapshot
        if (key, value) not in self._residents:
            tenants, gangs = snapshot.domain_gangs[key].get(value, ()), snapshot.gangs
            self._residents[key, value] = tuple(sorted(gang for gang in tenants if not gangs[gang].infrastructure))
        return self._residents[key, value]

    def could_hold(self, key: str, value: str, members: Sequence[Member]) -> bool:
        """Whether the domain, were it empty, could hold these members by their number alone; a cheap first look."""
        shapes = tuple(id(m.shape) for m in members)
        memo = (shapes, key, value)
        if memo not in self._large_enough:
            shape = members[0].shape
            wanted = shapes.count(id(shape))
            infos = (self.snapshot.nodes[n] for n in self.domain(key, value) if self.refusal(shape, n) is None)
            held = sum(capacity(shape, info.node.allocatable, wanted) for info in infos)
            self._large_enough[memo] = held >= wanted
        return self._large_enough[memo]

    def sick_domains(self, key: str) -> frozenset[str]:
        """Domains with a node that cannot be trusted: a slice works only whole."""
        if key not in self._sick_domains:
            labels = (self.snapshot.nodes[name].node.labels.get(key) for name in self.snapshot.unhealthy)
            self._sick_domains[key] = frozenset(value for value in labels if value is not None)
        return self._sick_domains[key]

    def owner(self, key: str, value: str) -> tuple[str, str] | None:
        """The gang and island that have this domain to themselves; pods on their way out keep it until they left."""
        snapshot = self.snapshot  # what was decided meanwhile may have another owner
        if (key, value) not in self._owners:
            self._owners[key, value] = self._find_owner(snapshot, key, value)
        return self._owners[key, value]

    def _find_owner(self, snapshot: Snapshot, key: str, value: str) -> tuple[str, str] | None:
        infos = snapshot.nodes

        def is_there(member: Member) -> bool:
            return infos[member.node].node.labels.get(key) == value

        for tenant in sorted(snapshot.domain_gangs[key].get(value, ())):
            gang = snapshot.gangs[tenant]
            for island in gang.islands:
                if (
                    island.topology is None
                    or island.topology.key != key
                    or island.topology.mode is not TopologyMode.EXCLUSIVE
                ):
                    continue
                if any(m.node and is_there(m) and not self._is_lost(m.node) for m in island.members):
                    return (tenant, island.name)
                if any(is_there(m) for m in _leaving_it(gang, island)):
                    return (tenant, island.name)
        return None

    def _is_lost(self, node: str) -> bool:
        return self.snapshot.nodes[node].node.health.verdict is Verdict.LOST

    # Holds

    @property
    def kept(self) -> HoldIndex:
        snapshot = self.snapshot
        if self._kept is None:
            self._kept = HoldIndex(snapshot)
        return self._kept

    @property
    def held(self) -> dict[str, list[HeldSeat]]:
        """Node -> seats kept there for gangs that are not seated yet."""
        return self.kept.seats

    def respects_hold(self, gang: Gang, held: HeldSeat) -> bool:
        """Whether the gang leaves a seat alone that is held for another. To take it is a kind of preemption; to take a
        reserved one is to preempt its holder, whole."""
        holder = held.gang
        if holder.key == gang.key:
            return False
        may_preempt = gang.preempts and over_budget(gang, self.policy, self.now) is None
        return held.reserved or holder.priority >= gang.priority or not may_preempt

    def held_for(self, key: str, value: str) -> Iterable[HeldSeat]:
        """For each gang that holds this domain for an island that will have it to itself, a seat held there."""
        return self.kept.domains.get((key, value), {}).values()

    def promised(self, gang: Gang) -> list[Seat]:
        """Seats kept for others whom the gang leaves alone, where any of them minds its neighbours."""
        if not self.held:
            return []
        if not self.kept.has_inter_pod_rules and not any(m.shape.has_inter_pod_rules for m in gang.members()):
            return []
        return [
            Seat(held.gang.key, msgspec.structs.replace(held.member, node=node), leaving=True)
            for node, there in self.held.items()
            for held in there
            if node in self.snapshot.nodes and self.respects_hold(gang, held)
        ]


def _warm_nodes(snapshot: Snapshot) -> dict[str, tuple[str, ...]]:
    """By gang, the nodes where understudies of it hold themselves ready."""
    found: dict[str, set[str]] = {}
    for key in snapshot.warm:
        gang = snapshot.gangs[key]
        nodes = {m.node for m in gang.seated() if m.node in snapshot.nodes and gang.started_at is not None}
        found.setdefault(gang.warm_for, set()).update(nodes)
    return {key: tuple(sorted(nodes)) for key, nodes in found.items()}


def _leaving_it(gang: Gang, island: Island) -> list[Member]:
    """The pods on their way out that sat in this island; of a gang that has ended, nobody knows which did."""
    if not gang.leaving:
        return []
    names = {name for m in island.members for name in (m.name, m.place) if name}
    anybody = not names or len(gang.islands) == 1
    return [m for m in gang.leaving if anybody or m.name in names or m.place in names]


def _buckets_for(shape: Shape, snapshot: Snapshot) -> list[CapacityBucket]:
    """The shelves worth looking at, best fit first. Nodes bought for something else come last."""
    asked = {name: amount for name, amount in shape.requests if is_accelerator(name)}
    cpu = dict(shape.requests).get("cpu", 0).bit_length()

    def order(bucket: CapacityBucket) -> tuple[bool, int, str]:
        flavor, level = bucket
        return (flavor not in asked if asked else flavor != "cpu", level, flavor)

    def unplaceable(bucket: CapacityBucket) -> bool:
        flavor, level = bucket
        return level < (cpu if flavor == "cpu" else asked.get(flavor, 0))

    return sorted((bucket for bucket in snapshot.buckets if not unplaceable(bucket)), key=order)
