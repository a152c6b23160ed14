"""OpenAPI documents, as kubectl explain and kubectl create read them."""

import json
from typing import Any

import pytest

from tests.embedded.schema.custom.definitions import definition, objects, served, version
from understudy.embedded.api.builtin_resources import BUILTIN
from understudy.embedded.schema import openapi

CUSTOM = served(definition(version(objects({"a": {"type": "string", "description": "What it says."}}))))
DOCUMENTS = {place: json.loads(text) for place, text in openapi.documents([*BUILTIN, CUSTOM]).items()}


def references(value: Any) -> set[str]:
    if isinstance(value, list):
        return {found for one in value for found in references(one)}
    if isinstance(value, dict):
        own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return own | {found for one in value.values() for found in references(one)}
    return set()


def test_there_is_a_document_for_every_group_and_version() -> None:
    assert set(DOCUMENTS) == {
        "api/v1",
        "apis/admissionregistration.k8s.io/v1",
        "apis/apiextensions.k8s.io/v1",
        "apis/apiregistration.k8s.io/v1",
        "apis/apps/v1",
        "apis/autoscaling/v1",
        "apis/autoscaling/v2",
        "apis/batch/v1",
        "apis/certificates.k8s.io/v1",
        "apis/coordination.k8s.io/v1",
        "apis/discovery.k8s.io/v1",
        "apis/example.com/v1",
        "apis/networking.k8s.io/v1",
        "apis/node.k8s.io/v1",
        "apis/policy/v1",
        "apis/rbac.authorization.k8s.io/v1",
        "apis/scheduling.k8s.io/v1",
        "apis/scheduling.k8s.io/v1beta1",
        "apis/storage.k8s.io/v1",
    }


def test_the_index_names_them_by_their_content() -> None:
    made = openapi.documents(BUILTIN)
    urls = json.loads(openapi.index(made))["paths"]
    assert urls["api/v1"]["serverRelativeURL"].startswith("/openapi/v3/api/v1?hash=")
    other = json.loads(openapi.index({**made, "api/v1": b"{}"}))["paths"]
    assert other["api/v1"] != urls["api/v1"]
    assert other["apis/batch/v1"] == urls["apis/batch/v1"]


@pytest.mark.parametrize("place", sorted(DOCUMENTS))
def test_every_reference_leads_somewhere(place: str) -> None:
    schemas = DOCUMENTS[place]["components"]["schemas"]
    assert references(DOCUMENTS[place]) <= {f"#/components/schemas/{name}" for name in schemas}


@pytest.mark.parametrize("place", sorted(DOCUMENTS))
def test_every_kind_can_be_found_by_its_path(place: str) -> None:
    document = DOCUMENTS[place]
    kinds = [tuple(one.values()) for s in document["components"]["schemas"].values() for one in _gvks(s)]
    for operations in document["paths"].values():
        assert tuple(operations["get"]["x-kubernetes-group-version-kind"].values()) in kinds


def _gvks(schema: dict[str, Any]) -> list[dict[str, str]]:
    found: list[dict[str, str]] = schema.get("x-kubernetes-group-version-kind", [])
    return found


def test_clients_learn_that_unknown_fields_are_refused() -> None:
    path = DOCUMENTS["api/v1"]["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]
    assert "fieldValidation" in [parameter["name"] for parameter in path["patch"]["parameters"]]


def test_fields_are_explained() -> None:
    schemas = DOCUMENTS["apis/batch/v1"]["components"]["schemas"]
    containers = schemas["v1.PodSpec"]["properties"]["containers"]
    assert containers["items"] == {"$ref": "#/components/schemas/v1.Container"}
    assert containers["description"].startswith("The processes of the pod")
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    assert "containers" in schemas["v1.PodSpec"]["required"]
    assert schemas["v1.Job"]["properties"]["spec"]["allOf"] == [{"$ref": "#/components/schemas/v1.JobSpec"}]


def test_custom_kinds_are_explained_by_their_own_schema() -> None:
    schema = DOCUMENTS["apis/example.com/v1"]["components"]["schemas"]["v1.Trial"]
    assert schema["properties"]["spec"]["properties"]["a"]["description"] == "What it says."
    assert "metadata" in schema["properties"]
