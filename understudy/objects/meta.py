"""What all Kubernetes objects share: metadata, label selectors, conditions."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

import msgspec

Time = Annotated[datetime, msgspec.Meta(tz=True)]


class Part(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """A piece of an object. Only the fields scheduling uses are declared; the others are passed over."""


class OwnerReference(Part, frozen=True, gc=False):
    kind: str
    name: str
    controller: bool = False


class ObjectMeta(Part, frozen=True, gc=False):
    name: str = ""
    namespace: str = "default"
    generate_name: str = ""
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    deletion_grace_period_seconds: int | None = None
    owner_references: tuple[OwnerReference, ...] = ()
    uid: str = ""
    resource_version: str = ""

    @property
    def controller(self) -> OwnerReference | None:
        for owner in self.owner_references:
            if owner.controller:
                return owner
        return self.owner_references[0] if len(self.owner_references) == 1 else None


class KubeObject(Part, frozen=True, gc=False):
    kind: str
    api_version: str
    metadata: ObjectMeta

    @property
    def title(self) -> str:
        return title(self.kind, self.metadata.namespace, self.metadata.name)


CLUSTER_SCOPED = frozenset({"Node", "PriorityClass", "PersistentVolume", "Namespace", "ClusterTrainingRuntime"})


def title(kind: str, namespace: str, name: str) -> str:
    return f"{kind} {name}" if kind in CLUSTER_SCOPED else f"{kind} {namespace}/{name}"


class Expression(Part, frozen=True, gc=False):
    """One condition of a selector on labels or fields."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class LabelSelector(Part, frozen=True, gc=False):
    match_labels: Mapping[str, str] = {}
    match_expressions: tuple[Expression, ...] = ()


class Condition(Part, frozen=True, gc=False):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: Time | None = None


def has_condition(conditions: tuple[Condition, ...], *types: str) -> bool:
    """Whether any condition of these types is true."""
    return any(c.type in types and c.status == "True" for c in conditions)


def seconds(moment: datetime | None) -> float | None:
    """Seconds since the epoch."""
    return None if moment is None else moment.timestamp()
