"""The bundled manifests would be accepted from any client: they have no unknown field and no invalid schema."""

from typing import Any

import msgspec
import pytest
import yaml

from understudy.embedded.manifests.definitions import bundled_definitions
from understudy.embedded.schema.custom.definitions import DefinitionForm, served_by
from understudy.embedded.schema.openapi import documents
from understudy.embedded.schema.served_resource import Strictness
from understudy.embedded.schema.types.apiextensions import CustomResourceDefinition


def definition(name: str) -> CustomResourceDefinition:
    read = DefinitionForm().convert(yaml.safe_load(bundled_definitions()[name]), Strictness.STRICT).draft
    assert isinstance(read, CustomResourceDefinition)
    return read


@pytest.mark.parametrize("name", bundled_definitions())
def test_a_definition_is_in_order(name: str) -> None:
    found = definition(name)
    DefinitionForm().admit_create(found, lambda *_: None)
    assert found.metadata.name == name


def test_the_pods_of_a_custom_kind_can_be_explained() -> None:
    served = served_by(definition("jobsets.jobset.x-k8s.io"))
    [text] = documents(served).values()
    schemas: dict[str, Any] = msgspec.json.decode(text)["components"]["schemas"]
    template = schemas["v1alpha2.JobSet"]["properties"]["spec"]["properties"]["replicatedJobs"]["items"]["properties"]
    assert template["template"]["properties"]["spec"]["allOf"] == [{"$ref": "#/components/schemas/v1.JobSpec"}]
    assert "priorityClassName" in schemas["v1.PodSpec"]["properties"]
