"""Small random clusters in every state a planner can meet: turns rolls of a die into nodes, gangs and budgets.

The same generator serves Hypothesis (which shrinks the rolls) and plain seeds. Every cluster is a valid state:
running gangs were seated by the rules, and nodes became unhealthy only afterwards.
"""

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec
from hypothesis import strategies as st

from tests.decide import reference_rules
from understudy.decide.policy import Policy
from understudy.model.gangs import (
    Gang,
    HostPort,
    Island,
    Member,
    OnPreemption,
    PodTerm,
    Shape,
    Suspension,
    Topology,
    TopologyMode,
)
from understudy.model.nodes import (
    NO_SCHEDULE,
    Capacity,
    CapacityPolicy,
    Health,
    Node,
    SpareRole,
    Taint,
    Toleration,
    Verdict,
)
from understudy.model.selectors import NodeTerm, Requirement, Selector
from understudy.model.snapshot import Budget, Snapshot

Roll = Callable[[int, int], int]  # both ends included; the low end is the plainer world
T = TypeVar("T")

GPU, CPU, RDMA = "nvidia.com/gpu", "cpu", "example.com/rdma"
SLICE, RACK, TIER = "example.com/slice", "example.com/rack", "example.com/tier"
NOW = 10_000.0
PRIORITIES = (0, 10, 20, 30)
SUSPENSIONS = (Suspension.REQUEUED, Suspension.BY_OWNER)


class ClusterOptions(msgspec.Struct, frozen=True):
    """How often, in percent, the less plain things happen."""

    domains: int = 4
    nodes_in_domain: int = 3
    running: int = 4
    waiting: int = 3
    sick: int = 12  # of each node
    odd_nodes: int = 8  # taints, cordons, spares, failures: each, of each node
    topology: int = 55
    elastic: int = 25
    picky: int = 20  # selectors, anti-affinity, host ports
    young: int = 20
    never_preempts: int = 15
    foreign: int = 10  # not managed, infrastructure
    holds: int = 15
    guards: int = 8
    asleep: int = 8  # suspended or gated
    full: bool = False  # as many running gangs as can be, and one that waits
    leaving: int = 10
    islands: tuple[int, ...] = (1, 1, 1, 2, 3)
    members: tuple[int, ...] = (1, 2, 1, 2, 3, 4)
    homes: int = 30  # waiting gangs that remember where they sat
    fails: int = 10  # gangs that end when preempted
    spot: int = 0  # of each domain to be spot, of each node to differ from its domain, and of gangs to have rules


class Cluster(msgspec.Struct, frozen=True):
    nodes: tuple[Node, ...]
    gangs: tuple[Gang, ...]
    budgets: tuple[Budget, ...] = ()
    policy: Policy = Policy()
    now: float = NOW

    def snapshot(self) -> Snapshot:
        return Snapshot.of(self.nodes, self.gangs, self.budgets)


def seeded(seed: int, options: ClusterOptions) -> Cluster:
    return cluster(random.Random(seed).randint, options)


@st.composite
def clusters(draw: st.DrawFn, options: ClusterOptions = ClusterOptions()) -> Cluster:  # noqa: B008
    return cluster(lambda low, high: draw(st.integers(low, high)), options)


def chance(roll: Roll, percent: int) -> bool:
    return percent > 0 and roll(0, 99) >= 100 - percent


def one_of(roll: Roll, options: Sequence[T]) -> T:
    return options[roll(0, len(options) - 1)]


def cluster(roll: Roll, options: ClusterOptions) -> Cluster:
    policy = Policy(lend_below=one_of(roll, (0, 10, 20)), min_runtime=120.0)
    nodes = [
        node
        for domain in range(max(roll(1, options.domains), roll(1, options.domains)))
        for node in domain_of(roll, domain, options)
    ]
    state = Snapshot.of(nodes, index=(SLICE, RACK))
    state = filled(roll, state, policy, options) if options.full else partly_filled(roll, state, policy, options)
    if chance(roll, options.holds):
        state = with_holds(roll, state, policy)
    ill = tuple(fallen_ill(roll, node, options) for node in nodes)
    budgets = tuple(budget_of(roll, number) for number in range(roll(0, 2)))
    return Cluster(ill, tuple(state.gangs[key] for key in sorted(state.gangs)), budgets, policy)


def partly_filled(roll: Roll, state: Snapshot, policy: Policy, options: ClusterOptions) -> Snapshot:
    """Some gangs that run, where the rules let them, and some that wait."""
    for number in range(roll(0, options.running)):
        gang = gang_of(roll, f"run{number}", options, PRIORITIES)
        state = state.updated(gangs=[seated_somewhere(roll, state, gang, policy, options)])
    for number in range(roll(0, options.waiting)):
        gang = gang_of(roll, f"wait{number}", options, PRIORITIES)
        state = state.updated(gangs=[homesick(roll, gang, state) if chance(roll, options.homes) else gang])
    return state


