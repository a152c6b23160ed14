"""PartialObjectMetadata: turns objects as they lie in the store into what clients get that want metadata alone."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

_API_VERSION = "meta.k8s.io/v1"


class Partial(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The metadata is passed on as it is, byte by byte."""

    kind: str = "PartialObjectMetadata"
    api_version: str = msgspec.field(name="apiVersion", default=_API_VERSION)
    metadata: msgspec.Raw = msgspec.Raw(b"{}")


class _MetadataAlone(msgspec.Struct, gc=False):
    metadata: msgspec.Raw = msgspec.Raw(b"{}")


_decode = msgspec.json.Decoder(_MetadataAlone).decode


def partial(body: bytes) -> Partial:
    return Partial(metadata=_decode(body).metadata)


def partial_list(bodies: Iterable[bytes], metadata: Mapping[str, Any]) -> dict[str, Any]:
    """`metadata` is that of the list: its resourceVersion."""
    items = [partial(body) for body in bodies]
    return {"kind": "PartialObjectMetadataList", "apiVersion": _API_VERSION, "metadata": metadata, "items": items}
