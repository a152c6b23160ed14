"""Roles and bindings: defaults and checks of their rules and subjects, and that a binding keeps its role."""

from collections.abc import Iterator

from understudy.embedded.schema import causes
from understudy.embedded.schema.causes import child, member
from understudy.embedded.schema.errors import Cause
from understudy.embedded.schema.types.rbac import (
    GROUP,
    ClusterRole,
    ClusterRoleBinding,
    PolicyRule,
    Role,
    RoleBinding,
    Subject,
)
from understudy.embedded.schema.validation import names, selectors

_GROUP_OF = {"ServiceAccount": "", "User": GROUP, "Group": GROUP}


def check_role(role: Role) -> Iterator[Cause]:
    for i, rule in enumerate(role.rules or ()):
        yield from _rule(rule, member("rules", i), namespaced=True)


def check_cluster_role(role: ClusterRole) -> Iterator[Cause]:
    for i, rule in enumerate(role.rules or ()):
        yield from _rule(rule, member("rules", i), namespaced=False)
    if not role.aggregation_rule:
        return
    given = role.aggregation_rule.cluster_role_selectors or ()
    if not given:
        yield causes.required("aggregationRule.clusterRoleSelectors", "at least one clusterRoleSelector required")
    for i, selector in enumerate(given):
        yield from selectors.label_selector(selector, member("aggregationRule.clusterRoleSelectors", i))


def _rule(rule: PolicyRule, field: str, *, namespaced: bool) -> Iterator[Cause]:
    if not rule.verbs:
        yield causes.required(child(field, "verbs"), "verbs must contain at least one value")
    if rule.non_resource_urls:
        if namespaced:
            problem = "namespaced rules cannot apply to non-resource URLs"
            yield causes.bad_value(child(field, "nonResourceURLs"), rule.non_resource_urls, problem)
        if rule.api_groups or rule.resources or rule.resource_names:
            problem = "rules cannot apply to both regular resources and non-resource URLs"
            yield causes.bad_value(child(field, "nonResourceURLs"), rule.non_resource_urls, problem)
        return
    if not rule.api_groups:
        yield causes.required(child(field, "apiGroups"), "resource rules must supply at least one api group")
    if not rule.resources:
        yield causes.required(child(field, "resources"), "resource rules must supply at least one resource")


def complete_binding(binding: RoleBinding | ClusterRoleBinding) -> None:
    binding.role_ref.api_group = binding.role_ref.api_group or GROUP
    for subject in binding.subjects or ():
        if not subject.api_group and subject.kind in _GROUP_OF:
            subject.api_group = _GROUP_OF[subject.kind]


def check_binding(binding: RoleBinding | ClusterRoleBinding) -> Iterator[Cause]:
    ref = binding.role_ref
    if ref.api_group != GROUP:
        yield causes.unsupported("roleRef.apiGroup", ref.api_group, [GROUP])
    if isinstance(binding, ClusterRoleBinding) and ref.kind != "ClusterRole":
        yield causes.unsupported("roleRef.kind", ref.kind, ["ClusterRole"])
    if problem := names.path_segment(ref.name):
        yield causes.bad_value("roleRef.name", ref.name, problem)
    for i, subject in enumerate(binding.subjects or ()):
        yield from _subject(subject, member("subjects", i), namespaced=isinstance(binding, RoleBinding))


def _subject(subject: Subject, field: str, *, namespaced: bool) -> Iterator[Cause]:
    group = _GROUP_OF.get(subject.kind)
    if group is None:
        yield causes.unsupported(child(field, "kind"), subject.kind, sorted(_GROUP_OF))
        return
    if (subject.api_group or "") != group:
        yield causes.unsupported(child(field, "apiGroup"), subject.api_group or "", [group])
    if subject.kind != "ServiceAccount":
        return
    if problem := names.subdomain(subject.name):
        yield causes.bad_value(child(field, "name"), subject.name, problem)
    if not subject.namespace and not namespaced:
        yield causes.required(child(field, "namespace"))


def changed_binding(new: RoleBinding | ClusterRoleBinding, old: RoleBinding | ClusterRoleBinding) -> Iterator[Cause]:
    if new.role_ref != old.role_ref:
        yield causes.bad_value("roleRef", new.role_ref, "cannot change roleRef")