def filled(roll: Roll, state: Snapshot, policy: Policy, options: ClusterOptions) -> Snapshot:
    """Running gangs wherever there is room for one, and important gangs that wait."""
    for number in range(2 * options.running):
        gang = seated_somewhere(roll, state, gang_of(roll, f"run{number}", options, PRIORITIES[:-1]), policy, options)
        if gang.seated() and len(state.gangs) < options.running:
            state = state.updated(gangs=[gang])
    for number in range(options.waiting):
        state = state.updated(gangs=[gang_of(roll, f"wait{number}", options, PRIORITIES[2:])])
    return state


# Nodes


def domain_of(roll: Roll, domain: int, options: ClusterOptions) -> list[Node]:
    """The nodes of a domain are mostly of one kind of capacity."""
    nodes = [node_of(roll, domain, index, options) for index in range(roll(1, options.nodes_in_domain))]
    is_spot = chance(roll, options.spot)
    return [
        msgspec.structs.replace(n, capacity=Capacity.SPOT) if is_spot is not chance(roll, options.spot // 3) else n
        for n in nodes
    ]


def node_of(roll: Roll, domain: int, index: int, options: ClusterOptions) -> Node:
    name = f"n{domain}-{index}"
    labels = {reference_rules.HOST: name, SLICE: f"s{domain}", RACK: f"r{domain // 2}", TIER: one_of(roll, ("a", "b"))}
    if chance(roll, options.odd_nodes // 2):
        del labels[SLICE]
    offers = {GPU: one_of(roll, (2, 4, 1))}
    if chance(roll, 80):
        offers[CPU] = one_of(roll, (8000, 4000))
    if chance(roll, 30):
        offers[RDMA] = 1
    taints = (Taint("dedicated", NO_SCHEDULE, "x"),) if chance(roll, options.odd_nodes) else ()
    spare = one_of(roll, (SpareRole.KEPT, SpareRole.LENDABLE)) if chance(roll, options.odd_nodes) else SpareRole.NONE
    failures = (NOW - 50.0,) * one_of(roll, (1, 3)) if chance(roll, options.odd_nodes) else ()
    return Node(name, labels, offers, taints, spare=spare, failures=failures)


def fallen_ill(roll: Roll, node: Node, options: ClusterOptions) -> Node:
    if chance(roll, options.odd_nodes):
        return msgspec.structs.replace(node, unschedulable=True)
    if not chance(roll, options.sick):
        return node
    verdict = one_of(roll, (Verdict.LOST, Verdict.SUSPECT, Verdict.LEAVING))
    deadline = NOW + 300.0 if verdict is Verdict.LEAVING else None
    return msgspec.structs.replace(node, health=Health(verdict, "by chance", NOW - 5.0, deadline))


# Gangs


def gang_of(roll: Roll, name: str, options: ClusterOptions, priorities: Sequence[int]) -> Gang:
    """A gang that waits."""
    shape = shape_of(roll, name, options)
    topology = topology_of(roll, options)
    islands = tuple(
        Island(f"i{i}", tuple(member_of(name, i, m, shape) for m in range(one_of(roll, options.members))), topology)
        for i in range(one_of(roll, options.islands))
    )
    size = sum(len(island.members) for island in islands)
    if chance(roll, options.spot // 2):
        islands = with_first_member_off_spot(islands)
    started = NOW - (50.0 if chance(roll, options.young) else roll(200, 5000))
    return Gang(
        key=f"Job/default/{name}",
        kind="Job",
        namespace="default",
        name=name,
        islands=islands,
        priority=one_of(roll, priorities),
        queued_at=float(roll(0, 3)),
        min_members=roll(1, size) if chance(roll, options.elastic) else None,
        preempts=not chance(roll, options.never_preempts),
        suspension=one_of(roll, SUSPENSIONS) if chance(roll, options.asleep) else Suspension.NONE,
        gates=("example.com/quota",) if chance(roll, options.asleep // 2) else (),
        on_preemption=OnPreemption.FAIL if chance(roll, options.fails) else OnPreemption.REQUEUE,
        started_at=started,
        checkpoint_at=started + 40.0 if chance(roll, 40) else None,
        preempted_for_it=(NOW - 60.0,) * 16 if chance(roll, options.guards) else (),
        failures=(NOW - 3.0,) * 2 if chance(roll, options.guards) else (),
        max_spot_members=roll(0, size - 1) if chance(roll, options.spot) else None,
        one_capacity_kind=chance(roll, options.spot // 2),
    )


def with_first_member_off_spot(islands: tuple[Island, ...]) -> tuple[Island, ...]:
    first, *rest = islands[0].members
    shape = msgspec.structs.replace(first.shape, capacity=CapacityPolicy.ON_DEMAND)
    changed = (msgspec.structs.replace(first, shape=shape), *rest)
    return (msgspec.structs.replace(islands[0], members=changed), *islands[1:])


def member_of(gang: str, island: int, number: int, shape: Shape) -> Member:
    return Member(f"{gang}-{island}-{number}", shape, {"gang": gang, "team": "ab"[number % 2]})


def topology_of(roll: Roll, options: ClusterOptions) -> Topology | None:
    if not chance(roll, options.topology):
        return None
    mode = one_of(roll, (TopologyMode.EXCLUSIVE, TopologyMode.REQUIRED, TopologyMode.PREFERRED))
    return Topology(one_of(roll, (SLICE, SLICE, RACK)), mode)


def shape_of(roll: Roll, name: str, options: ClusterOptions) -> Shape:
    gpus = one_of(roll, (1, 2, 1, 0))
    requests = {GPU: gpus, CPU: one_of(roll, (0, 1000, 0, 3000)), RDMA: int(chance(roll, 10))}
    terms: tuple[PodTerm, ...] = ()
    if chance(roll, options.picky):
        values = one_of(roll, ((name,), ("run0", "run1", name)))
        apart = Selector((Requirement("gang", "In", values),))
        terms = (PodTerm(one_of(roll, (reference_rules.HOST, SLICE)), apart, ("default",)),)
    return Shape(
        requests=tuple(sorted((key, amount) for key, amount in requests.items() if amount)),
        accelerators=gpus,
        selector=((TIER, "a"),) if chance(roll, options.picky) else (),
        required=(NodeTerm((Requirement(RACK, "NotIn", ("r1",)),)),) if chance(roll, options.picky // 2) else (),
        tolerations=(Toleration("dedicated", "Exists"),) if chance(roll, 30) else (),
        anti_affinity=terms,
        host_ports=(HostPort(one_of(roll, (80, 81))),) if chance(roll, options.picky // 2) else (),
        capacity=one_of(roll, tuple(CapacityPolicy)) if chance(roll, options.spot // 2) else CapacityPolicy.ANY,
    )


def budget_of(roll: Roll, number: int) -> Budget:
    selector = Selector((Requirement("team", "In", one_of(roll, (("a",), ("b",), ("a", "b")))),))
    return Budget(f"budget{number}", "default", selector, roll(0, 4))


# Seats


def homesick(roll: Roll, gang: Gang, state: Snapshot) -> Gang:
    """The gang as one that ran before: each member remembers a node, not always one that is still there."""
    names = [*sorted(state.nodes), "gone"]
    return gang.reseated({m.name: one_of(roll, names) for m in gang.members()}).reseated(
        dict.fromkeys((m.name for m in gang.members()), "")
    )


def seated_somewhere(roll: Roll, state: Snapshot, gang: Gang, policy: Policy, options: ClusterOptions) -> Gang:
    """The gang running: whole, elastic ones at times with less. Where the rules allow it no seats, it waits."""
    count = roll(gang.minimum, gang.size) if not _islands_bind(gang) else gang.size
    names = [m.name for m in gang.members()][:count]
    seats = seats_for(roll, state, gang, names, policy)
    if seats is None:
        return gang
    awake = msgspec.structs.replace(gang, suspension=Suspension.NONE, gates=())
    running = awake.reseated(seats)
    if chance(roll, options.leaving) and not gang.elastic:
        return gone_tomorrow(running)
    if chance(roll, options.foreign):
        mine = {"infrastructure": True} if _plain(gang) else {"managed": False}
        return msgspec.structs.replace(running, **mine)
    return running


def seats_for(
    roll: Roll, state: Snapshot, gang: Gang, names: Sequence[str], policy: Policy, with_leaving: bool = True
) -> dict[str, str] | None:
    """Seats by the rules, starting to look at any node."""
    board = reference_rules.board_of(state, with_leaving)
    start = roll(0, len(board.nodes) - 1)
    order = [*board.nodes][start:] + [*board.nodes][:start]
    board = reference_rules.Placement({name: board.nodes[name] for name in order}, board.sitters())
    return reference_rules.placement(
        board, gang, names, lambda m, n: reference_rules.may_ever_sit(gang, m, n, policy, NOW)
    )


def gone_tomorrow(gang: Gang) -> Gang:
    """A gang that was told to go: its pods still fill their seats, and it waits for new ones."""
    going = tuple(m for m in gang.seated())
    return msgspec.structs.replace(gang.reseated(dict.fromkeys((m.name for m in going), "")), leaving=going)


def with_holds(roll: Roll, state: Snapshot, policy: Policy) -> Snapshot:
    """One waiting gang holds the seats that those who are leaving will free."""
    for key in sorted(state.gangs):
        gang = state.gangs[key]
        if not gang.name.startswith("wait") or gang.suspension or gang.gates:
            continue
        seats = seats_for(roll, state, gang, [m.name for m in gang.members()], policy, with_leaving=False)
        if seats is not None:
            return state.updated(gangs=[msgspec.structs.replace(gang, holds=tuple(sorted(seats.items())))])
    return state


def _islands_bind(gang: Gang) -> bool:
    return any(island.topology is not None and island.topology.binding for island in gang.islands)


def _plain(gang: Gang) -> bool:
    return not _islands_bind(gang)
