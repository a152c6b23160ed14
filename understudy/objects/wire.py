"""Pods, nodes and leases off the wire: many at once, in one pass over their text, what is alike among them kept once.

Of 100,000 pods most were made from a few templates. What pods of one template share is not decoded for each of them:
its text is passed over, and looked up among the texts that were understood before.
"""

import gc
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from copy import copy
from operator import attrgetter
from sys import intern
from typing import Any, Generic, TypeVar

import msgspec

from understudy.objects.checks import check
from understudy.objects.meta import KubeObject, ObjectMeta, OwnerReference, Part
from understudy.objects.nodes import Lease, LeaseSpec, Node, NodeSpec, NodeStatus, NodeTaint
from understudy.objects.pods import (
    NO_RESOURCES,
    Affinity,
    Container,
    Pod,
    PodSpec,
    PodToleration,
    Port,
    Quantity,
    Resources,
    Volume,
    is_of_daemon_set,
)
from understudy.objects.resources import LEASES, NODES, PODS, Resource

MOST_TEXTS = 20_000  # kept of each sort; whoever has more kinds of objects than that begins anew

Made = TypeVar("Made")
Raw = msgspec.Raw
NOTHING = Raw()
force = msgspec.structs.force_setattr


def _once(kind: Any, tidied: Callable[[Any], Made] | None = None) -> Callable[[Raw], Made]:
    """What a text means; one that was read before is not read again."""
    decode = msgspec.json.Decoder(kind).decode
    known: dict[bytes, Made] = {}

    def meaning(raw: Raw) -> Made:
        text = bytes(raw)
        found = known.get(text)
        if found is None:
            decoded = decode(text)
            found = tidied(decoded) if tidied else decoded
            if len(known) >= MOST_TEXTS:
                known.clear()
            known[text] = found
        return found

    return meaning


def _interned(words: dict[str, str]) -> dict[str, str]:
    return {intern(key): intern(value) for key, value in words.items()}


_words: Callable[[Raw], dict[str, str]] = _once(dict[str, str], _interned)
_owners: Callable[[Raw], tuple[OwnerReference, ...]] = _once(tuple[OwnerReference, ...])
_resources = msgspec.json.Decoder(Resources).decode
_ports = msgspec.json.Decoder(tuple[Port, ...]).decode
_tolerations = msgspec.json.Decoder(tuple[PodToleration, ...]).decode
_affinity = msgspec.json.Decoder(Affinity).decode
_volumes = msgspec.json.Decoder(tuple[Volume, ...]).decode
_amounts = msgspec.json.Decoder(dict[str, Quantity]).decode
_NODE_PARTS = (msgspec.json.Decoder(tuple[NodeTaint, ...]).decode, _amounts, _amounts)


# Each of these has the fields of the struct it is derived from, with those left as text that objects have in common.


class WireMeta(ObjectMeta, frozen=True, gc=False):
    labels: Raw = NOTHING  # type: ignore[assignment]
    annotations: Raw = NOTHING  # type: ignore[assignment]
    owner_references: Raw = NOTHING  # type: ignore[assignment]


class WireContainer(Container, frozen=True, gc=False):
    resources: Raw = NOTHING  # type: ignore[assignment]
    ports: Raw = NOTHING  # type: ignore[assignment]


class WireSpec(PodSpec, frozen=True, gc=False):
    containers: tuple[WireContainer, ...]
    init_containers: tuple[WireContainer, ...] = ()
    affinity: Raw = NOTHING  # type: ignore[assignment]
    tolerations: Raw = NOTHING  # type: ignore[assignment]
    volumes: Raw = NOTHING  # type: ignore[assignment]


class WirePod(Pod, frozen=True, gc=False, kw_only=True):
    kind: str = "Pod"
    api_version: str = "v1"
    metadata: WireMeta
    spec: WireSpec


class WireNodeSpec(NodeSpec, frozen=True, gc=False):
    taints: Raw = NOTHING  # type: ignore[assignment]


