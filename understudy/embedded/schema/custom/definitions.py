"""CustomResourceDefinitions: checks, status, and the resource that the server serves for each."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from understudy.embedded.schema import causes
from understudy.embedded.schema.causes import child, member
from understudy.embedded.schema.custom import structural_schema
from understudy.embedded.schema.custom.custom_form import CustomForm, Version
from understudy.embedded.schema.custom.deprecations import check_deprecation, deprecations
from understudy.embedded.schema.errors import Cause
from understudy.embedded.schema.served_resource import (
    Column,
    DecodedObject,
    Lookup,
    PrinterColumns,
    ServedResource,
    Strictness,
)
from understudy.embedded.schema.typed_form import TOO_DEEP, KindRules, TypedForm, unreadable
from understudy.embedded.schema.types.apiextensions import (
    CustomResourceDefinition,
    CustomResourceDefinitionCondition,
    CustomResourceDefinitionNames,
    CustomResourceDefinitionStatus,
    CustomResourceDefinitionVersion,
    JSONSchemaProps,
)
from understudy.embedded.schema.validation import names
from understudy.objects.resources import DEFINITIONS, Resource

_APPROVED = "api-approved.kubernetes.io"
# "true": versions with nothing in common but their name; each object stays in the one it was made in, and is shown so.
KEEPS_VERSIONS = "understudy.dev/keeps-versions"
_UNEVALUATED = "x-kubernetes-validations are kept, but this server does not evaluate CEL rules"
_AGE = (Column("Age", "date", description="when the object was made"), ".metadata.creationTimestamp")


def complete(definition: CustomResourceDefinition) -> None:
    given = definition.spec.names
    given.singular = given.singular or given.kind.lower()
    given.list_kind = given.list_kind or f"{given.kind}List"


def begin(definition: CustomResourceDefinition, _: Lookup) -> None:
    definition.status = CustomResourceDefinitionStatus(
        accepted_names=definition.spec.names,
        conditions=_conditions(definition, definition.metadata.creation_timestamp or ""),
        stored_versions=[version.name for version in definition.spec.versions if version.storage],
    )


def _conditions(definition: CustomResourceDefinition, now: str) -> list[CustomResourceDefinitionCondition]:
    said = [
        ("NamesAccepted", "True", "NoConflicts", "no conflicts found"),
        ("Established", "True", "InitialNamesAccepted", "the initial names have been accepted"),
    ]
    if any(structural_schema.has_rules(schema) for schema in _schemas(definition)):
        said.append(("ValidationRulesEvaluated", "False", "NotSupported", _UNEVALUATED))
    return [
        CustomResourceDefinitionCondition(
            type=kind, status=status, reason=reason, message=message, last_transition_time=now or UNSET
        )
        for kind, status, reason, message in said
    ]


def inherit(new: CustomResourceDefinition, old: CustomResourceDefinition) -> None:
    """The status follows the spec at once: no controller has to accept names first."""
    stored = list(old.status.stored_versions or [])
    stored += [version.name for version in new.spec.versions if version.storage and version.name not in stored]
    before = {condition.type: condition for condition in old.status.conditions or ()}
    since = new.metadata.creation_timestamp or ""
    complete(new)
    new.status = CustomResourceDefinitionStatus(
        accepted_names=new.spec.names,
        conditions=[before.get(condition.type, condition) for condition in _conditions(new, since)],
        stored_versions=stored,
    )


def check(definition: CustomResourceDefinition) -> Iterator[Cause]:
    spec = definition.spec
    yield from _group(definition)
    yield from _names(spec.names)
    if definition.metadata.name != f"{spec.names.plural}.{spec.group}":
        yield causes.bad_value(
            "metadata.name", definition.metadata.name or "", 'must be spec.names.plural+"."+spec.group'
        )
    if spec.conversion.strategy == "Webhook":
        yield causes.bad_value(
            "spec.conversion.strategy",
            "Webhook",
            "webhooks are not called here: versions are turned into each other by their apiVersion alone (None)",
        )
    if spec.preserve_unknown_fields is True:
        yield causes.bad_value(
            "spec.preserveUnknownFields",
            True,
            "must be false in order to create a definition; use x-kubernetes-preserve-unknown-fields in the schema",
        )
    yield from _versions(definition)


def _group(definition: CustomResourceDefinition) -> Iterator[Cause]:
    group = definition.spec.group
    if problem := names.subdomain(group):
        yield causes.bad_value("spec.group", group, problem)
    elif "." not in group:
        yield causes.bad_value("spec.group", group, "should be a domain with at least one dot")
    protected = group in ("k8s.io", "kubernetes.io") or group.endswith((".k8s.io", ".kubernetes.io"))
    if protected and _APPROVED not in (definition.metadata.annotations or {}):
        yield causes.required(
            f"metadata.annotations[{_APPROVED}]",
            f'protected groups must have approval annotation "{_APPROVED}"',
        )


def _names(given: CustomResourceDefinitionNames) -> Iterator[Cause]:
    for field, name in (
        ("plural", given.plural),
        ("singular", given.singular or ""),
        ("kind", given.kind.lower()),
        ("listKind", (given.list_kind or "").lower()),
    ):
        if name and (problem := names.label_1035(name)):
            yield causes.bad_value(f"spec.names.{field}", name, problem)
    for field, listed in (("shortNames", given.short_names), ("categories", given.categories)):
        for i, name in enumerate(listed or ()):
            if problem := names.label_1035(name):
                yield causes.bad_value(f"spec.names.{field}[{i}]", name, problem)
    if given.list_kind == given.kind:
        yield causes.bad_value("spec.names.listKind", given.list_kind, "kind and listKind may not be the same")


def _versions(definition: CustomResourceDefinition) -> Iterator[Cause]:
    seen = set()
    for i, version in enumerate(definition.spec.versions):
        where = member("spec.versions", i)
        if problem := names.label_1035(version.name):
            yield causes.bad_value(child(where, "name"), version.name, problem)
        if version.name in seen:
            yield causes.duplicate(child(where, "name"), version.name)
        seen.add(version.name)
        yield from check_deprecation(version, where)
        schema = _schema(version)
        if schema is None:
            yield causes.required(child(where, "schema.openAPIV3Schema"), "schemas are required")
        else:
            yield from structural_schema.schema_problems(schema, child(where, "schema.openAPIV3Schema"))
        for n, column in enumerate(version.additional_printer_columns or ()):
            if not column.json_path.startswith("."):
                yield causes.bad_value(
                    f"{where}.additionalPrinterColumns[{n}].jsonPath", column.json_path, "must start with a dot"
                )
    if sum(version.storage for version in definition.spec.versions) != 1:
        listed = [version.name for version in definition.spec.versions]
        yield causes.bad_value("spec.versions", listed, "must have exactly one version marked as storage version")


def changed(new: CustomResourceDefinition, old: CustomResourceDefinition) -> Iterator[Cause]:
    for field, after, before in (
        ("spec.group", new.spec.group, old.spec.group),
        ("spec.scope", new.spec.scope, old.spec.scope),
        ("spec.names.plural", new.spec.names.plural, old.spec.names.plural),
        ("spec.names.kind", new.spec.names.kind, old.spec.names.kind),
    ):
        if after != before:
            yield causes.bad_value(field, after, "field is immutable")


def _schema(version: CustomResourceDefinitionVersion) -> JSONSchemaProps | None:
    schema = version.schema.open_api_v3_schema if version.schema else None
    return schema or None


def _schemas(definition: CustomResourceDefinition) -> list[JSONSchemaProps]:
    return [schema for version in definition.spec.versions if (schema := _schema(version)) is not None]


class DefinitionForm(TypedForm[CustomResourceDefinition]):
    """Warns about validation rules that this server does not evaluate."""

    def __init__(self) -> None:
        rules = KindRules[CustomResourceDefinition](
            begin=begin,
            inherit=inherit,
            complete=complete,
            check=check,
            changed=changed,
            counted=True,
            nulls_matter=True,
        )
        super().__init__(DEFINITIONS, CustomResourceDefinition, rules)

    def read(self, body: bytes, strictness: Strictness) -> DecodedObject:
        return self._warned(super().read(body, strictness))

    def convert(self, document: Mapping[str, Any], strictness: Strictness) -> DecodedObject:
        return self._warned(super().convert(document, strictness))

    def _warned(self, reading: DecodedObject) -> DecodedObject:
        definition = reading.draft
        try:
            unevaluated = isinstance(definition, CustomResourceDefinition) and any(
                map(structural_schema.has_rules, _schemas(definition))
            )
        except RecursionError:
            raise unreadable(DEFINITIONS, TOO_DEEP) from None
        warnings = (
            (*reading.warnings, _UNEVALUATED)
            if unevaluated and _UNEVALUATED not in reading.warnings
            else reading.warnings
        )
        return DecodedObject(definition, warnings)


def served_by(definition: CustomResourceDefinition) -> tuple[ServedResource, ...]:
    """The served resource of a definition; none if it serves no version."""
    spec = definition.spec
    offered = sorted((version for version in spec.versions if version.served), key=lambda version: not version.storage)
    if not offered:
        return ()
    stored = offered[0]
    resource = Resource(spec.group, stored.name, spec.names.plural, spec.names.kind, spec.scope == "Namespaced")
    keeps_versions = (definition.metadata.annotations or {}).get(KEEPS_VERSIONS) == "true"
    kept = tuple((f"{spec.group}/{version.name}", _columns(version)) for version in offered) if keeps_versions else ()
    return (
        ServedResource(
            resource,
            CustomForm(resource, [_version(version) for version in offered], keeps_versions),
            spec.names.singular or spec.names.kind.lower(),
            tuple(spec.names.short_names or ()),
            tuple(spec.names.categories or ()),
            ("status",) if _has_status(stored) else (),
            tuple(version.name for version in offered[1:]),
            _columns(stored) or (_AGE,),
            keeps_versions,
            kept,
            deprecations(spec),
        ),
    )


def _columns(version: CustomResourceDefinitionVersion) -> PrinterColumns:
    return tuple(
        (Column(one.name, one.type, one.format or "", one.description or "", one.priority or 0), one.json_path)
        for one in version.additional_printer_columns or ()
    )


def _version(version: CustomResourceDefinitionVersion) -> Version:
    schema = _schema(version) or JSONSchemaProps(type="object", preserve_unknown_fields=True)
    return Version(version.name, msgspec.json.encode(schema), _has_status(version))


def _has_status(version: CustomResourceDefinitionVersion) -> bool:
    return version.subresources is not UNSET and version.subresources.status is not UNSET
