"""Nodes and gangs with full defaults, so that a test names only what matters."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from understudy.decide.cycle import plan
from understudy.decide.describe import describe
from understudy.decide.policy import Policy
from understudy.model.gangs import Gang, Island, Member, Shape, Topology, TopologyMode
from understudy.model.nodes import Health, Node, SpareRole, Taint, Verdict
from understudy.model.plans import Plan
from understudy.model.snapshot import Budget, Snapshot

GPU = "nvidia.com/gpu"
HOST = "kubernetes.io/hostname"
SLICE = "example.com/slice"
NOW = 100_000.0
LONG_AGO = NOW - 10_000.0


# Nodes


def node(name: str, gpus: int = 8, slice: str = "", labels: Mapping[str, str] | None = None, **rest: Any) -> Node:  # noqa: A002
    place = {SLICE: slice} if slice else {}
    offers = {"cpu": 64_000, "pods": 110, GPU: gpus} if gpus else {"cpu": 64_000, "pods": 110}
    return Node(name, {HOST: name, **place, **(labels or {})}, rest.pop("allocatable", offers), **rest)


def nodes(names: str, **rest: Any) -> list[Node]:
    return [node(name, **rest) for name in names.split()]


def slices(**members: str) -> list[Node]:
    """slices(s0="a b", s1="c d"): four nodes in two slices."""
    return [node(name, slice=value) for value, names in members.items() for name in names.split()]


def lost(node: Node, since: float = NOW - 5.0) -> Node:
    return replace(node, health=Health(Verdict.LOST, "it died", since))


def suspect(node: Node) -> Node:
    return replace(node, health=Health(Verdict.SUSPECT, "it is silent", NOW - 5.0))


def leaving(node: Node, deadline: float = NOW + 300.0) -> Node:
    return replace(node, health=Health(Verdict.LEAVING, "maintenance", NOW - 5.0, deadline))


def spare(node: Node, role: SpareRole = SpareRole.KEPT) -> Node:
    return replace(node, spare=role)


def tainted(node: Node, *taints: Taint) -> Node:
    return replace(node, taints=taints)


# Gangs


def shape(gpus: int = 8, cpu: int = 0, **rest: Any) -> Shape:
    amounts = {GPU: gpus, "cpu": cpu, "pods": 1}
    requests = tuple(sorted((name, amount) for name, amount in amounts.items() if amount))
    return Shape(**{"requests": requests, "accelerators": gpus, **rest})


def queued(name: str, members: int = 1, gpus: int = 8, priority: int = 0, **rest: Any) -> Gang:
    """A gang of alike pods that waits."""
    asks = rest.pop("asks", None) or shape(gpus)
    labels, topology = rest.pop("labels", {"gang": name}), rest.pop("topology", None)
    pods = tuple(Member(f"{name}-{i}", asks, labels) for i in range(members))
    return _gang(name, (Island("i0", pods, topology),), priority, rest)


def running(name: str, on: str, gpus: int = 8, priority: int = 0, **rest: Any) -> Gang:
    """A gang with a pod on each of the nodes named in `on`; a name twice, two pods there."""
    places = on.split()
    gang = queued(name, len(places), gpus, priority, **{"started_at": LONG_AGO, **rest})
    return gang.reseated({f"{name}-{i}": place for i, place in enumerate(places)})


def jobset(name: str, islands: int = 1, members: int = 2, priority: int = 0, on: str = "", **rest: Any) -> Gang:
    """Islands that each want a slice to themselves; `on` seats the members in order."""
    asks, mode = rest.pop("asks", None) or shape(), rest.pop("mode", TopologyMode.EXCLUSIVE)
    parts = tuple(
        Island(
            f"i{i}",
            tuple(Member(f"{name}-{i}-{m}", asks, {"gang": name}) for m in range(members)),
            Topology(SLICE, mode),
        )
        for i in range(islands)
    )
    gang = _gang(name, parts, priority, {**({"started_at": LONG_AGO} if on else {}), **rest})
    names = [m.name for m in gang.members()]
    return gang.reseated(dict(zip(names, on.split(), strict=False)))


def _gang(name: str, islands: tuple[Island, ...], priority: int, rest: dict[str, Any]) -> Gang:
    namespace = rest.pop("namespace", "default")
    key = rest.pop("key", f"Job/{namespace}/{name}")
    return Gang(key, "Job", namespace, name, islands, priority, **rest)


# Clusters and plans


def cluster(*things: Node | Gang | Budget | Iterable[Node]) -> Snapshot:
    flat: list[Node | Gang | Budget] = []
    for thing in things:
        if isinstance(thing, Node | Gang | Budget):
            flat.append(thing)
        else:
            flat.extend(thing)
    return Snapshot.of(
        nodes=[t for t in flat if isinstance(t, Node)],
        gangs=[t for t in flat if isinstance(t, Gang)],
        budgets=[t for t in flat if isinstance(t, Budget)],
    )


def planned(*things: Node | Gang | Budget | Iterable[Node], policy: Policy = Policy()) -> Plan:  # noqa: B008
    return plan(cluster(*things), policy, NOW)


def plan_lines(*things: Node | Gang | Budget | Iterable[Node], policy: Policy = Policy()) -> list[str]:  # noqa: B008
    """The plan in words, with gangs by their bare names."""
    return [describe(action).replace("Job/default/", "") for action in planned(*things, policy=policy).actions]


def seats(made: Plan) -> dict[str, str]:
    """Where the members that get seats in this plan go."""
    found: dict[str, str] = {}
    for action in made.actions:
        found.update(getattr(action, "seats", ()))
        found.update((move.member, move.to_node) for move in getattr(action, "moves", ()))
    return found
