"""The form of a custom resource: JSON into metadata and plain content, validated against the schema of its version."""

import itertools
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, cast

import msgspec
from msgspec import UNSET

from understudy.embedded.schema.causes import MAX_CAUSES, bad_value, child
from understudy.embedded.schema.custom.pruning import prune_and_default
from understudy.embedded.schema.custom.structural_schema import SchemaNode, build_tree
from understudy.embedded.schema.custom.validation import validate
from understudy.embedded.schema.custom.work_budget import BudgetExhausted, WorkBudget
from understudy.embedded.schema.decoding_errors import Diagnosis, diagnose
from understudy.embedded.schema.errors import ApiError, Cause, bad_request, invalid
from understudy.embedded.schema.served_resource import DecodedObject, Draft, Lookup, Strictness
from understudy.embedded.schema.typed_form import (
    TOO_DEEP,
    list_keys,
    parsed,
    refuse_unreadable,
    unreadable,
    warnings_of,
    wrong_kind,
)
from understudy.embedded.schema.types.apiextensions import JSONSchemaProps
from understudy.embedded.schema.types.meta import ObjectMeta
from understudy.embedded.schema.types.values import decode_hook, encode_hook, is_deeper_than
from understudy.embedded.schema.validation import metadata, names
from understudy.objects.resources import Resource

MAX_DEPTH = 128
_TOO_MUCH = "the object is too large to be checked against the schema of its kind"
_HEAD = ("apiVersion", "kind", "metadata")
_ENCODER = msgspec.json.Encoder(enc_hook=encode_hook)


class CustomDraft:
    """A custom object: typed metadata, plain content."""

    __slots__ = ("api_version", "content", "kind", "metadata")

    def __init__(self, api_version: str, kind: str, about: ObjectMeta, content: dict[str, Any]) -> None:
        self.api_version = api_version
        self.kind = kind
        self.metadata = about
        self.content = content

    def encode(self) -> bytes:
        return _ENCODER.encode(self._whole())

    def document(self) -> dict[str, Any]:
        plain: dict[str, Any] = msgspec.to_builtins(self._whole(), enc_hook=encode_hook)
        return plain

    def _whole(self) -> dict[str, Any]:
        head = {"apiVersion": self.api_version, "kind": self.kind, "metadata": self.metadata}
        return head | self.content


class Version(msgspec.Struct, frozen=True):
    """One version of a custom resource. The schema is kept as text: most are large, and few are ever used."""

    name: str
    schema: bytes
    has_status: bool = False


