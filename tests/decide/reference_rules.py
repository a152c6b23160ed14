"""The rules of the decision once more, in the plainest form: who may sit where, and every way to seat a gang.

Nothing here shares code with the planner. It is slow and small, so that it can be checked by eye and the planner by it.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from understudy.decide.policy import Policy
from understudy.model.gangs import Gang, Island, Member, Shape, TopologyMode
from understudy.model.nodes import NO_EXECUTE, NO_SCHEDULE, Capacity, Node, SpareRole, Taint, Verdict
from understudy.model.snapshot import Snapshot

HOST = "kubernetes.io/hostname"


class PlacedPod(NamedTuple):
    gang: Gang
    island: Island
    member: Member
    node: str


class Placement:
    """Nodes and who fills them. `without` leaves out members by (gang, member)."""

    def __init__(self, nodes: Mapping[str, Node], sitters: Iterable[PlacedPod] = ()) -> None:
        self.nodes = nodes
        self.at: dict[str, list[PlacedPod]] = {name: [] for name in nodes}
        self.free = {name: dict(node.allocatable) for name, node in nodes.items()}
        self.in_domain: dict[tuple[str, str], list[PlacedPod]] = {}
        for sitter in sitters:
            self.add(sitter)

    def add(self, sitter: PlacedPod) -> None:
        if sitter.node not in self.nodes:
            return  # its node is gone: it fills nothing
        self.at[sitter.node].append(sitter)
        for label in self.nodes[sitter.node].labels.items():
            self.in_domain.setdefault(label, []).append(self._seen(sitter))
        for resource, amount in sitter.member.shape.requests:
            self.free[sitter.node][resource] = self.free[sitter.node].get(resource, 0) - amount

    def remove(self, sitter: PlacedPod) -> None:
        self.at[sitter.node].remove(sitter)
        for label in self.nodes[sitter.node].labels.items():
            self.in_domain[label].remove(self._seen(sitter))
        for resource, amount in sitter.member.shape.requests:
            self.free[sitter.node][resource] += amount

    def _seen(self, sitter: PlacedPod) -> PlacedPod:
        """The dead own no domain: a pod on a lost node is of no island."""
        lost = self.nodes[sitter.node].health.verdict is Verdict.LOST
        return sitter._replace(island=Island("", ())) if lost else sitter

    def sitters(self) -> Iterator[PlacedPod]:
        for there in self.at.values():
            yield from there


def real_nodes(snapshot: Snapshot) -> dict[str, Node]:
    return {name: snapshot.nodes[name].node for name in sorted(snapshot.nodes)}


def seated(gang: Gang) -> Iterator[PlacedPod]:
    for island in gang.islands:
        for member in island.members:
            if member.node:
                yield PlacedPod(gang, island, member, member.node)


def leaving(gang: Gang, origin: Gang) -> Iterator[PlacedPod]:
    """Pods on their way out. The island they were in, which says what domain they still own, is in `origin`."""
    for member in gang.leaving:
        homes = [i for g in (gang, origin) for i in g.islands if any(m.name == member.name for m in i.members)]
        homes = homes or [i for i in gang.islands if member.name.startswith(f"{i.name}-")]  # as JobSets name pods
        homes = homes or [i for i in gang.islands if not i.members]  # of a gang that has ended
        yield PlacedPod(gang, homes[0] if homes else Island("", ()), member, member.node)


def respects_hold(gang: Gang, holder: Gang, policy: Policy, now: float) -> bool:
    """Held seats are closed to less important gangs, and to gangs that may not preempt."""
    return holder.key != gang.key and (holder.priority >= gang.priority or not may_preempt(gang, policy, now))


def may_preempt(gang: Gang, policy: Policy, now: float) -> bool:
    return gang.preempts and sum(now - at < 3600.0 for at in gang.preempted_for_it) < policy.preemptions_per_hour


def held(gang: Gang) -> Iterator[PlacedPod]:
    where = dict(gang.holds)
    for island in gang.islands:
        for member in island.members:
            if member.name in where and where[member.name] != member.node:
                yield PlacedPod(gang, island, member, where[member.name])


def board_of(
    snapshot: Snapshot, with_leaving: bool = True, holders: Iterable[Gang] = (), origin: Snapshot | None = None
) -> Placement:
    """All gangs of the snapshot. `origin` remembers the islands of gangs that have ended since."""
    board = Placement(real_nodes(snapshot))
    for key in sorted(snapshot.gangs):
        gang = snapshot.gangs[key]
        if gang.warm_for:
            continue  # the seats of warm understudies count as free
        for sitter in seated(gang):
            board.add(sitter)
        for sitter in leaving(gang, (origin or snapshot).gangs[key]) if with_leaving else ():
            board.add(sitter)
    for gang in holders:
        for sitter in held(gang):
            board.add(sitter)
    return board


# What one node says to one pod


def is_lemon(node: Node, policy: Policy, now: float) -> bool:
    return sum(now - at < policy.lemon_window for at in node.failures) >= policy.lemon_failures


def may_ever_sit(gang: Gang, member: Member, node: Node, policy: Policy, now: float, repair: bool = False) -> bool:
    """Everything that depends on the node alone."""
    shape = member.shape
    if not is_open(node, shape) or is_lemon(node, policy, now) or shape.unsupported:
        return False
    if not repair and not may_borrow(gang, node, policy):
        return False
    for taint in node.taints:
        if taint.effect in (NO_SCHEDULE, NO_EXECUTE) and not any(t.tolerates(taint) for t in shape.tolerations):
            return False
    if any(node.labels.get(key) != value for key, value in shape.selector):
        return False
    if (shape.capacity, node.capacity) in (("spot", "on-demand"), ("on-demand", "spot")):
        return False
    for terms in (shape.required, *shape.volumes):
        if terms and not any(term.matches(node.name, node.labels) for term in terms):
            return False
    return True


def is_open(node: Node, shape: Shape) -> bool:
    """A cordon is a taint that can be tolerated; ill health is not."""
    cordon = Taint("node.kubernetes.io/unschedulable", NO_SCHEDULE)
    welcome = not node.unschedulable or any(t.tolerates(cordon) for t in shape.tolerations)
    return welcome and node.health.verdict is Verdict.HEALTHY


def may_borrow(gang: Gang, node: Node, policy: Policy) -> bool:
    match node.spare:
        case SpareRole.NONE:
            return True
        case SpareRole.LENDABLE:
            return policy.lend_spares and gang.priority < policy.lend_below
        case SpareRole.KEPT:
            return False


# What those who sit there say


def fits_with(board: Placement, new: PlacedPod) -> bool:
    """Room, ports, anti-affinity in both directions, and exclusive domains in both directions."""
    free = board.free[new.node]
    if any(amount > 0 and amount > free.get(resource, 0) for resource, amount in new.member.shape.requests):
        return False
    if any(ports_clash(new.member, sitter.member) for sitter in board.at[new.node]):
        return False
    for label in board.nodes[new.node].labels.items():
        for sitter in board.in_domain.get(label, ()):
            if clash(new, sitter, label[0]) or clash(sitter, new, label[0]):
                return False
    return True


def ports_clash(one: Member, other: Member) -> bool:
    return any(a.clashes(b) for a in one.shape.host_ports for b in other.shape.host_ports)


def clash(one: PlacedPod, other: PlacedPod, key: str) -> bool:
    """Whether `one` does not bear `other` in its own domain of `key`."""
    return repels(one, other, key) or excludes(one, other, key)


def repels(one: PlacedPod, other: PlacedPod, key: str) -> bool:
    terms = one.member.shape.anti_affinity
    return any(t.topology_key == key and t.matches(other.gang.namespace, other.member.labels) for t in terms)


def excludes(one: PlacedPod, other: PlacedPod, key: str) -> bool:
    if not owns(one.island, key) or one.gang.infrastructure or other.gang.infrastructure:
        return False
    if one.gang.key != other.gang.key:
        return True
    return owns(other.island, key) and one.island.name != other.island.name


def owns(island: Island, key: str) -> bool:
    return island.topology is not None and island.topology.mode is TopologyMode.EXCLUSIVE and island.topology.key == key


def domain_healthy(board: Placement, key: str, value: str) -> bool:
    return all(n.health.verdict is Verdict.HEALTHY for n in board.nodes.values() if n.labels.get(key) == value)


# Every way to seat a gang


Allowed = Callable[[Member, Node], bool]


def placement(board: Placement, gang: Gang, wanted: Iterable[str], allowed: Allowed) -> dict[str, str] | None:
    """Seats for the wanted members beside all that have seats, or None when there is no way at all.

    Members of the gang that already sit on the board stay and count: a binding island joins them.
    """
    names = set(wanted)
    todo = [(island, m) for island in gang.islands for m in island.members if m.name in names]
    may = {
        (m.name, name): allowed(m, node) and (not is_exclusive(island) or _whole_domain_healthy(board, island, node))
        for island, m in todo
        for name, node in board.nodes.items()
    }
    staying = tuple(s.node for s in board.sitters() if s.gang.key == gang.key and s.member.name not in names)
    search = _Search(board, gang, may, has_inter_pod_rules(board, gang), staying)
    seats: dict[str, str] = {}
    return seats if search.seat(todo, seats, ("", 0)) else None


def has_inter_pod_rules(board: Placement, gang: Gang) -> bool:
    return any(m.shape.has_inter_pod_rules for m in (*gang.members(), *(s.member for s in board.sitters())))


def is_exclusive(island: Island) -> bool:
    return island.topology is not None and island.topology.mode is TopologyMode.EXCLUSIVE


def _whole_domain_healthy(board: Placement, island: Island, node: Node) -> bool:
    assert island.topology is not None
    key = island.topology.key
    return key in node.labels and domain_healthy(board, key, node.labels[key])


class _Search(NamedTuple):
    """Backtracking over members in order. Nodes and members that are the same in every respect are tried once."""

    board: Placement
    gang: Gang
    may: dict[tuple[str, str], bool]
    neighbours_matter: bool
    staying: tuple[str, ...]  # the nodes of the members that keep their seats

    def seat(self, todo: list[tuple[Island, Member]], seats: dict[str, str], last: tuple[object, int]) -> bool:
        if not todo:
            return True
        (island, member), rest = todo[0], todo[1:]
        kind = (island.name, member.shape, tuple(sorted(member.labels.items())))
        first = last[1] if last[0] == kind else 0
        tried: set[object] = set()
        for index, name in enumerate(self.board.nodes):
            if index < first or not self.may[member.name, name] or (look := self.look(name)) in tried:
                continue
            sitter = PlacedPod(self.gang, island, member, name)
            if not _joins(self.board, self.gang, island, self.board.nodes[name]) or not fits_with(self.board, sitter):
                continue
            if not keeps_capacity_rules(self.gang, self.board.nodes, self.staying, [*seats.values(), name]):
                continue
            tried.add(look)
            self.board.add(sitter)
            seats[member.name] = name
            found = self.seat(rest, seats, (kind, index))
            self.board.remove(sitter)
            if found:
                return True
            del seats[member.name]
        return False

    def look(self, name: str) -> object:
        """Nodes that look the same are interchangeable: their names and host labels matter to no rule."""
        node = self.board.nodes[name]
        return (
            tuple(sorted((k, v) for k, v in node.labels.items() if k != HOST)),
            tuple(sorted(self.board.free[name].items())),
            node.taints,
            node.spare,
            node.capacity,
            tuple(s.member.name + s.gang.key for s in self.board.at[name]) if self.neighbours_matter else (),
        )


def keeps_capacity_rules(gang: Gang, nodes: Mapping[str, Node], staying: Iterable[str], new: Iterable[str]) -> bool:
    """Whether the new seats keep what the gang says about spot capacity. Seats from before may break it already."""
    before = [nodes[name].capacity for name in staying if name in nodes]
    added = [nodes[name].capacity for name in new]
    if gang.one_capacity_kind and len({*before, *added}) > max(1, len(set(before))):
        return False
    on_spot = before.count(Capacity.SPOT) + added.count(Capacity.SPOT)
    return gang.max_spot_members is None or Capacity.SPOT not in added or on_spot <= gang.max_spot_members


def _joins(board: Placement, gang: Gang, island: Island, node: Node) -> bool:
    """Whether `node` is in the domain where the island's members already sit (or, for the first, in any domain)."""
    if island.topology is None or not island.topology.binding:
        return True
    key = island.topology.key
    if key not in node.labels:
        return False
    mine = (s for s in board.sitters() if s.gang.key == gang.key and s.island.name == island.name)
    return all(board.nodes[s.node].labels.get(key) == node.labels[key] for s in mine)


