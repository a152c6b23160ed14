"""ResourceQuotas: what all objects of a namespace may have together."""

from typing import Annotated, Literal

from msgspec import UNSET, field

from understudy.embedded.schema.types.meta import ApiStruct, KubeObject
from understudy.embedded.schema.types.values import Maybe, Quantities, keyed

Scope = Literal["Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass"]


class ScopedResourceSelectorRequirement(ApiStruct):
    """One condition on a pod."""

    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    scope_name: Scope
    values: Maybe[list[str]] = UNSET


class ScopeSelector(ApiStruct):
    """Conditions that must all hold."""

    match_expressions: Maybe[list[ScopedResourceSelectorRequirement]] = UNSET


class ResourceQuotaSpec(ApiStruct):
    """How much there may be of each resource, and which pods count."""

    hard: Maybe[Quantities] = UNSET
    scope_selector: Maybe[ScopeSelector] = UNSET
    scopes: Annotated[Maybe[list[Scope]], keyed()] = UNSET


class ResourceQuotaStatus(ApiStruct):
    """How much there is."""

    hard: Maybe[Quantities] = UNSET
    used: Maybe[Quantities] = UNSET


class ResourceQuota(KubeObject, kw_only=True):
    """Limits what the objects of a namespace have together."""

    api_version: str = "v1"
    kind: str = "ResourceQuota"
    spec: ResourceQuotaSpec = field(default_factory=ResourceQuotaSpec)
    status: ResourceQuotaStatus = field(default_factory=ResourceQuotaStatus)
