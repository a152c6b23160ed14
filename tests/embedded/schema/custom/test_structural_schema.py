"""Which schemas are structural schemas, and which types of Kubernetes they may name."""

import json
from typing import Any

import msgspec
import pytest
import yaml

from tests.embedded.schema.custom.definitions import TEXT, definition, objects, version
from tests.embedded.schema.forms import FORMS, Refusal, no_object, refusal_of
from understudy.embedded.manifests.definitions import bundled_definitions
from understudy.embedded.schema.custom.definitions import DefinitionForm, served_by
from understudy.embedded.schema.custom.structural_schema import CORE_TYPES, core_type
from understudy.embedded.schema.custom.validation import validate
from understudy.embedded.schema.custom.work_budget import WorkBudget
from understudy.embedded.schema.errors import ApiError
from understudy.embedded.schema.served_resource import Form, Strictness
from understudy.embedded.schema.types.apiextensions import CustomResourceDefinition

ROOT = "spec.versions[0].schema.openAPIV3Schema"
AT = f"{ROOT}.properties[spec].properties[a]"
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"type": "array", "items": TEXT}, f'{ROOT}.type: Invalid value: "array": must be "object" at the root'),
    (objects({"a": {}}), f"{AT}.type: Required value: must not be empty for specified object fields"),
    (objects({"a": {"type": "array"}}), f"{AT}.items: Required value: must be specified"),
    (objects({"a": {"type": "thing"}}), f'{AT}.type: Unsupported value: "thing": supported values: "array", "boolean"'),
    (
        objects({"a": {"type": "string", "pattern": "(?=x)"}}),
        f'{AT}.pattern: Invalid value: "(?=x)": must be a valid regular expression, but isn\'t',
    ),
    (
        objects({"a": {"type": "object", "properties": {"b": TEXT}, "additionalProperties": TEXT}}),
        f"{AT}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
    ),
    (
        objects({"a": {"type": "object", "additionalProperties": False}}),
        f"{AT}.additionalProperties: Forbidden: additionalProperties cannot be set to false",
    ),
    (objects({"a": {"type": "string", "$ref": "#/x"}}), f"{AT}.$ref: Forbidden"),
    (objects({"a": {"type": "array", "items": TEXT, "uniqueItems": True}}), f"{AT}.uniqueItems: Forbidden"),
    (
        objects({"a": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "map"}}),
        f"{AT}.x-kubernetes-list-map-keys: Required value",
    ),
    (objects({"a": {"type": "string", "x-kubernetes-int-or-string": True}}), f"{AT}.type: Invalid value"),
]


@pytest.mark.parametrize(("schema", "cause"), WRONG, ids=[cause[len(ROOT) :] for _, cause in WRONG])
def test_schemas_are_structural(schema: dict[str, Any], cause: str) -> None:
    said = refusal_of("CustomResourceDefinition", definition(version(schema)))
    assert said.code == 422
    assert [one for one in said.causes if one.startswith(cause)], said.causes


@pytest.mark.parametrize("levels", [100, 200, 20_000])
def test_towers_of_schemas_are_refused(levels: int) -> None:
    text = '{"type":"object","properties":{"a":' * levels + '{"type":"string"}' + "}}" * levels
    whole = json.dumps(definition(version({"type": "object"}))).replace('{"type": "object"}', text)
    form = FORMS["CustomResourceDefinition"]
    with Refusal() as said:
        form.admit_create(form.read(whole.encode(), Strictness.STRICT).draft, no_object)
    assert said.code in (400, 422)


def test_a_flood_of_schemas_is_refused() -> None:
    wide = {f"f{i}": TEXT for i in range(61_000)}
    said = refusal_of("CustomResourceDefinition", definition(version(objects(wide))))
    assert "at most 60000 parts" in said.message


Document = dict[str, Any]
LIMITS = {"nvidia.com/gpu": 1, "cpu": "500m", "x/y": 1.0}
CONTAINERS = [{"name": "main", "image": "any", "resources": {"limits": LIMITS}}]


def jobset(pod: Document, **job: Any) -> Document:
    template = {"spec": {**job, "template": {"spec": {"containers": CONTAINERS, **pod}}}}
    body = {"metadata": {"name": "js"}, "spec": {"replicatedJobs": [{"name": "w", "template": template}]}}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", **body}


def form() -> Form:
    read = (
        DefinitionForm()
        .convert(yaml.safe_load(bundled_definitions()["jobsets.jobset.x-k8s.io"]), Strictness.STRICT)
        .draft
    )
    assert isinstance(read, CustomResourceDefinition)
    (served,) = served_by(read)
    return served.form


@pytest.mark.parametrize(
    ("pod", "job", "unknown", "meant"),
    [
        ({"priorityClass": "high"}, {}, "template.spec.priorityClass", "template.spec.priorityClassName"),
        ({"tolerations": [{"keys": "a"}]}, {}, "template.spec.tolerations[0].keys", "template.spec.tolerations[0].key"),
        ({}, {"backofLimit": 3}, "backofLimit", "backoffLimit"),
        ({}, {"nodeSelector": {}}, "nodeSelector", "template.spec.nodeSelector"),
    ],
)
def test_a_misspelt_field_of_a_template_is_refused_with_a_hint(
    pod: Document, job: Document, unknown: str, meant: str
) -> None:
    with pytest.raises(ApiError) as refused:
        form().convert(jobset(pod, **job), Strictness.STRICT)
    place = "spec.replicatedJobs[0].template.spec"
    assert f'unknown field "{place}.{unknown}"' in str(refused.value)
    assert f"{place}.{meant}" in str(refused.value)


def test_what_a_template_may_say_is_kept_as_it_is() -> None:
    pod = {"terminationGracePeriodSeconds": 3, "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}]}
    given = jobset(pod, backoffLimit=0, podFailurePolicy={"rules": [{"action": "Ignore", "onPodConditions": []}]})
    read = form().convert(given, Strictness.STRICT)
    kept = read.draft.document()["spec"]["replicatedJobs"][0]["template"]["spec"]
    assert kept == given["spec"]["replicatedJobs"][0]["template"]["spec"]


@pytest.mark.parametrize(
    ("name", "value", "field"),
    [
        ("PodSpec", {"containers": []}, "containers"),
        ("PodSpec", {}, "containers"),
        ("PodSpec", {"containers": [{"image": "any"}]}, "containers[0].name"),
        ("PodSpec", {"containers": CONTAINERS, "hostNetwork": "yes"}, "hostNetwork"),
        ("JobSpec", {"template": {"spec": {"containers": CONTAINERS}}, "parallelism": "2"}, "parallelism"),
    ],
)
def test_what_is_missing_or_of_another_type_is_found(name: str, value: Document, field: str) -> None:
    assert [cause.field for cause in validate(core_type(name), value, "", WorkBudget())] == [field]


def test_the_tree_has_the_fields_of_the_struct() -> None:
    for name, struct in CORE_TYPES.items():
        assert core_type(name).names() == [field.encode_name for field in msgspec.structs.fields(struct)]


def test_an_unknown_type_is_refused() -> None:
    document = yaml.safe_load(bundled_definitions()["jobsets.jobset.x-k8s.io"])
    version = document["spec"]["versions"][0]
    version["schema"]["openAPIV3Schema"]["properties"]["spec"]["x-understudy-type"] = "PodSpecs"
    read = DefinitionForm().convert(document, Strictness.STRICT)
    with pytest.raises(ApiError, match="x-understudy-type"):
        DefinitionForm().admit_create(read.draft, lambda *_: None)
