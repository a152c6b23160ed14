"""Small parts that many kinds share: references to other objects, label selectors, conditions."""

from typing import Literal

from msgspec import UNSET

from understudy.embedded.schema.meta import Part
from understudy.embedded.schema.values import Int64, Maybe, NonEmpty, Time


class LocalObjectReference(Part):
    """Another object of the same namespace, by name."""

    name: Maybe[str] = UNSET


class ObjectReference(Part):
    """Any object, by kind and name."""

    name: Maybe[str] = UNSET
    api_version: Maybe[str] = UNSET
    field_path: Maybe[str] = UNSET
    kind: Maybe[str] = UNSET
    namespace: Maybe[str] = UNSET
    resource_version: Maybe[str] = UNSET
    uid: Maybe[str] = UNSET


class TypedLocalObjectReference(Part):
    """An object of the same namespace, by group, kind and name."""

    name: NonEmpty
    kind: NonEmpty
    api_group: Maybe[str] = UNSET


class TypedObjectReference(Part):
    """An object by group, kind, name and, if need be, namespace."""

    name: NonEmpty
    kind: NonEmpty
    api_group: Maybe[str] = UNSET
    namespace: Maybe[str] = UNSET


class SecretReference(Part):
    """A Secret of some namespace."""

    name: Maybe[str] = UNSET
    namespace: Maybe[str] = UNSET


class LabelSelectorRequirement(Part):
    """One condition on labels."""

    key: NonEmpty
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: Maybe[list[str]] = UNSET


class LabelSelector(Part):
    """Chooses objects by their labels: all conditions must hold. An empty one chooses everything."""

    match_expressions: Maybe[list[LabelSelectorRequirement]] = UNSET
    match_labels: Maybe[dict[str, str]] = UNSET


class Condition(Part):
    """One thing that is true, false or unknown about an object."""

    last_transition_time: Time
    message: str
    reason: str
    type: NonEmpty
    status: str
    observed_generation: Maybe[Int64] = UNSET
