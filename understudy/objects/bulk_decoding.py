"""Decodes pods, nodes and leases of a response: many at once, in one pass over their text; equal parts are kept once.

Of 100,000 pods most were made from a few templates. What pods of one template share is not decoded for each of them:
its text is passed over, and looked up among the texts that were understood before.
"""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import methodcaller
from sys import intern
from typing import Any

import msgspec

from understudy.objects.meta import Condition, KubeObject, ObjectMeta, OwnerReference, Part, Time
from understudy.objects.nodes import Lease, LeaseSpec, Node, NodeInfo, NodeSpec, NodeStatus
from understudy.objects.pods import Affinity, Container, Pod, PodSpec, PodStatus, Volume, is_of_daemon_set
from understudy.objects.resources import LEASES, NODES, PODS, Resource
from understudy.objects.text_cache import MAX_LONG_TEXTS, NOTHING, BoundedCache, Raw, RawStruct, cached_decoder
from understudy.objects.validation import check

Words = dict[str, str]
Saying = tuple[str, str, str, str]
Owners = tuple[tuple[OwnerReference, ...], bool]  # and whether a DaemonSet is the one that counts

BETWEEN = b"\0"  # texts: no JSON has this byte in it
_copied = methodcaller("__copy__")  # without the detours of copy.copy
astuple, force = msgspec.structs.astuple, msgspec.structs.force_setattr


def _interned(words: Words) -> Words:
    return {intern(key): intern(value) for key, value in words.items()}


def _with_daemon_set(owners: tuple[OwnerReference, ...]) -> Owners:
    return owners, is_of_daemon_set(ObjectMeta(owner_references=owners))


_decoded_words = msgspec.json.Decoder(Words).decode
_words: Callable[[Raw], Words] = cached_decoder(Words, _interned)
_owners: Callable[[Raw], Owners] = cached_decoder(tuple[OwnerReference, ...], _with_daemon_set)
_NO_OWNERS: Owners = ((), False)

_CONTAINER, _AFFINITY = RawStruct(Container), RawStruct(Affinity)
_CONTAINERS = tuple[_CONTAINER.wire, ...]  # type: ignore[name-defined]
_SPEC = RawStruct(
    PodSpec,
    node_name=str,
    volumes=tuple[Volume, ...],
    affinity=_AFFINITY.wire | None,
    containers=_CONTAINERS,
    init_containers=_CONTAINERS,
)
_NODE_SPEC = RawStruct(NodeSpec)
_NODE_STATUS = RawStruct(NodeStatus, conditions=tuple[Condition, ...], node_info=NodeInfo)

_bonds = BoundedCache[bytes, tuple[Words, tuple[OwnerReference, ...], bool]](MAX_LONG_TEXTS)  # labels and owners
_specs = BoundedCache[bytes, PodSpec]()  # sound ones, each without a seat and without claims
_offers = BoundedCache[bytes, tuple[NodeSpec, NodeStatus]]()  # sound ones, each without what a node says of itself
_said = BoundedCache[Saying, Saying]()  # what conditions say, but for the time


class WireMeta(Part, frozen=True, gc=False):
    name: str = ""
    namespace: str = "default"
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    deletion_grace_period_seconds: int | None = None
    labels: Raw = NOTHING
    owner_references: Raw = NOTHING
    annotations: Raw = NOTHING


class WirePod(Part, frozen=True, gc=False):
    metadata: WireMeta
    spec: _SPEC.wire  # type: ignore[name-defined]
    status: PodStatus = PodStatus()


class WireNode(Part, frozen=True, gc=False):
    metadata: WireMeta
    spec: _NODE_SPEC.wire = _NODE_SPEC.wire()  # type: ignore[name-defined]
    status: _NODE_STATUS.wire = _NODE_STATUS.wire()  # type: ignore[name-defined]


class LeaseMeta(Part, frozen=True, gc=False):
    """No more of a lease is read: there is one for every node, and it is renewed every few seconds."""

    name: str
    namespace: str = "default"
    uid: str = ""
    resource_version: str = ""


class WireLease(Part, frozen=True, gc=False):
    metadata: LeaseMeta
    spec: LeaseSpec = LeaseSpec()


