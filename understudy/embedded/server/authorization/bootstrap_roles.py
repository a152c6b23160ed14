"""The roles and bindings of every cluster: those of Kubernetes that people use, for the kinds served here.

`cluster-admin`, `admin`, `edit` and `view` exist to be bound. Authenticated users may read discovery and OpenAPI and
create reviews about themselves. Everything else is granted by roles that users create.
"""

from collections.abc import Iterator
from typing import Any

from understudy.embedded.schema.types.rbac import GROUP
from understudy.objects.resources import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, Resource

Document = dict[str, Any]
AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-"
_LABELS = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_READ = ["get", "list", "watch"]
_WRITE = ["create", "delete", "deletecollection", "patch", "update"]
_WORKLOAD_GROUPS = [
    "apps", "autoscaling", "batch", "jobset.x-k8s.io", "kubeflow.org", "networking.k8s.io", "trainer.kubeflow.org",
]  # fmt: skip
_PATHS = [
    "/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz", "/version",
    "/version/",
]  # fmt: skip
_OBJECTS = ["configmaps", "endpoints", "persistentvolumeclaims", "pods", "serviceaccounts", "services"]
_LIMITS = ["limitranges", "resourcequotas", "resourcequotas/status"]
_PARTS = ["persistentvolumeclaims/status", "pods/log", "pods/status", "services/status"]


def _rule(group: str, resources: list[str], verbs: list[str]) -> Document:
    return {"apiGroups": [group], "resources": resources, "verbs": verbs}


_VIEW = [
    _rule("", [*_OBJECTS, *_PARTS, *_LIMITS, "events", "namespaces", "namespaces/status"], _READ),
    _rule("policy", ["poddisruptionbudgets", "poddisruptionbudgets/status"], _READ),
    _rule("discovery.k8s.io", ["endpointslices"], _READ),
    _rule("metrics.k8s.io", ["nodes", "pods"], ["get", "list"]),
    _rule("understudy.dev", ["incidents"], _READ),
    *(_rule(group, ["*"], _READ) for group in _WORKLOAD_GROUPS),
]
_EDIT = [
    _rule("", [*_OBJECTS, "secrets"], _WRITE),
    _rule("", ["secrets"], _READ),
    _rule("", ["pods/attach", "pods/eviction", "pods/exec", "pods/portforward", "serviceaccounts/token"], ["create"]),
    _rule("", ["events"], ["create", "patch", "update"]),
    _rule("", ["serviceaccounts"], ["impersonate"]),
    _rule("policy", ["poddisruptionbudgets"], _WRITE),
    _rule("coordination.k8s.io", ["leases"], [*_READ, *_WRITE]),
    *(_rule(group, ["*"], _WRITE) for group in _WORKLOAD_GROUPS),
]
_ADMIN = [
    _rule("authorization.k8s.io", ["localsubjectaccessreviews"], ["create"]),
    _rule(GROUP, ["rolebindings", "roles"], [*_READ, *_WRITE]),
]
_ALL = [
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
]
_BASIC = [
    _rule("authorization.k8s.io", ["selfsubjectaccessreviews", "selfsubjectrulesreviews"], ["create"]),
    _rule("authentication.k8s.io", ["selfsubjectreviews"], ["create"]),
]


def bootstrap_roles() -> Iterator[tuple[Resource, Document]]:
    yield CLUSTER_ROLES, _role("cluster-admin", _ALL)
    yield CLUSTER_ROLES, _role("system:basic-user", _BASIC)
    yield CLUSTER_ROLES, _role("system:discovery", [{"nonResourceURLs": _PATHS, "verbs": ["get", "head"]}])
    yield CLUSTER_ROLES, _role("system:aggregate-to-view", _VIEW, f"{AGGREGATE}view")
    yield CLUSTER_ROLES, _role("system:aggregate-to-edit", _EDIT, f"{AGGREGATE}edit")
    yield CLUSTER_ROLES, _role("system:aggregate-to-admin", _ADMIN, f"{AGGREGATE}admin")
    yield CLUSTER_ROLES, _aggregated("view", _VIEW, f"{AGGREGATE}edit")
    yield CLUSTER_ROLES, _aggregated("edit", [*_EDIT, *_VIEW], f"{AGGREGATE}admin")
    yield CLUSTER_ROLES, _aggregated("admin", [*_ADMIN, *_EDIT, *_VIEW])
    yield CLUSTER_ROLE_BINDINGS, _binding("cluster-admin", "system:masters")
    yield CLUSTER_ROLE_BINDINGS, _binding("system:basic-user", "system:authenticated")
    yield CLUSTER_ROLE_BINDINGS, _binding("system:discovery", "system:authenticated")


def _role(name: str, rules: list[Document], label: str = "") -> Document:
    labels = {**_LABELS, label: "true"} if label else _LABELS
    return {"metadata": {"name": name, "labels": labels}, "rules": rules}


def _aggregated(name: str, rules: list[Document], label: str = "") -> Document:
    """An aggregated role. A controller keeps its rules up to date; these are the first ones."""
    selectors = [{"matchLabels": {f"{AGGREGATE}{name}": "true"}}]
    return {**_role(name, rules, label), "aggregationRule": {"clusterRoleSelectors": selectors}}


def _binding(role: str, group: str) -> Document:
    return {
        "metadata": {"name": role, "labels": _LABELS},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": GROUP, "kind": "Group", "name": group}],
    }
