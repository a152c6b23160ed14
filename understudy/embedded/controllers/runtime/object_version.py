"""One version of an object, as text. Each struct it is read as is decoded once and shared by all callers."""

from typing import Any, TypeAlias, TypeVar, cast

import msgspec

from understudy.kinds.children.partial_objects import (
    FullOwnerReference,
    PartialObject,
    PartialPod,
    PartialPodSpec,
    PartialPodStatus,
    struct_for,
)
from understudy.kinds.decoding import decode_json
from understudy.objects.errors import BadObject
from understudy.objects.meta import KubeObject, Part
from understudy.objects.resources import PODS, Resource
from understudy.ports import ChangeType

T = TypeVar("T")
StructType: TypeAlias = type[T]


class ObjectHead(Part, frozen=True, gc=False):
    """The metadata that informers and the object graph use."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[FullOwnerReference, ...] = ()
    deletion_timestamp: str = ""


class _Identity(Part, frozen=True, gc=False):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _WithHead(msgspec.Struct, gc=False):
    metadata: ObjectHead
    kind: str = ""


class _WithIdentity(msgspec.Struct, gc=False):
    metadata: _Identity
    kind: str = ""


class ContainerPort(Part, frozen=True, gc=False):
    container_port: int
    name: str = ""
    protocol: str = "TCP"


class PortContainer(Part, frozen=True, gc=False):
    ports: tuple[ContainerPort, ...] = ()


class EphemeralVolume(Part, frozen=True, gc=False):
    name: str = ""
    ephemeral: dict[str, Any] | None = None


class ObservedPodSpec(PartialPodSpec, frozen=True, gc=False):
    hostname: str = ""
    subdomain: str = ""
    containers: tuple[PortContainer, ...] = ()
    volumes: tuple[EphemeralVolume, ...] = ()


class ObservedPodStatus(PartialPodStatus, frozen=True, gc=False):
    pod_ip: str = msgspec.field(name="podIP", default="")


class ObservedPod(PartialPod, frozen=True, gc=False, kw_only=True):
    """All that any controller reads of a pod, so that a pod is decoded once for all of them."""

    spec: ObservedPodSpec = ObservedPodSpec()
    status: ObservedPodStatus = ObservedPodStatus()


def observed_as(resource: Resource) -> type[PartialObject]:
    """The struct that controllers share for the objects of this resource."""
    return ObservedPod if resource == PODS else struct_for(resource.key)


_decoders: dict[type, msgspec.json.Decoder[Any]] = {
    struct: msgspec.json.Decoder(struct) for struct in (_WithHead, _WithIdentity)
}


class ObjectVersion:
    """Decoding is lazy: text that no controller reads is not decoded."""

    __slots__ = ("_decoded", "_scheduled", "head", "kind", "raw")

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.kind, self.head = _head_of(raw)
        self._decoded: dict[type, Any] = {}
        self._scheduled: KubeObject | None = None

    def read(self, struct: StructType[T]) -> T:
        """Raises msgspec.ValidationError where the object cannot be read so."""
        found = self._decoded.get(struct)
        if found is None:
            decoder = _decoders.get(struct)
            if decoder is None:
                decoder = _decoders[struct] = msgspec.json.Decoder(struct)
            found = self._decoded[struct] = decoder.decode(self.raw)
        return cast(T, found)

    def kube_object(self) -> KubeObject:
        """As the scheduling loop reads it. Raises BadObject."""
        if self._scheduled is None:
            self._scheduled = decode_json(self.raw)
        return self._scheduled

    def kube_object_or_none(self) -> KubeObject | None:
        try:
            return self.kube_object()
        except BadObject:
            return None


def _head_of(raw: bytes) -> tuple[str, ObjectHead]:
    try:
        whole = _decoders[_WithHead].decode(raw)
        return whole.kind, whole.metadata
    except msgspec.ValidationError:  # an object whose owners cannot be read must not end the watch of its resource
        named = _decoders[_WithIdentity].decode(raw)
        return named.kind, ObjectHead(*msgspec.structs.astuple(named.metadata))


class ObjectChange(msgspec.Struct, frozen=True, gc=False):
    """A change that an informer passes to its subscribers. SYNCED has no version."""

    type: ChangeType
    version: ObjectVersion | None = None

    @property
    def is_deleted(self) -> bool:
        return self.type is ChangeType.DELETED

    @property
    def raw(self) -> bytes:
        return self.version.raw if self.version is not None else b""

    @property
    def object_version(self) -> ObjectVersion:
        assert self.version is not None
        return self.version

    def read(self, struct: StructType[T]) -> T:
        return self.object_version.read(struct)
