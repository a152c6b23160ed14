"""Types of Kubernetes inside custom resources: known to the last field, wherever a schema names one."""

from typing import Any

import msgspec
import pytest
import yaml

from understudy.embedded.api.errors import ApiError
from understudy.embedded.api.served import Form, Strictness
from understudy.embedded.definitions import shipped
from understudy.embedded.schema.custom.budget import Budget
from understudy.embedded.schema.custom.core_types import CORE_TYPES, core_type
from understudy.embedded.schema.custom.definitions import DefinitionForm, served_by
from understudy.embedded.schema.custom.validation import validate
from understudy.embedded.schema.definitions import CustomResourceDefinition

Document = dict[str, Any]
LIMITS = {"nvidia.com/gpu": 1, "cpu": "500m", "x/y": 1.0}
CONTAINERS = [{"name": "main", "image": "any", "resources": {"limits": LIMITS}}]


def jobset(pod: Document, **job: Any) -> Document:
    template = {"spec": {**job, "template": {"spec": {"containers": CONTAINERS, **pod}}}}
    body = {"metadata": {"name": "js"}, "spec": {"replicatedJobs": [{"name": "w", "template": template}]}}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", **body}


def form() -> Form:
    read = DefinitionForm().convert(yaml.safe_load(shipped()["jobsets.jobset.x-k8s.io"]), Strictness.STRICT).draft
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
    assert [cause.field for cause in validate(core_type(name), value, "", Budget())] == [field]


def test_the_tree_has_the_fields_of_the_struct() -> None:
    for name, struct in CORE_TYPES.items():
        assert core_type(name).names() == [field.encode_name for field in msgspec.structs.fields(struct)]


def test_a_type_nobody_knows_is_refused() -> None:
    document = yaml.safe_load(shipped()["jobsets.jobset.x-k8s.io"])
    version = document["spec"]["versions"][0]
    version["schema"]["openAPIV3Schema"]["properties"]["spec"]["x-understudy-type"] = "PodSpecs"
    read = DefinitionForm().convert(document, Strictness.STRICT)
    with pytest.raises(ApiError, match="x-understudy-type"):
        DefinitionForm().admit_create(read.draft, lambda *_: None)
