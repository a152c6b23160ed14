"""What every object the API takes shares: the struct its parts are made of, and its metadata."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET

from understudy.embedded.schema.values import Int64, Maybe, NonEmpty, Time, encode_hook, keyed

_ACRONYMS = {
    "api": "API", "cidr": "CIDR", "cidrs": "CIDRs", "fqdn": "FQDN", "id": "ID", "io": "IO", "ip": "IP", "ipc": "IPC",
    "ips": "IPs", "pid": "PID", "uri": "URI", "urls": "URLs", "uuid": "UUID", "wwns": "WWNs",
}  # fmt: skip


def json_name(name: str) -> str:
    """host_ip is hostIP, api_version is apiVersion."""
    first, *rest = name.split("_")
    return first + "".join(_ACRONYMS.get(word) or word.capitalize() for word in rest)


class Part(msgspec.Struct, rename=json_name, gc=False, forbid_unknown_fields=True):
    """A piece of an object. UNSET fields are not written; a field with a default is written with it, as Kubernetes
    does. Every field Kubernetes has for the piece is declared: what is not here is unknown. No field is null: a null
    from outside means the same as nothing and is taken away before."""


class OwnerReference(Part):
    """The object this one belongs to, and goes with."""

    api_version: NonEmpty
    kind: NonEmpty
    name: NonEmpty
    uid: NonEmpty
    controller: Maybe[bool] = UNSET
    block_owner_deletion: Maybe[bool] = UNSET


class ManagedFields(Part):
    """Which fields one manager has set."""

    manager: Maybe[str] = UNSET
    operation: Maybe[str] = UNSET
    api_version: Maybe[str] = UNSET
    time: Maybe[Time] = UNSET
    fields_type: Maybe[str] = UNSET
    fields_v1: Maybe[dict[str, Any]] = UNSET
    subresource: Maybe[str] = UNSET


class ObjectMeta(Part):
    """What every object says about itself: its name, labels, owners and times."""

    name: Maybe[str] = UNSET
    generate_name: Maybe[str] = UNSET
    namespace: Maybe[str] = UNSET
    self_link: Maybe[str] = UNSET
    uid: Maybe[str] = UNSET
    resource_version: Maybe[str] = UNSET
    generation: Maybe[Int64] = UNSET
    creation_timestamp: Maybe[Time] = UNSET
    deletion_timestamp: Maybe[Time] = UNSET
    deletion_grace_period_seconds: Maybe[Int64] = UNSET
    labels: Maybe[dict[str, str]] = UNSET
    annotations: Maybe[dict[str, str]] = UNSET
    owner_references: Annotated[Maybe[list[OwnerReference]], keyed("uid")] = UNSET
    finalizers: Annotated[Maybe[list[str]], keyed()] = UNSET
    managed_fields: Maybe[list[ManagedFields]] = UNSET


_ENCODER = msgspec.json.Encoder(enc_hook=encode_hook)


class KubeObject(Part, kw_only=True):
    """A whole object. Each kind gives its own api_version and kind."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)

    def encode(self) -> bytes:
        return _ENCODER.encode(self)

    def document(self) -> dict[str, Any]:
        plain: dict[str, Any] = msgspec.to_builtins(self, enc_hook=encode_hook)
        return plain