class WireNodeStatus(NodeStatus, frozen=True, gc=False):
    allocatable: Raw = NOTHING  # type: ignore[assignment]
    capacity: Raw = NOTHING  # type: ignore[assignment]


class WireNode(Node, frozen=True, gc=False, kw_only=True):
    kind: str = "Node"
    api_version: str = "v1"
    metadata: WireMeta
    spec: WireNodeSpec = WireNodeSpec()
    status: WireNodeStatus = WireNodeStatus()


class LeaseMeta(Part, frozen=True, gc=False):
    """Of a lease, nobody reads more: there is one for every node, and it is renewed every few seconds."""

    name: str
    namespace: str = "default"
    uid: str = ""
    resource_version: str = ""


class WireLease(Part, frozen=True, gc=False):
    metadata: LeaseMeta
    spec: LeaseSpec = LeaseSpec()


class _Rebuilt(Generic[Made]):
    """The fields of a wire struct as the struct that it is derived from."""

    def __init__(self, struct: type[Made]) -> None:
        fields = struct.__struct_fields__  # type: ignore[attr-defined]
        self._struct = struct
        self._all_of = attrgetter(*fields)

    def __call__(self, wire: object) -> Made:
        return self._struct(*self._all_of(wire))


_pod_spec, _container = _Rebuilt(PodSpec), _Rebuilt(Container)
_node_spec, _node_status = _Rebuilt(NodeSpec), _Rebuilt(NodeStatus)
_rest_of_container = attrgetter(*(f for f in Container.__struct_fields__ if f not in WireContainer.__annotations__))
_rest_of_spec = attrgetter(*(f for f in PodSpec.__struct_fields__ if f not in ("node_name", *WireSpec.__annotations__)))
_alike: dict[Hashable, tuple[tuple[Any, ...], PodSpec]] = {}  # a sound spec of each sort, with what is short about it
_alike_nodes: dict[tuple[bytes, ...], tuple[Any, ...]] = {}


def pod_of(wire: WirePod) -> Pod:
    metadata, seat = _metadata_of(wire.metadata), wire.spec
    affinity, volumes = bytes(seat.affinity), bytes(seat.volumes)
    if affinity and seat.node_name and is_of_daemon_set(metadata) and b'"podA' not in affinity:
        affinity = b""
    key = (
        _key(seat.containers),
        seat.init_containers and _key(seat.init_containers),
        bytes(seat.tolerations),
        affinity,
    )
    rest = _rest_of_spec(seat)
    alike = _alike.get(key)
    force(wire.status, "phase", intern(wire.status.phase))
    if alike is None or alike[0] != rest or b'"persistentVolumeClaim"' in volumes or b'"ephemeral"' in volumes:
        spelled = _spelled_out(seat, affinity)
        pod = check(Pod(kind="Pod", api_version="v1", metadata=metadata, spec=spelled, status=wire.status))
        return _noted(pod, key, rest)
    spec = copy(alike[1])
    force(spec, "node_name", seat.node_name)
    return Pod(kind="Pod", api_version="v1", metadata=metadata, spec=spec, status=wire.status)


def _noted(pod: Pod, key: Hashable, rest: tuple[Any, ...]) -> Pod:
    if len(_alike) >= MOST_TEXTS:
        _alike.clear()
    if not pod.spec.volumes:
        _alike[key] = rest, pod.spec
    return pod


def _spelled_out(spec: WireSpec, affinity: bytes) -> PodSpec:
    def spelled(container: WireContainer) -> Container:
        force(container, "resources", _resources(container.resources) if container.resources else NO_RESOURCES)
        force(container, "ports", _ports(container.ports) if container.ports else ())
        return _container(container)

    force(spec, "containers", tuple([spelled(container) for container in spec.containers]))
    force(spec, "init_containers", tuple([spelled(container) for container in spec.init_containers]))
    force(spec, "tolerations", _tolerations(spec.tolerations) if spec.tolerations else ())
    force(spec, "affinity", _affinity(affinity) if affinity else None)
    force(spec, "volumes", _volumes(spec.volumes) if spec.volumes else ())
    for name in ("scheduler_name", "priority_class_name", "preemption_policy"):
        force(spec, name, intern(getattr(spec, name)))
    return _pod_spec(spec)