def pod_of(wire: WirePod) -> Pod:
    metadata, of_daemon_set = _metadata_of(wire.metadata)
    node_name, volumes, affinity, containers, init_containers, *texts = astuple(wire.spec)
    if affinity is not None:
        if of_daemon_set and node_name and not (affinity.pod_affinity or affinity.pod_anti_affinity):
            affinity = None  # it names the seat, see `without_unread_fields`
        else:
            texts += astuple(affinity)
    for container in containers:
        texts += astuple(container)
    if init_containers:
        texts.append(b"init")
        for container in init_containers:
            texts += astuple(container)
    key = BETWEEN.join(texts)
    spec = _copied(_specs.get(key) or _specs.keep(key, _sound_spec(wire, affinity)))
    force(spec, "node_name", intern(node_name))
    for volume in volumes:
        if volume.persistent_volume_claim or volume.ephemeral:
            force(spec, "volumes", (*spec.volumes, volume))
    status = wire.status
    force(status, "phase", intern(status.phase))
    return Pod(kind="Pod", api_version="v1", metadata=metadata, spec=spec, status=status)


def _sound_spec(wire: WirePod, affinity: Any) -> PodSpec:
    _, _, _, containers, init_containers, *texts = astuple(wire.spec)
    spec = _SPEC.made(
        texts,
        affinity=_AFFINITY.made(astuple(affinity)) if affinity is not None else None,
        containers=tuple([_CONTAINER.made(astuple(container)) for container in containers]),
        init_containers=tuple([_CONTAINER.made(astuple(container)) for container in init_containers]),
    )
    for name in ("scheduler_name", "priority_class_name", "preemption_policy"):
        force(spec, name, intern(getattr(spec, name)))
    return check(Pod(kind="Pod", api_version="v1", metadata=ObjectMeta(wire.metadata.name), spec=spec)).spec


def node_of(wire: WireNode) -> Node:
    conditions, node_info, *offer = astuple(wire.status)
    key = BETWEEN.join((*astuple(wire.spec), *offer))
    spec, status = _offers.get(key) or _offers.keep(key, _sound_offer(wire))
    if conditions or node_info.boot_id:
        status = _copied(status)
        force(status, "conditions", tuple([_condition(condition) for condition in conditions]))
        force(status, "node_info", node_info)
    metadata, _ = _metadata_of(wire.metadata)
    return Node(kind="Node", api_version="v1", metadata=metadata, spec=spec, status=status)


def _sound_offer(wire: WireNode) -> tuple[NodeSpec, NodeStatus]:
    spec, status = _NODE_SPEC.made(astuple(wire.spec)), _NODE_STATUS.made(astuple(wire.status)[2:])
    node = check(Node(kind="Node", api_version="v1", metadata=ObjectMeta(wire.metadata.name), spec=spec, status=status))
    return node.spec, node.status


def _condition(condition: Condition) -> Condition:
    kind, status, reason, message, since = astuple(condition)
    said = (kind, status, reason, message)
    return Condition(*(_said.get(said) or _said.keep(said, said)), since)


def lease_of(wire: WireLease) -> Lease:
    meta = wire.metadata
    metadata = ObjectMeta(meta.name, intern(meta.namespace), uid=meta.uid, resource_version=meta.resource_version)
    return Lease(kind="Lease", api_version="coordination.k8s.io/v1", metadata=metadata, spec=wire.spec)


def _metadata_of(wire: WireMeta) -> tuple[ObjectMeta, bool]:
    """Also, whether it belongs to a DaemonSet."""
    name, namespace, uid, version, created, deleted, grace, labels, owners, annotations = astuple(wire)
    if not name:
        raise msgspec.ValidationError("an object of a cluster has a name")
    key = BETWEEN.join((labels, owners))
    words, owned_by, of_daemon_set = _bonds.get(key) or _bonds.keep(key, _bonds_of(labels, owners))
    notes = _words(annotations) if annotations else {}
    return ObjectMeta(
        name, intern(namespace), "", words, notes, created, deleted, grace, owned_by, uid, version
    ), of_daemon_set


def _bonds_of(labels: Raw, owners: Raw) -> tuple[Words, tuple[OwnerReference, ...], bool]:
    return (_interned(_decoded_words(labels)) if labels else {}, *(_owners(owners) if owners else _NO_OWNERS))


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


class BulkDecoder:
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
        """One event of a watch: its type and its object."""
        line: Any = self._line(text)
        return line.type, self._made(line.object)


BULK_DECODERS: dict[Resource, BulkDecoder] = {
    PODS: BulkDecoder(WirePod, pod_of),
    NODES: BulkDecoder(WireNode, node_of),
    LEASES: BulkDecoder(WireLease, lease_of),
}
