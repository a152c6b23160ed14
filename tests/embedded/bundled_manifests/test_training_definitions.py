"""The definitions of the training kinds: alike where the kinds are, and strict about what pods may say."""

from typing import Any

import msgspec
import pytest
import yaml

from tests.objects.documents import Document
from understudy.embedded.manifests.definitions import bundled_definitions
from understudy.embedded.schema.custom.definitions import DefinitionForm, served_by
from understudy.embedded.schema.errors import ApiError
from understudy.embedded.schema.served_resource import Form, Strictness
from understudy.embedded.schema.types.apiextensions import CustomResourceDefinition
from understudy.kinds.children.training.spec import TrainingKind
from understudy.kinds.training_operator import jaxjob, paddlejob, pytorchjob, tfjob, xgboostjob

KINDS = {module.RULES.name: module.RULES for module in (pytorchjob, tfjob, xgboostjob, paddlejob, jaxjob)}
OWN_FIELDS = ("nprocPerNode", "elasticPolicy", "successPolicy", "enableDynamicWorker")


def definition(kind: TrainingKind) -> Document:
    found: Document = yaml.safe_load(bundled_definitions()[kind.resource.key])
    return found


def schema(kind: TrainingKind) -> Document:
    (version,) = definition(kind)["spec"]["versions"]
    found: Document = version["schema"]["openAPIV3Schema"]["properties"]
    return found


def replicas(kind: TrainingKind) -> Document:
    found: Document = schema(kind)["spec"]["properties"][kind.field]["additionalProperties"]["properties"]
    return found


def form(kind: TrainingKind) -> Form:
    read = DefinitionForm().convert(definition(kind), Strictness.STRICT).draft
    assert isinstance(read, CustomResourceDefinition)
    (served,) = served_by(read)
    return served.form


def job(kind: TrainingKind, worker: Document, **spec: Any) -> bytes:
    body = {"spec": {kind.field: {"Worker": worker}, **spec}, "metadata": {"name": "train"}}
    return msgspec.json.encode({"apiVersion": kind.resource.api_version, "kind": kind.name, **body})


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_what_they_share_is_the_same_everywhere(kind: TrainingKind) -> None:
    model, own = KINDS["PyTorchJob"], schema(kind)
    assert own["status"] == schema(model)["status"]
    assert own["spec"]["properties"]["runPolicy"] == schema(model)["spec"]["properties"]["runPolicy"]
    assert set(own["spec"]["properties"]) - set(OWN_FIELDS) == {"runPolicy", kind.field}
    mine, theirs = replicas(kind), replicas(model)
    assert kind.container in mine["template"].pop("description")
    theirs["template"].pop("description")
    assert mine == theirs
    (version,) = definition(kind)["spec"]["versions"]
    columns = [(column["name"], column["jsonPath"]) for column in version["additionalPrinterColumns"]]
    assert columns == [("State", ".status.conditions[-1:].type"), ("Age", ".metadata.creationTimestamp")]


TEMPLATE: Document = {"spec": {"containers": [{"name": "jax", "image": "any"}]}}


@pytest.mark.parametrize(
    ("worker", "spec", "unknown", "meant"),
    [
        ({"spec": TEMPLATE["spec"]}, {}, "Worker.spec", "Worker.template.spec"),
        ({"template": TEMPLATE, "affinity": {}}, {}, "Worker.affinity", "Worker.template.spec.affinity"),
        ({"template": TEMPLATE, "nodeSelector": {}}, {}, "Worker.nodeSelector", "Worker.template.spec.nodeSelector"),
        (
            {"template": {"spec": {**TEMPLATE["spec"], "nodeSelectr": {}}}},
            {},
            "Worker.template.spec.nodeSelectr",
            "Worker.template.spec.nodeSelector",
        ),
        (
            {"template": {"spec": {"containers": [{"name": "jax", "comand": []}]}}},
            {},
            "Worker.template.spec.containers[0].comand",
            "Worker.template.spec.containers[0].command",
        ),
        (
            {"template": {"spec": {**TEMPLATE["spec"], "affinity": {"nodeAfinity": {}}}}},
            {},
            "Worker.template.spec.affinity.nodeAfinity",
            "Worker.template.spec.affinity.nodeAffinity",
        ),
        ({"template": TEMPLATE, "restartPolcy": "Never"}, {}, "Worker.restartPolcy", "Worker.restartPolicy"),
    ],
)
def test_what_does_not_belong_there_is_refused_with_a_hint(
    worker: Document, spec: Document, unknown: str, meant: str
) -> None:
    jax = KINDS["JAXJob"]
    with pytest.raises(ApiError) as refused:
        form(jax).read(job(jax, worker, **spec), Strictness.STRICT)
    words = str(refused.value)
    assert f'unknown field "spec.jaxReplicaSpecs.{unknown}"' in words
    assert f"spec.jaxReplicaSpecs.{meant}" in words


def test_a_job_gets_its_defaults_and_keeps_what_pods_may_say() -> None:
    jax = KINDS["JAXJob"]
    spec = {**TEMPLATE["spec"], "tolerations": [{"operator": "Exists"}], "volumes": [{"name": "x", "emptyDir": {}}]}
    made = form(jax).read(job(jax, {"template": {"spec": spec}}, runPolicy={}), Strictness.STRICT).draft.document()
    worker = made["spec"]["jaxReplicaSpecs"]["Worker"]
    assert worker["replicas"] == 1
    assert made["spec"]["runPolicy"]["suspend"] is False
    assert worker["template"]["spec"] == spec
