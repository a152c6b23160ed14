"""The roles that are shipped allow what the code asks for, and nothing else."""

import re
from collections.abc import Iterable

from tests.deploy.manifests import CHART, KUSTOMIZE, Document, the
from understudy.control.watch.reflector import WATCHED_RESOURCES
from understudy.kinds.registry import JOB_RESOURCES
from understudy.kube.permissions import EVERYWHERE, IN_ONE_PLACE, OWN, PERMISSIONS, Permission
from understudy.kube.settings import LEASE_NAME

Right = tuple[str, str, str, str]  # group, resource, verb, name


def allowed(role: Document) -> list[Right]:
    return [
        (group, resource, verb, name)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    ]


def needed(permissions: Iterable[Permission]) -> list[Right]:
    return [(one.group, one.resource, verb, one.name) for one in permissions for verb in one.verbs]


def test_the_cluster_role_is_what_the_code_needs() -> None:
    given = allowed(the("ClusterRole"))
    assert sorted(given) == sorted(needed(EVERYWHERE))
    assert len(given) == len(set(given)), "said twice"


def test_so_are_the_roles_of_single_namespaces() -> None:
    leader, nodes = the("Role", "understudy-leader"), the("Role", "understudy-node-leases")
    own = [one for one in IN_ONE_PLACE if one.namespace == OWN]
    others = [one for one in IN_ONE_PLACE if one.namespace != OWN]
    assert sorted(allowed(leader)) == sorted(needed(own))
    assert sorted(allowed(nodes)) == sorted(needed(others))
    assert {one.namespace for one in others} == {nodes["metadata"]["namespace"]}
    assert [rule["resourceNames"] for rule in leader["rules"] if "resourceNames" in rule] == [[LEASE_NAME]]


def test_whatever_is_followed_may_be_read() -> None:
    read = {(one.group, one.resource, one.namespace) for one in PERMISSIONS if {"list", "watch"} <= set(one.verbs)}
    for source in WATCHED_RESOURCES:
        for version in source.versions:
            assert (version.group, version.plural, source.namespace) in read, version.key


def test_every_job_kind_may_be_paused() -> None:
    patched = {(one.group, one.resource) for one in PERMISSIONS if "patch" in one.verbs}
    assert {(kind.group, kind.plural) for kind in JOB_RESOURCES} <= patched


def test_no_role_grants_everything() -> None:
    text = "\n".join(part for right in needed(PERMISSIONS) for part in right)
    assert "*" not in text
    assert not {"secrets", "serviceaccounts/token", "pods/exec"} & {one.resource for one in PERMISSIONS}
    assert not {"escalate", "bind", "impersonate"} & {verb for one in PERMISSIONS for verb in one.verbs}
    assert all(one.why for one in PERMISSIONS)


def test_the_chart_has_the_same_rules_to_the_letter() -> None:
    def rules(text: str) -> list[str]:
        return re.findall(r"^rules:\n(?:[-# ].*\n)+", text, re.MULTILINE)

    for name in ("clusterrole.yaml", "roles.yaml"):
        ours, theirs = (folder / name for folder in (KUSTOMIZE / "base", CHART / "templates"))
        assert rules(ours.read_text()) == rules(theirs.read_text()) != []
