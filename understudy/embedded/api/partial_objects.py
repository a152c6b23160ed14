"""Objects read in part, from their stored bytes: their metadata alone, or the few fields that are read often."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from understudy.objects.pods import ENDED_PHASES

_API_VERSION = "meta.k8s.io/v1"


class PartialObjectMetadata(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The metadata is passed on unchanged."""

    kind: str = "PartialObjectMetadata"
    api_version: str = msgspec.field(name="apiVersion", default=_API_VERSION)
    metadata: msgspec.Raw = msgspec.Raw(b"{}")


class _MetadataAlone(msgspec.Struct, gc=False):
    metadata: msgspec.Raw = msgspec.Raw(b"{}")


_decode = msgspec.json.Decoder(_MetadataAlone).decode


def partial_metadata(body: bytes) -> PartialObjectMetadata:
    return PartialObjectMetadata(metadata=_decode(body).metadata)


def partial_metadata_list(bodies: Iterable[bytes], metadata: Mapping[str, Any]) -> dict[str, Any]:
    """`metadata` is that of the list."""
    items = [partial_metadata(body) for body in bodies]
    return {"kind": "PartialObjectMetadataList", "apiVersion": _API_VERSION, "metadata": metadata, "items": items}


class PartialMeta(msgspec.Struct, rename="camel", gc=False):
    name: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    deletion_timestamp: str = ""


class PartialObject(msgspec.Struct, gc=False):
    metadata: PartialMeta


class PartialCondition(msgspec.Struct, gc=False):
    type: str
    status: str


class PartialPodStatus(msgspec.Struct, gc=False):
    phase: str = ""
    conditions: list[PartialCondition] = []


class PartialPod(msgspec.Struct, gc=False):
    metadata: PartialMeta
    status: PartialPodStatus = msgspec.field(default_factory=PartialPodStatus)

    @property
    def ended(self) -> bool:
        return self.status.phase in ENDED_PHASES

    @property
    def ready(self) -> bool:
        return any(condition.type == "Ready" and condition.status == "True" for condition in self.status.conditions)


decode_partial = msgspec.json.Decoder(PartialObject).decode
decode_partial_pod = msgspec.json.Decoder(PartialPod).decode


def at_revision(body: bytes, revision: int) -> bytes:
    """The same object with another resourceVersion."""
    document = msgspec.json.decode(body)
    document["metadata"]["resourceVersion"] = str(revision)
    return msgspec.json.encode(document)
