"""Namespaces: the rooms names live in."""

from typing import Annotated

from msgspec import UNSET, field

from understudy.embedded.schema.meta import KubeObject, Part
from understudy.embedded.schema.values import Maybe, NonEmpty, Time, keyed


class NamespaceSpec(Part):
    """Who must let go of the namespace before it can leave."""

    finalizers: Maybe[list[str]] = UNSET


class NamespaceCondition(Part):
    """One thing that is true, false or unknown about the namespace."""

    type: NonEmpty
    status: str
    last_transition_time: Maybe[Time] = UNSET
    message: Maybe[str] = UNSET
    reason: Maybe[str] = UNSET


class NamespaceStatus(Part):
    """Whether the namespace is active or leaving."""

    conditions: Annotated[Maybe[list[NamespaceCondition]], keyed("type")] = UNSET
    phase: Maybe[str] = UNSET


class Namespace(KubeObject, kw_only=True):
    """A room for names; objects in different namespaces do not meet."""

    api_version: str = "v1"
    kind: str = "Namespace"
    spec: NamespaceSpec = field(default_factory=NamespaceSpec)
    status: NamespaceStatus = field(default_factory=NamespaceStatus)
