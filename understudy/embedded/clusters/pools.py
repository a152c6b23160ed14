"""Pools of virtual nodes in a cluster file, and their validation."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, get_args

import msgspec

from understudy.model.quantity import parse_quantity
from understudy.node_agent.notices.metadata_server import BadAddress, MetadataServer
from understudy.node_agent.notices.sources import CLOUDS

MOST_NODES = 10_000
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_DNS_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*")
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")


class BadPool(Exception):
    """One field of one pool is wrong; the message says how to correct it."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class Topology(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nodes in groups of `size` share a value of the label `key`: a slice, a rack, an NVLink block."""

    key: str
    size: int
    names: tuple[str, ...] = ()  # the values; none: `<pool>-0`, `<pool>-1`, ...


class Taint(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    key: str
    effect: str
    value: str = ""


class Notices(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whose notices the agent follows for the nodes of a pool."""

    source: str
    endpoint: str = ""  # of another metadata server than the cloud's own, such as a stand-in


SpotCloud = Literal["azure", "gke", "aws", "karpenter"]
SPOT_CLOUDS: tuple[SpotCloud, ...] = get_args(SpotCloud)


class Spot(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Spot nodes as a cloud marks them; whether they have its taint too, where that is a choice."""

    cloud: SpotCloud
    taint: bool | None = None  # None: as the cloud does by itself


class Pool(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    name: str
    count: int | None = None  # else as many as there are names, else one
    cpu: str | int | float = ""  # empty: as much as this machine has
    memory: str | int = ""
    pods: int = 110
    accelerators: Mapping[str, int] = {}
    instance_type: str = ""
    labels: Mapping[str, str] = {}
    taints: tuple[Taint | str, ...] = ()
    topology: Topology | None = None
    spot: bool | SpotCloud | Spot = False
    notices: Notices | None = None
    spare: bool | Literal["keep"] = False
    role: str = ""
    names: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return self.count if self.count is not None else max(len(self.names), 1)


def check_pools(pools: Iterable[Pool]) -> None:
    """Raises BadPool for the first invalid field."""
    seen: set[str] = set()
    nodes = 0
    for index, pool in enumerate(pools):
        for field, problem in _problems(pool):
            raise BadPool(f"pools[{index}].{field}", problem)
        if pool.name in seen:
            raise BadPool(f"pools[{index}].name", f"{pool.name} is taken by another pool; give it another name")
        seen.add(pool.name)
        nodes += pool.size
    if not seen:
        raise BadPool("pools", "there is none; give at least one, such as `pools: [{name: node, count: 3}]`")
    if nodes > MOST_NODES:
        raise BadPool("pools", f"{nodes} nodes; {MOST_NODES} at most")


def parse_taint(taint: Taint | str) -> Taint:
    """`key=value:Effect` and `key:Effect`, as kubectl writes them."""
    if isinstance(taint, Taint):
        return taint
    left, _, effect = taint.rpartition(":")
    key, _, value = left.partition("=")
    return Taint(key, effect, value)


def is_dns_name(name: str) -> bool:
    return len(name) <= 253 and _DNS_NAME.fullmatch(name) is not None


def is_label_key(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    return _LABEL.fullmatch(name) is not None and (not slash or is_dns_name(prefix))


def is_label_value(value: str) -> bool:
    return not value or _LABEL.fullmatch(value) is not None


def _problems(pool: Pool) -> Iterator[tuple[str, str]]:
    if "." in pool.name or not is_dns_name(pool.name) or len(pool.name) > 40:
        yield "name", f"{pool.name!r} is no name; use lower-case letters, digits and dashes, 40 at most"
    yield from _wrong_sizes(pool)
    yield from _wrong_labels(pool)
    yield from _wrong_taints(pool)
    if pool.topology is not None:
        yield from _wrong_topology(pool, pool.topology)
    if pool.notices is not None:
        yield from _wrong_notices(pool.notices)
    yield from _wrong_names(pool)


def _wrong_sizes(pool: Pool) -> Iterator[tuple[str, str]]:
    if pool.size < 1:
        yield "count", f"{pool.count} nodes are none; leave the pool out instead"
    if pool.size > MOST_NODES:
        yield "count", f"{pool.count} nodes; {MOST_NODES} at most"
    for field, amount in (("cpu", pool.cpu), ("memory", pool.memory)):
        if amount != "" and not _is_positive(amount):
            example = "8 or 7500m" if field == "cpu" else "64Gi"
            yield field, f"{amount!r} is no amount; write {example}"
    if pool.pods < 1:
        yield "pods", f"a node that takes {pool.pods} pods takes none; write 110"
    for name, amount in pool.accelerators.items():
        if "/" not in name or not is_label_key(name):
            yield f"accelerators.{name}", "no name of a resource; write DOMAIN/NAME, such as nvidia.com/gpu"
        if amount < 1:
            yield f"accelerators.{name}", f"{amount} of them are none; leave it out instead"


def _is_positive(amount: str | int | float) -> bool:
    try:
        return parse_quantity(amount, "cpu") > 0
    except ValueError:
        return False


def _wrong_labels(pool: Pool) -> Iterator[tuple[str, str]]:
    for key, value in pool.labels.items():
        if not is_label_key(key):
            yield f"labels.{key}", "no name of a label; write NAME or DOMAIN/NAME"
        if not is_label_value(value):
            yield f"labels.{key}", f"{value!r} is no value of a label; use letters, digits, - _ . and 63 at most"
    if pool.instance_type and not is_label_value(pool.instance_type):
        yield "instanceType", f"{pool.instance_type!r} is no value of a label"
    if pool.role and not is_label_value(pool.role):
        yield "role", f"{pool.role!r} is no role; write a word such as master"


def _wrong_taints(pool: Pool) -> Iterator[tuple[str, str]]:
    for index, given in enumerate(pool.taints):
        taint = parse_taint(given)
        if taint.effect not in EFFECTS or not is_label_key(taint.key) or not is_label_value(taint.value):
            yield f"taints[{index}]", f"write KEY=VALUE:EFFECT with an effect of {', '.join(EFFECTS)}"


def _wrong_topology(pool: Pool, topology: Topology) -> Iterator[tuple[str, str]]:
    if not is_label_key(topology.key):
        yield "topology.key", f"{topology.key!r} is no name of a label; write one such as cloud.google.com/gke-nodepool"
    if topology.size < 1:
        yield "topology.size", f"{topology.size} nodes are no domain; write how many nodes each has"
        return
    domains, left = divmod(pool.size, topology.size)
    if left:
        yield "topology.size", f"{pool.size} nodes do not make whole domains of {topology.size}; change one of them"
    elif topology.names and len(topology.names) != domains:
        yield "topology.names", f"{len(topology.names)} names for {domains} domains; give as many, or none"
    if len(set(topology.names)) < len(topology.names):
        yield "topology.names", "one of them stands twice; each domain needs a name of its own"
    for index, name in enumerate(topology.names):
        if not is_dns_name(name) or not is_label_value(name):
            yield f"topology.names[{index}]", f"{name!r} is no name; use lower-case letters, digits and dashes"


def _wrong_notices(notices: Notices) -> Iterator[tuple[str, str]]:
    if notices.source not in CLOUDS:
        yield "notices.source", f"{notices.source!r} is no cloud whose notices are known; write {', '.join(CLOUDS)}"
    if notices.endpoint:
        try:
            MetadataServer(notices.endpoint)
        except BadAddress as error:
            yield "notices.endpoint", str(error)


def _wrong_names(pool: Pool) -> Iterator[tuple[str, str]]:
    for field, given in (("names", pool.names), ("addresses", pool.addresses)):
        if given and len(given) != pool.size:
            yield field, f"{len(given)} of them for {pool.size} nodes; give one a node, or none"
    for index, name in enumerate(pool.names):
        if not is_dns_name(name):
            yield f"names[{index}]", f"{name!r} is no name of a node; use lower-case letters, digits, dashes and dots"
    for index, address in enumerate(pool.addresses):
        if not is_dns_name(address) and ":" not in address:
            yield f"addresses[{index}]", f"{address!r} is no address"
