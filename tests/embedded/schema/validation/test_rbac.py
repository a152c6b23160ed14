"""Roles and their bindings."""

from typing import Any

import pytest

from tests.embedded.schema.forms import Refusal, changed, created, draft_of, refusal_of, updated

RULE = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
GROUP = "rbac.authorization.k8s.io"


@pytest.mark.parametrize(
    ("kind", "rule", "cause"),
    [
        ("Role", {**RULE, "verbs": []}, "rules[0].verbs: Required value: verbs must contain at least one value"),
        ("Role", {**RULE, "resources": []}, "rules[0].resources: Required value: resource rules must supply"),
        ("Role", {**RULE, "apiGroups": []}, "rules[0].apiGroups: Required value: resource rules must supply"),
        ("Role", {"nonResourceURLs": ["/a"], "verbs": ["get"]}, "rules[0].nonResourceURLs: Invalid value"),
        ("ClusterRole", {**RULE, "nonResourceURLs": ["/a"]}, "rules[0].nonResourceURLs: Invalid value"),
    ],
)
def test_rules_are_about_something(kind: str, rule: dict[str, Any], cause: str) -> None:
    assert refusal_of(kind, {"rules": [rule]}).causes[0].startswith(cause)


def test_cluster_roles_know_paths_and_sums() -> None:
    assert created("ClusterRole", {"rules": [RULE, {"nonResourceURLs": ["/healthz"], "verbs": ["get"]}]})
    selectors = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
    assert created("ClusterRole", {"aggregationRule": selectors})["aggregationRule"] == selectors
    assert "at least one" in refusal_of("ClusterRole", {"aggregationRule": {"clusterRoleSelectors": []}}).message


def binding(role: str, *subjects: Any) -> dict[str, Any]:
    return {"roleRef": {"kind": role, "name": "r"}, "subjects": list(subjects)}


def test_groups_of_subjects_are_filled_in() -> None:
    made = created(
        "RoleBinding", binding("Role", {"kind": "User", "name": "jane"}, {"kind": "ServiceAccount", "name": "a"})
    )
    assert made["roleRef"] == {"kind": "Role", "name": "r", "apiGroup": GROUP}
    assert [one["apiGroup"] for one in made["subjects"]] == [GROUP, ""]


@pytest.mark.parametrize(
    ("kind", "role", "subject", "cause"),
    [
        ("RoleBinding", "Role", {"kind": "Robot", "name": "a"}, "subjects[0].kind: Unsupported value"),
        ("RoleBinding", "Role", {"kind": "User", "name": "a", "apiGroup": "x"}, "subjects[0].apiGroup: Unsupported"),
        ("RoleBinding", "Role", {"kind": "ServiceAccount", "name": "A_b"}, "subjects[0].name: Invalid value"),
        (
            "ClusterRoleBinding",
            "ClusterRole",
            {"kind": "ServiceAccount", "name": "a"},
            "subjects[0].namespace: Required",
        ),
        ("ClusterRoleBinding", "Role", {"kind": "Group", "name": "a"}, "roleRef.kind: Unsupported value"),
    ],
)
def test_bindings_name_what_can_be(kind: str, role: str, subject: dict[str, Any], cause: str) -> None:
    assert refusal_of(kind, binding(role, subject)).causes[0].startswith(cause)


def test_a_binding_keeps_its_role() -> None:
    old = draft_of("RoleBinding", binding("Role", {"kind": "User", "name": "jane"}))
    with Refusal() as said:
        updated("RoleBinding", old, changed(old, "roleRef", "name", to="other"))
    assert "cannot change roleRef" in said.causes[0]
    assert updated("RoleBinding", old, changed(old, "subjects", to=[]))
