"""Roles and their bindings: which subjects may do what, in one namespace or in the whole cluster."""

from typing import Literal

from msgspec import UNSET

from understudy.embedded.schema.types.meta import ApiStruct, KubeObject, LabelSelector
from understudy.embedded.schema.types.values import Maybe, NonEmpty

GROUP = "rbac.authorization.k8s.io"


class PolicyRule(ApiStruct):
    """Verbs on resources, or on paths that are no resources."""

    verbs: list[str]
    api_groups: Maybe[list[str]] = UNSET
    resources: Maybe[list[str]] = UNSET
    resource_names: Maybe[list[str]] = UNSET
    non_resource_urls: Maybe[list[str]] = UNSET


class AggregationRule(ApiStruct):
    """The selectors of the ClusterRoles whose rules this ClusterRole consists of."""

    cluster_role_selectors: Maybe[list[LabelSelector]] = UNSET


class Subject(ApiStruct):
    """A user, a group or a service account."""

    kind: NonEmpty
    name: NonEmpty
    api_group: Maybe[str] = UNSET
    namespace: Maybe[str] = UNSET


class RoleRef(ApiStruct):
    """The role that a binding grants. It never changes."""

    kind: Literal["Role", "ClusterRole"]
    name: NonEmpty
    api_group: str = GROUP


class Role(KubeObject, kw_only=True):
    """Rights in one namespace."""

    api_version: str = f"{GROUP}/v1"
    kind: str = "Role"
    rules: Maybe[list[PolicyRule]] = UNSET


class ClusterRole(KubeObject, kw_only=True):
    """Rights in the whole cluster, or in one namespace where a RoleBinding grants them there."""

    api_version: str = f"{GROUP}/v1"
    kind: str = "ClusterRole"
    aggregation_rule: Maybe[AggregationRule] = UNSET
    rules: Maybe[list[PolicyRule]] = UNSET


class RoleBinding(KubeObject, kw_only=True):
    """Grants a role to subjects in one namespace."""

    api_version: str = f"{GROUP}/v1"
    kind: str = "RoleBinding"
    role_ref: RoleRef
    subjects: Maybe[list[Subject]] = UNSET


class ClusterRoleBinding(KubeObject, kw_only=True):
    """Grants a ClusterRole to subjects in the whole cluster."""

    api_version: str = f"{GROUP}/v1"
    kind: str = "ClusterRoleBinding"
    role_ref: RoleRef
    subjects: Maybe[list[Subject]] = UNSET