class CustomForm:
    """Implements Form. Objects are stored in the version of `resource`. With `keeps_versions` they are stored in the
    version they were created in, and validated against the schema of that version for as long as they exist.
    """

    def __init__(self, resource: Resource, versions: Sequence[Version], keeps_versions: bool = False) -> None:
        self.resource = resource
        self._keeps_versions = keeps_versions
        self._versions = {version.name: version for version in versions}
        self._trees: dict[str, SchemaNode] = {}

    @cached_property
    def list_keys(self) -> Mapping[str, tuple[str, ...]]:
        found = {f"metadata.{path}": keys for path, keys in list_keys(ObjectMeta).items()}
        for version in self._versions if self._keeps_versions else (self.resource.version,):
            _collect(self._tree(version), "", found)
        return found

    def read(self, body: bytes, strictness: Strictness) -> DecodedObject:
        return self._convert(parsed(body, self.resource.kind), strictness)

    def convert(self, document: Mapping[str, Any], strictness: Strictness) -> DecodedObject:
        try:
            copied = msgspec.to_builtins(document)
        except RecursionError:
            raise unreadable(self.resource, TOO_DEEP) from None
        return self._convert(copied, strictness)

    def _convert(self, document: dict[str, Any], strictness: Strictness) -> DecodedObject:
        if is_deeper_than(document, MAX_DEPTH):
            raise unreadable(self.resource, TOO_DEEP)
        version = self._version_of(document)
        content = {name: value for name, value in document.items() if name not in _HEAD}
        about, found = self._metadata(document.get("metadata"))
        try:
            found.unknown += prune_and_default(self._tree(version), content, WorkBudget())
        except BudgetExhausted:
            raise bad_request(_TOO_MUCH) from None
        given = msgspec.structs.replace(self.resource, version=version)
        refuse_unreadable(found, given, document, strictness)
        kept = given if self._keeps_versions else self.resource
        draft = CustomDraft(kept.api_version, self.resource.kind, about, content)
        return DecodedObject(draft, warnings_of(found, strictness))

    def load(self, body: bytes) -> Draft:
        document = msgspec.json.decode(body)
        about = msgspec.convert(document.pop("metadata"), ObjectMeta)
        content = {name: value for name, value in document.items() if name not in _HEAD}
        api_version = document["apiVersion"] if self._keeps_versions else self.resource.api_version
        return CustomDraft(api_version, self.resource.kind, about, content)

    def admit_create(self, draft: Draft, lookup: Lookup) -> None:  # noqa: ARG002
        new = cast(CustomDraft, draft)
        new.metadata.generation = 1
        new.metadata.self_link = UNSET
        new.metadata.deletion_timestamp = new.metadata.deletion_grace_period_seconds = UNSET
        if self._has_status(new):
            new.content.pop("status", None)
        self._check(new)

    def admit_update(self, draft: Draft, old: Draft, sub: str, lookup: Lookup) -> None:  # noqa: ARG002
        new, before = cast(CustomDraft, draft), cast(CustomDraft, old)
        if new.api_version != before.api_version:
            problem = f"field is immutable: it was made in {before.api_version}, and stays in it"
            raise self._invalid(before.metadata.name or "", [bad_value("apiVersion", new.api_version, problem)])
        metadata.carry(new.metadata, before.metadata)
        if sub == "status":
            self._keep_all_but_status(new, before)
        elif self._has_status(new):
            new.content.pop("status", None)
            if "status" in before.content:
                new.content["status"] = before.content["status"]
        self._check(new)
        if self._judged(new) != self._judged(before):
            new.metadata.generation = (before.metadata.generation or 0) + 1

    def _keep_all_but_status(self, new: CustomDraft, before: CustomDraft) -> None:
        status = new.content.get("status")
        new.content = {name: value for name, value in before.content.items() if name != "status"}
        if status is not None:
            new.content["status"] = status
        about = before.metadata
        new.metadata.labels, new.metadata.annotations = about.labels, about.annotations
        new.metadata.finalizers, new.metadata.owner_references = about.finalizers, about.owner_references

    def _judged(self, draft: CustomDraft) -> dict[str, Any]:
        """A change of this content increments metadata.generation."""
        return {name: value for name, value in draft.content.items() if name != "status" or not self._has_status(draft)}

    def _version(self, draft: CustomDraft) -> str:
        """The version whose schema the object is validated against."""
        version = draft.api_version.rpartition("/")[2]
        return version if version in self._versions else self.resource.version  # its version is no longer served

    def _has_status(self, draft: CustomDraft) -> bool:
        return self._versions[self._version(draft)].has_status

    def _check(self, draft: CustomDraft) -> None:
        found = list(metadata.check(draft.metadata, names.subdomain))
        try:
            tree = self._tree(self._version(draft))
            found += itertools.islice(validate(tree, draft.content, "", WorkBudget()), MAX_CAUSES)
        except BudgetExhausted:
            raise bad_request(_TOO_MUCH) from None
        if found:
            raise self._invalid(draft.metadata.name or "", found)

    def _invalid(self, name: str, found: list[Cause]) -> ApiError:
        return invalid(self.resource.kind, self.resource.group, name, found)

    def _version_of(self, document: Mapping[str, Any]) -> str:
        kind, api_version = document.get("kind"), document.get("apiVersion")
        if self._keeps_versions and not api_version:
            known = ", ".join(f"{self.resource.group}/{version}" for version in self._versions)
            raise bad_request(f"apiVersion is missing: a {self.resource.kind} is one of {known}")
        group, _, version = str(api_version or self.resource.api_version).rpartition("/")
        if (
            (kind or self.resource.kind) != self.resource.kind
            or group != self.resource.group
            or version not in self._versions
        ):
            raise wrong_kind(str(kind or self.resource.kind), str(api_version or ""), self.resource)
        return version

    def _metadata(self, given: Any) -> tuple[ObjectMeta, Diagnosis]:
        try:
            return msgspec.convert(given or {}, ObjectMeta, dec_hook=decode_hook), Diagnosis()
        except msgspec.ValidationError:
            found = diagnose(ObjectMeta, given)
        found.unknown = [
            msgspec.structs.replace(
                one, path=child("metadata", one.path), meant=one.meant and child("metadata", one.meant)
            )
            for one in found.unknown
        ]
        if found.ill_typed:
            return ObjectMeta(), found
        return msgspec.convert(found.cleaned, ObjectMeta, dec_hook=decode_hook), found

    def schema(self, version: str) -> dict[str, Any]:
        """The schema as the definition contains it."""
        plain: dict[str, Any] = msgspec.json.decode(self._versions[version].schema)
        return plain

    def _tree(self, version: str) -> SchemaNode:
        if version not in self._trees:
            schema = msgspec.json.decode(self._versions[version].schema, type=JSONSchemaProps)
            self._trees[version] = build_tree(schema)
        return self._trees[version]


def _collect(node: SchemaNode, path: str, found: dict[str, tuple[str, ...]]) -> None:
    """Lists that the schema declares to be merged item by item."""
    if node.list_type == "map":
        found[path] = node.list_keys
    elif node.list_type == "set":
        found[path] = ()
    for name, below in node.properties.items():
        _collect(below, f"{path}.{name}".lstrip("."), found)
    if node.items is not None:
        _collect(node.items, path, found)
