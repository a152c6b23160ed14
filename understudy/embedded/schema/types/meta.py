"""What all objects share: the base of their structs, metadata, references, selectors and conditions."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET

from understudy.embedded.schema.types.values import Int64, Maybe, NonEmpty, Time, encode_hook, keyed

_ACRONYMS = {
    "api": "API", "cidr": "CIDR", "cidrs": "CIDRs", "fqdn": "FQDN", "id": "ID", "io": "IO", "ip": "IP", "ipc": "IPC",
    "ips": "IPs", "pid": "PID", "uri": "URI", "urls": "URLs", "uuid": "UUID", "wwns": "WWNs",
}  # fmt: skip


def json_name(name: str) -> str:
    """host_ip is hostIP, api_version is apiVersion."""
    first, *rest = name.split("_")
    return first + "".join(_ACRONYMS.get(word) or word.capitalize() for word in rest)


class ApiStruct(msgspec.Struct, rename=json_name, gc=False, forbid_unknown_fields=True):
    """A piece of an object. UNSET fields are not written; a field with a default is written with it, as Kubernetes
    does. Every field Kubernetes has for the piece is declared: what is not here is unknown. No field is null: a null
    from outside means the same as nothing and is taken away before."""


class OwnerReference(ApiStruct):
    """The object this one belongs to, and goes with."""

    api_version: NonEmpty
    kind: NonEmpty
    name: NonEmpty
    uid: NonEmpty
    controller: Maybe[bool] = UNSET
    block_owner_deletion: Maybe[bool] = UNSET


class ManagedFields(ApiStruct):
    """Which fields one manager has set."""

    manager: Maybe[str] = UNSET
    operation: Maybe[str] = UNSET
    api_version: Maybe[str] = UNSET
    time: Maybe[Time] = UNSET
    fields_type: Maybe[str] = UNSET
    fields_v1: Maybe[dict[str, Any]] = UNSET
    subresource: Maybe[str] = UNSET


class ObjectMeta(ApiStruct):
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


class KubeObject(ApiStruct, kw_only=True):
    """A whole object. Each kind gives its own api_version and kind."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)

    def encode(self) -> bytes:
        return _ENCODER.encode(self)

    def document(self) -> dict[str, Any]:
        plain: dict[str, Any] = msgspec.to_builtins(self, enc_hook=encode_hook)
        return plain


class LocalObjectReference(ApiStruct):
    """Another object of the same namespace, by name."""

    name: Maybe[str] = UNSET


class ObjectReference(ApiStruct):
    """Any object, by kind and name."""

    name: Maybe[str] = UNSET
    api_version: Maybe[str] = UNSET
    field_path: Maybe[str] = UNSET
    kind: Maybe[str] = UNSET
    namespace: Maybe[str] = UNSET
    resource_version: Maybe[str] = UNSET
    uid: Maybe[str] = UNSET


class TypedLocalObjectReference(ApiStruct):
    """An object of the same namespace, by group, kind and name."""

    name: NonEmpty
    kind: NonEmpty
    api_group: Maybe[str] = UNSET


class TypedObjectReference(ApiStruct):
    """An object by group, kind, name and, if need be, namespace."""

    name: NonEmpty
    kind: NonEmpty
    api_group: Maybe[str] = UNSET
    namespace: Maybe[str] = UNSET


class LabelSelectorRequirement(ApiStruct):
    """One condition on labels."""

    key: NonEmpty
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: Maybe[list[str]] = UNSET


class LabelSelector(ApiStruct):
    """Chooses objects by their labels: all conditions must hold. An empty one chooses everything."""

    match_expressions: Maybe[list[LabelSelectorRequirement]] = UNSET
    match_labels: Maybe[dict[str, str]] = UNSET


class Condition(ApiStruct):
    """One thing that is true, false or unknown about an object."""

    last_transition_time: Time
    message: str
    reason: str
    type: NonEmpty
    status: str
    observed_generation: Maybe[Int64] = UNSET
