"""Machines are asked for on a real control plane: it takes the documents, with the rights of the shipped roles."""

from collections.abc import Iterator

import pytest

from tests.kube.cluster.api import Api, Object
from tests.kube.cluster.kwok import Nodes
from tests.kube.cluster.operators.operator import wait_served
from tests.kube.cluster.processes import wait_until
from tests.kube.cluster.running import Cluster
from tests.kube.serve.gangs import job, make_priorities
from tests.kube.serve.serve_process import SHORT_TERMS, serve
from understudy.objects.resources import POD_TEMPLATES, PROVISIONING_REQUESTS

CLASS = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
SECONDS = 60.0
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
NAME: Object = {"type": "string", "maxLength": 253, "pattern": rf"^{_LABEL}(\.{_LABEL})*$"}


def strict(required: list[str], **properties: Object) -> Object:
    return {"type": "object", "required": required, "properties": properties}


# The limits that the cluster autoscaler documents for its kind.
POD_SET = strict(
    ["count", "podTemplateRef"],
    count={"type": "integer", "minimum": 1},
    podTemplateRef=strict(["name"], name=NAME),
)
SPEC = strict(
    ["podSets", "provisioningClassName"],
    podSets={"type": "array", "minItems": 1, "maxItems": 32, "items": POD_SET},
    provisioningClassName=NAME,
    parameters={"type": "object", "maxProperties": 100, "additionalProperties": {"type": "string", "maxLength": 255}},
)
ANYTHING: Object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


@pytest.fixture
def served_kind(kube: Cluster) -> Iterator[None]:
    version = {
        "name": PROVISIONING_REQUESTS.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": strict(["spec"], spec=SPEC, status=ANYTHING)},
        "subresources": {"status": {}},
    }
    names = {"plural": PROVISIONING_REQUESTS.plural, "singular": "provisioningrequest", "kind": "ProvisioningRequest"}
    # *.k8s.io is a protected group: a definition in it says where it was approved
    approved = {"api-approved.kubernetes.io": "https://github.com/kubernetes/kubernetes/pull/1"}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": PROVISIONING_REQUESTS.key, "annotations": approved},
        "spec": {
            "group": PROVISIONING_REQUESTS.group,
            "scope": "Namespaced",
            "names": names,
            "versions": [version],
        },
    }
    kube.api.create(definition)
    wait_served(kube.api, definition, kube.processes)
    yield
    kube.api.delete(kube.api.path(definition))


@pytest.mark.usefixtures("served_kind")
def test_a_gang_has_a_request_while_it_waits_and_none_when_it_is_seated(
    kube: Cluster, api: Api, namespace: str, nodes: Nodes
) -> None:
    make_priorities(api)
    nodes.add("room-0")
    document = job("big", 2)
    spec = document["spec"]["template"]["spec"]
    rule = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"job-name": "big"}}}
    spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}
    spec["tolerations"] = [{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}]
    requests, templates = (one.path(namespace) for one in (PROVISIONING_REQUESTS, POD_TEMPLATES))
    settings = {**SHORT_TERMS, "autoscaler": {"provisioningClass": CLASS, "parameters": {"ValidUntilSeconds": "900"}}}
    with serve(kube, settings=settings) as replica:
        api.create(document, namespace)
        wait_until(lambda: api.items(requests), "machines are asked for", SECONDS, [replica])
        (request,) = api.items(requests)
        (template,) = api.items(templates)
        (pods,) = request["spec"]["podSets"]
        assert (pods["count"], pods["podTemplateRef"]["name"]) == (2, template["metadata"]["name"])
        assert template["template"]["metadata"]["labels"] == {"job-name": "big"}
        assert [owner["name"] for owner in request["metadata"]["ownerReferences"]] == ["big"]
        nodes.add("room-1")
        wait_until(lambda: not api.items(requests) + api.items(templates), "the request is gone", SECONDS, [replica])
        assert all(pod["spec"].get("nodeName") for pod in api.items(f"/api/v1/namespaces/{namespace}/pods"))
