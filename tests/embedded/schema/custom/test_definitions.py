"""Definitions of custom resources: what they are checked for, and what they make the server serve."""

from typing import Any

import pytest

from tests.embedded.schema.custom.definitions import TEXT, definition, objects, served, version
from tests.embedded.schema.forms import FORMS, Refusal, changed, created, draft_of, refusal_of, updated
from understudy.embedded.schema.served_resource import Column, Strictness

PLAIN = version(objects({"a": TEXT}))


def test_a_definition_is_accepted_and_established_at_once() -> None:
    made = created("CustomResourceDefinition", definition(PLAIN))
    status = made["status"]
    assert [(one["type"], one["status"]) for one in status["conditions"]] == [
        ("NamesAccepted", "True"),
        ("Established", "True"),
    ]
    assert status["storedVersions"] == ["v1"]
    assert status["acceptedNames"]["singular"] == "trial"
    assert made["spec"]["names"]["listKind"] == "TrialList"
    assert made["spec"]["conversion"] == {"strategy": "None"}


def test_what_is_served() -> None:
    column = {"name": "State", "type": "string", "jsonPath": ".status.phase", "priority": 1}
    row = served(definition({**PLAIN, "additionalPrinterColumns": [column]}))
    assert (row.resource.key, row.resource.kind, row.resource.namespaced) == ("trials.example.com", "Trial", True)
    assert (row.singular, row.short_names, row.subresources) == ("trial", ("tr",), ("status",))
    assert row.printer_columns == ((Column("State", "string", priority=1), ".status.phase"),)


def test_without_columns_there_is_the_age() -> None:
    assert [path for _, path in served(definition(PLAIN)).printer_columns] == [".metadata.creationTimestamp"]


def test_a_deprecated_version_names_the_most_mature_one_after_it() -> None:
    names = ("v1alpha1", "v1beta1", "v1", "v2alpha1", "odd")
    versions = [version(PLAIN["schema"]["openAPIV3Schema"], name, storage=name == "v1") for name in names]
    for one in versions:
        one["deprecated"] = one["name"] in ("v1alpha1", "v1")
    assert served(definition(*versions)).deprecations == (
        ("v1alpha1", "example.com/v1alpha1 Trial is deprecated; use example.com/v1beta1 Trial"),
        ("v1", "example.com/v1 Trial is deprecated"),
    )


WRONG: list[tuple[dict[str, Any], str]] = [
    (definition(PLAIN) | {"metadata": {"name": "other"}}, 'metadata.name: Invalid value: "other": must be spec.names'),
    (definition(PLAIN, group="nodot"), 'spec.group: Invalid value: "nodot": should be a domain with at least one dot'),
    (definition(PLAIN, group="a.k8s.io"), "metadata.annotations[api-approved.kubernetes.io]: Required value"),
    (
        definition({**PLAIN, "storage": False}),
        'spec.versions: Invalid value: ["v1"]: must have exactly one version marked as storage version',
    ),
    (definition(PLAIN, PLAIN), 'spec.versions[1].name: Duplicate value: "v1"'),
    (
        definition({**PLAIN, "schema": {}}),
        "spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required",
    ),
    (
        definition(PLAIN, conversion={"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"]}}),
        'spec.conversion.strategy: Invalid value: "Webhook": webhooks are not called here',
    ),
    (definition(PLAIN, preserveUnknownFields=True), "spec.preserveUnknownFields: Invalid value: true"),
    (
        definition(PLAIN, names={"plural": "Trials", "kind": "Trial"}),
        'spec.names.plural: Invalid value: "Trials"',
    ),
    (
        definition({**PLAIN, "deprecationWarning": "use v2"}),
        'spec.versions[0].deprecationWarning: Invalid value: "use v2": can only be set for deprecated versions',
    ),
    (
        definition({**PLAIN, "deprecated": True, "deprecationWarning": ""}),
        'spec.versions[0].deprecationWarning: Invalid value: "": must not be an empty string',
    ),
    (
        definition({**PLAIN, "deprecated": True, "deprecationWarning": "x" * 257}),
        "spec.versions[0].deprecationWarning: Too long: may not be more than 256 bytes",
    ),
    (
        definition({**PLAIN, "deprecated": True, "deprecationWarning": "two\nlines"}),
        'spec.versions[0].deprecationWarning: Invalid value: "two\\nlines": must only contain printable characters',
    ),
    (definition(PLAIN, scope="Galaxy"), 'spec.scope: Unsupported value: "Galaxy"'),
    (definition(), "spec.versions: Required value"),
]


@pytest.mark.parametrize(("given", "cause"), WRONG, ids=[cause[:60] for _, cause in WRONG])
def test_what_is_wrong_is_named_with_its_field(given: dict[str, Any], cause: str) -> None:
    said = refusal_of("CustomResourceDefinition", given)
    assert said.code == 422
    assert [one for one in said.causes if one.startswith(cause)], said.causes


def test_a_typo_in_a_schema_is_refused() -> None:
    said = refusal_of(
        "CustomResourceDefinition", definition(version(objects({"a": {"type": "string", "patern": "x"}})))
    )
    assert said.code == 400
    assert said.message.endswith("properties[spec].properties[a].pattern?")


def test_rules_that_are_not_evaluated_are_said_to_be() -> None:
    ruled = objects({"a": {"type": "string", "x-kubernetes-validations": [{"rule": "self != ''"}]}})
    given = definition(version(ruled))
    warnings = FORMS["CustomResourceDefinition"].convert(given, Strictness.STRICT).warnings
    assert warnings == ("x-kubernetes-validations are kept, but this server does not evaluate CEL rules",)
    condition = created("CustomResourceDefinition", given)["status"]["conditions"][-1]
    assert (condition["type"], condition["status"]) == ("ValidationRulesEvaluated", "False")


def test_a_null_that_is_a_value_survives_reading() -> None:
    choice = {"type": "string", "nullable": True, "enum": ["a", None], "default": None, "title": None}
    made = created("CustomResourceDefinition", definition(version(objects({"a": choice}))))
    read_back = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["a"]
    assert read_back["enum"] == ["a", None]
    assert "title" not in read_back


def test_a_new_stored_version_is_remembered_beside_the_old_ones() -> None:
    old = draft_of("CustomResourceDefinition", definition(PLAIN))
    document = changed(old, "spec", "versions", to=[{**PLAIN, "storage": False}, version(objects({}), "v2")])
    after = updated("CustomResourceDefinition", old, document)
    assert after["status"]["storedVersions"] == ["v1", "v2"]
    assert after["metadata"]["generation"] == 2


def test_the_kind_cannot_change() -> None:
    old = draft_of("CustomResourceDefinition", definition(PLAIN))
    with Refusal() as said:
        updated("CustomResourceDefinition", old, changed(old, "spec", "scope", to="Cluster"))
    assert said.causes == ['spec.scope: Invalid value: "Cluster": field is immutable']
