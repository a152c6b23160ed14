"""Whether a node can take a pod, by Kubernetes' rules: turns a Shape and a Node into None (yes) or the reason not.

A rule about the node alone is a function in NODE_FILTERS. Rules about pods on other nodes are in pod_affinity.
"""

from collections.abc import Callable, Iterable, Mapping

from understudy.model.gangs import HostPort, Shape
from understudy.model.nodes import (
    NO_EXECUTE,
    NO_SCHEDULE,
    PREFER_NO_SCHEDULE,
    Capacity,
    CapacityPolicy,
    Node,
    Taint,
    Verdict,
)
from understudy.model.quantity import format_quantity
from understudy.model.selectors import NodeTerm

NodeFilter = Callable[[Shape, Node], str | None]

_CORDON = Taint("node.kubernetes.io/unschedulable", NO_SCHEDULE)


def supported(shape: Shape, _node: Node) -> str | None:
    return "; ".join(shape.unsupported) or None


def healthy(_shape: Shape, node: Node) -> str | None:
    if node.health.verdict is Verdict.HEALTHY:
        return None
    return f"is {node.health.verdict}" + (f" ({node.health.cause})" if node.health.cause else "")


def open_for_seats(shape: Shape, node: Node) -> str | None:
    if not node.unschedulable or any(t.tolerates(_CORDON) for t in shape.tolerations):
        return None
    return "is cordoned"


def tolerated(shape: Shape, node: Node) -> str | None:
    for taint in node.taints:
        if taint.effect in (NO_SCHEDULE, NO_EXECUTE) and not any(t.tolerates(taint) for t in shape.tolerations):
            return f"taint {taint} is not tolerated"
    return None


def selected(shape: Shape, node: Node) -> str | None:
    for key, value in shape.selector:
        if node.labels.get(key) != value:
            return f"label {key}={value} is asked for"
    return None


def affine(shape: Shape, node: Node) -> str | None:
    if not shape.required or _any_term(shape.required, node):
        return None
    return f"node affinity asks for {' or '.join(map(str, shape.required))}"


def reaches_volumes(shape: Shape, node: Node) -> str | None:
    for terms in shape.volumes:
        if not _any_term(terms, node):
            return f"a volume can only be reached where {' or '.join(map(str, terms))}"
    return None


def of_wanted_capacity(shape: Shape, node: Node) -> str | None:
    if shape.capacity is CapacityPolicy.ANY:
        return None
    if shape.capacity is CapacityPolicy.ON_DEMAND and node.capacity is Capacity.SPOT:
        return "is spot; it asks for on-demand capacity"
    if shape.capacity is CapacityPolicy.SPOT and node.capacity is Capacity.ON_DEMAND:
        return "is on-demand; it asks for spot capacity"
    return None


NODE_FILTERS: tuple[NodeFilter, ...] = (
    supported,
    healthy,
    open_for_seats,
    of_wanted_capacity,
    selected,
    affine,
    tolerated,
    reaches_volumes,
)


def refusal(shape: Shape, node: Node) -> str | None:
    """The first reason this node cannot take the shape however empty it is."""
    for node_filter in NODE_FILTERS:
        if (why := node_filter(shape, node)) is not None:
            return why
    return None


def capacity(shape: Shape, free: Mapping[str, int], limit: int) -> int:
    """How many pods of this shape fit into the free resources, at most `limit`."""
    for name, amount in shape.requests:
        if amount * limit > (there := free.get(name, 0)):
            limit = there // amount
            if limit <= 0:
                return 0
    return limit


def exceeds_all(counts: Iterable[tuple[Shape, int]], nodes: Iterable[Mapping[str, int]]) -> bool:
    """Whether so many pods of these shapes request more of a resource than all nodes have together, however empty."""
    lacking: dict[str, int] = {}
    for shape, count in counts:
        for name, amount in shape.requests:
            lacking[name] = lacking.get(name, 0) + amount * count
    for allocatable in nodes:
        lacking = {name: left for name, amount in lacking.items() if (left := amount - allocatable.get(name, 0)) > 0}
        if not lacking:
            return False
    return bool(lacking)


def shortage(shape: Shape, free: Mapping[str, int], node: Node) -> str | None:
    """The first resource that is missing, in words."""
    for name, amount in sorted(shape.requests, key=_scarcest_first):
        if amount > free.get(name, 0):
            return _what_is_missing(name, amount, max(0, free.get(name, 0)), node.allocatable.get(name, 0))
    return None


def _what_is_missing(name: str, amount: int, free: int, total: int) -> str:
    """Free amounts are told of countable devices only: those of CPU and memory differ from node to node."""
    if not total:
        return f"has no {name}"
    if amount > total:
        return f"has only {format_quantity(total, name)} {name}"
    if "/" in name:
        return f"has {free} of {total} {name} free"
    return f"has too little {name} free"


def ports_clash(shape: Shape, taken: Iterable[HostPort]) -> bool:
    return any(port.clashes(other) for other in taken for port in shape.host_ports)


def soft_taints(shape: Shape, node: Node) -> int:
    """The number of PreferNoSchedule taints that the shape does not tolerate."""
    return sum(
        1
        for taint in node.taints
        if taint.effect == PREFER_NO_SCHEDULE and not any(t.tolerates(taint) for t in shape.tolerations)
    )


def preference(shape: Shape, node: Node) -> int:
    """The summed weight of the preferred node affinity terms that this node meets."""
    return sum(weight for weight, term in shape.preferred if term.matches(node.name, node.labels))


def _any_term(terms: Iterable[NodeTerm], node: Node) -> bool:
    return any(term.matches(node.name, node.labels) for term in terms)


def _scarcest_first(request: tuple[str, int]) -> tuple[bool, str]:
    return ("/" not in request[0], request[0])