def _key(containers: tuple[WireContainer, ...]) -> Hashable:
    return tuple([(_rest_of_container(c), bytes(c.resources), bytes(c.ports)) for c in containers])


def node_of(wire: WireNode) -> Node:
    spec, status = wire.spec, wire.status
    key = (bytes(spec.taints), bytes(status.allocatable), bytes(status.capacity))
    alike = _alike_nodes.get(key)
    known = alike or tuple([decode(text) if text else None for decode, text in zip(_NODE_PARTS, key, strict=True)])
    force(spec, "taints", known[0] or ())
    force(status, "allocatable", known[1] or {})
    force(status, "capacity", known[2] or {})
    for condition in status.conditions:
        for name in ("type", "status", "reason", "message"):
            force(condition, name, intern(getattr(condition, name)))
    metadata = _metadata_of(wire.metadata)
    node = Node(kind="Node", api_version="v1", metadata=metadata, spec=_node_spec(spec), status=_node_status(status))
    return node if alike is not None else _remembered(check(node), key, known)


def _remembered(node: Node, key: tuple[bytes, ...], parts: tuple[Any, ...]) -> Node:
    if len(_alike_nodes) >= MOST_TEXTS:
        _alike_nodes.clear()
    _alike_nodes[key] = parts
    return node


def lease_of(wire: WireLease) -> Lease:
    meta = wire.metadata
    metadata = ObjectMeta(meta.name, intern(meta.namespace), uid=meta.uid, resource_version=meta.resource_version)
    return Lease(kind="Lease", api_version="coordination.k8s.io/v1", metadata=metadata, spec=wire.spec)


def _metadata_of(wire: WireMeta) -> ObjectMeta:
    if not wire.name:
        raise msgspec.ValidationError("an object of a cluster has a name")
    return ObjectMeta(
        wire.name,
        intern(wire.namespace),
        "",
        _words(wire.labels) if wire.labels else {},
        _words(wire.annotations) if wire.annotations else {},
        wire.creation_timestamp,
        wire.deletion_timestamp,
        wire.deletion_grace_period_seconds,
        _owners(wire.owner_references) if wire.owner_references else (),
        wire.uid,
        wire.resource_version,
    )


class _ListMeta(msgspec.Struct, gc=False):
    revision: str = msgspec.field(name="resourceVersion", default="")
    more: str = msgspec.field(name="continue", default="")


class Page(msgspec.Struct, frozen=True):
    """One page of a list; `more` is where the next one begins."""

    objects: list[KubeObject]
    revision: str
    more: str


@contextmanager
def _uncollected() -> Iterator[None]:
    """Nothing that is made of a text refers back to what refers to it, so there is no garbage to look for meanwhile."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


class WireReader:
    """Reads texts of one kind. What is not as it should be raises BadObject or msgspec.DecodeError for the whole text;
    `decode_json`, for one object at a time, then says what is wrong with which."""

    def __init__(self, wire: type, made: Callable[[Any], KubeObject]) -> None:
        page = msgspec.defstruct("WirePage", [("metadata", _ListMeta), ("items", list[wire] | None, None)])  # type: ignore[valid-type]
        line = msgspec.defstruct("WireLine", [("type", str), ("object", wire)])
        self._page = msgspec.json.Decoder(page).decode
        self._line = msgspec.json.Decoder(line).decode
        self._made = made

    def page(self, text: bytes) -> Page:
        with _uncollected():
            page: Any = self._page(text)
            return Page([*map(self._made, page.items or ())], page.metadata.revision, page.metadata.more)

    def line(self, text: bytes) -> tuple[str, KubeObject]:
        """One event of a watch: what happened, and to whom."""
        line: Any = self._line(text)
        return line.type, self._made(line.object)


READERS: dict[Resource, WireReader] = {
    PODS: WireReader(WirePod, pod_of),
    NODES: WireReader(WireNode, node_of),
    LEASES: WireReader(WireLease, lease_of),
}