# Is a whole snapshot in order


def overfull(board: Placement) -> list[str]:
    return [
        f"{name}: {resource} is over-committed by {-left}"
        for name in board.nodes
        for resource, left in sorted(board.free[name].items())
        if left < 0
    ]


def conflicts(board: Placement) -> list[str]:
    """Pairs of pods that may not sit as they do: shared exclusive domains, anti-affinity, host ports."""
    found: list[str] = []
    for (key, value), there in sorted(board.in_domain.items()):
        for one, other in itertools.permutations(there, 2):
            if clash(one, other, key):
                found += [f"{one.member.name} does not bear {other.member.name} in {key}={value}"]
    for name, there in board.at.items():
        for one, other in itertools.combinations(there, 2):
            if ports_clash(one.member, other.member):
                found += [f"{one.member.name} and {other.member.name} want one host port of {name}"]
    return found


def scattered(gang: Gang, nodes: Mapping[str, Node]) -> list[str]:
    """Islands that are bound to one domain and do not sit in one."""
    found: list[str] = []
    for island in gang.islands:
        if island.topology is not None and island.topology.binding:
            key = island.topology.key
            where = {nodes[m.node].labels.get(key) if m.node in nodes else None for m in island.members if m.node}
            if len(where) > 1:
                found.append(f"{gang.key}: island {island.name} sits in {sorted(map(str, where))}")
    return found
