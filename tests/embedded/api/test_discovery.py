"""Discovery as old and new clients read it."""

from typing import Any, cast

import pytest

from understudy.embedded.api import discovery
from understudy.embedded.schema.errors import ApiError
from understudy.embedded.schema.served_resource import Form, ServedResource
from understudy.objects.resources import JOBS, NAMESPACES, NODES, PODS, PRIORITY_CLASSES, Resource

NO_FORM = cast(Form, None)  # discovery looks at names alone
JOB_SETS = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")
SERVED = (
    ServedResource(PODS, NO_FORM, "pod", ("po",), ("all",), ("status", "log", "exec", "binding", "eviction")),
    ServedResource(NODES, NO_FORM, "node", ("no",), (), ("status",)),
    ServedResource(NAMESPACES, NO_FORM, "namespace", ("ns",), (), ("status", "finalize")),
    ServedResource(JOBS, NO_FORM, "job", (), ("all",), ("status",)),
    ServedResource(PRIORITY_CLASSES, NO_FORM, "priorityclass", ("pc",), other_versions=("v1beta1",)),
    ServedResource(JOB_SETS, NO_FORM, "jobset", ("js",), (), ("status", "scale"), ("v1alpha1", "v1")),
)
LISTED = discovery.discovered_resources(SERVED)
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList,application/json"


def by(key: str, entries: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {entry[key]: entry for entry in entries}


def test_old_clients_learn_where_the_core_is() -> None:
    answer = discovery.core(LISTED, "application/json", "127.0.0.1:6443")
    assert answer.content_type == "application/json"
    assert answer.document == {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:6443"}],
    }


def test_groups_name_their_versions_the_best_first() -> None:
    document = discovery.groups(LISTED, "").document
    groups = by("name", document["groups"])
    assert document["kind"] == "APIGroupList"
    assert [version["version"] for version in groups["scheduling.k8s.io"]["versions"]] == ["v1", "v1beta1"]
    assert groups["jobset.x-k8s.io"]["preferredVersion"] == {"groupVersion": "jobset.x-k8s.io/v1", "version": "v1"}
    assert [version["version"] for version in groups["jobset.x-k8s.io"]["versions"]] == ["v1", "v1alpha2", "v1alpha1"]
    assert "" not in groups


def test_one_group_by_name() -> None:
    assert discovery.group(LISTED, "batch") == {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": "batch",
        "versions": [{"groupVersion": "batch/v1", "version": "v1"}],
        "preferredVersion": {"groupVersion": "batch/v1", "version": "v1"},
    }


def test_the_core_lists_pods_with_what_drain_looks_for() -> None:
    document = discovery.version(LISTED, "", "v1")
    resources = by("name", document["resources"])
    assert document["groupVersion"] == "v1"
    assert resources["pods"] == {
        "name": "pods",
        "singularName": "pod",
        "namespaced": True,
        "kind": "Pod",
        "verbs": ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"),
        "shortNames": ("po",),
        "categories": ("all",),
    }
    assert resources["pods/eviction"] == {
        "name": "pods/eviction",
        "singularName": "",
        "namespaced": True,
        "group": "policy",
        "version": "v1",
        "kind": "Eviction",
        "verbs": ("create",),
    }
    assert resources["pods/log"]["verbs"] == ("get",)
    assert resources["pods/status"]["kind"] == "Pod"
    assert "deletecollection" not in resources["namespaces"]["verbs"]


def test_a_resource_is_listed_in_each_of_its_versions() -> None:
    for version in ("v1", "v1beta1"):
        document = discovery.version(LISTED, "scheduling.k8s.io", version)
        assert document["groupVersion"] == f"scheduling.k8s.io/{version}"
        assert [entry["name"] for entry in document["resources"]] == ["priorityclasses"]


def test_reviews_can_be_asked_but_not_listed() -> None:
    reviews = by("name", discovery.version(LISTED, "authorization.k8s.io", "v1")["resources"])
    assert reviews["selfsubjectaccessreviews"]["verbs"] == ("create",)
    assert reviews["localsubjectaccessreviews"]["namespaced"] is True


@pytest.mark.parametrize("version", ["v2", "v2beta1"])
def test_everything_at_once_in_the_version_asked_for(version: str) -> None:
    answer = discovery.groups(LISTED, AGGREGATED.format(version))
    assert answer.content_type == f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
    assert answer.document["apiVersion"] == f"apidiscovery.k8s.io/{version}"
    groups = {item["metadata"]["name"]: item for item in answer.document["items"]}
    [jobset, *_] = groups["jobset.x-k8s.io"]["versions"]
    assert jobset == {
        "version": "v1",
        "freshness": "Current",
        "resources": [
            {
                "resource": "jobsets",
                "responseKind": {"group": "", "version": "", "kind": "JobSet"},
                "scope": "Namespaced",
                "singularResource": "jobset",
                "verbs": discovery.VERBS,
                "shortNames": ("js",),
                "subresources": [
                    {
                        "subresource": "status",
                        "responseKind": {"group": "", "version": "", "kind": "JobSet"},
                        "verbs": ("get", "patch", "update"),
                    },
                    {
                        "subresource": "scale",
                        "responseKind": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
                        "verbs": ("get", "patch", "update"),
                    },
                ],
            }
        ],
    }


def test_the_core_at_once_is_one_group_without_a_name() -> None:
    [item] = discovery.core(LISTED, AGGREGATED.format("v2"), "here").document["items"]
    assert item["metadata"] == {}
    [version] = item["versions"]
    assert [one["resource"] for one in version["resources"]] == ["namespaces", "nodes", "pods"]
    assert by("resource", version["resources"])["nodes"]["scope"] == "Cluster"


@pytest.mark.parametrize(("group", "version"), [("missing.io", "v1"), ("batch", "v2"), ("", "v2")])
def test_what_is_not_served_is_not_found(group: str, version: str) -> None:
    with pytest.raises(ApiError) as refusal:
        discovery.version(LISTED, group, version)
    assert refusal.value.code == 404
