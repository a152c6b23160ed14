"""Metadata: what an update keeps, checks of labels, annotations, owners and finalizers, and equality of values."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from understudy.embedded.schema import causes
from understudy.embedded.schema.errors import Cause
from understudy.embedded.schema.types.meta import ObjectMeta
from understudy.embedded.schema.types.values import is_deeper_than
from understudy.embedded.schema.validation import names
from understudy.embedded.schema.validation.names import NameRule

_EMPTY: tuple[Any, ...] = (None, "", False, 0, [], {})


def alike(one: Any, other: Any) -> bool:
    return bool(one == other) or without_empty(one) == without_empty(other)


def without_empty(value: Any) -> Any:
    """Plain values, without empty ones."""
    match value:
        case msgspec.UNSET:
            return None
        case msgspec.Struct():
            return without_empty(msgspec.to_builtins(value, enc_hook=str))
        case dict():
            kept = ((key, without_empty(item)) for key, item in value.items())
            return {key: item for key, item in kept if item not in _EMPTY}
        case list():
            return [without_empty(item) for item in value]
    return value


MAX_ANNOTATIONS = MAX_LABELS = 256 * 1024  # bytes of all keys and values
MAX_FIELD_LEVELS = 128


def check(metadata: ObjectMeta, name_rule: NameRule) -> Iterator[Cause]:
    if not metadata.name:
        yield causes.required("metadata.name", "name or generateName is required")
    elif problem := name_rule(metadata.name):
        yield causes.bad_value("metadata.name", metadata.name, problem)
    if metadata.labels:
        yield from labels(metadata.labels, "metadata.labels")
    if metadata.annotations:
        yield from annotations(metadata.annotations, "metadata.annotations")
    if metadata.finalizers:
        yield from _finalizers(metadata.finalizers)
    if metadata.owner_references:
        yield from _owners(metadata)
    for i, entry in enumerate(metadata.managed_fields or ()):
        if is_deeper_than(entry.fields_v1, MAX_FIELD_LEVELS):
            yield causes.not_allowed(f"metadata.managedFields[{i}].fieldsV1", "is nested too deeply")


def labels(given: Mapping[str, str], field: str) -> Iterator[Cause]:
    """Kubernetes limits annotations only. Every watcher with a selector reads all labels of every object, so they are
    limited here, too."""
    if _size(given) > MAX_LABELS:
        yield causes.too_long(field, MAX_LABELS)
        return
    for key, value in given.items():
        if problem := names.qualified(key):
            yield causes.bad_value(field, key, problem)
        if problem := names.label_value(value):
            yield causes.bad_value(field, value, problem)


def annotations(given: Mapping[str, str], field: str) -> Iterator[Cause]:
    for key in given:
        if problem := names.qualified(key.lower()):
            yield causes.bad_value(field, key, problem)
    if _size(given) > MAX_ANNOTATIONS:
        yield causes.too_long(field, MAX_ANNOTATIONS)


def _size(given: Mapping[str, str]) -> int:
    return sum(
        len(key.encode()) + (len(value) if value.isascii() else len(value.encode())) for key, value in given.items()
    )


def _finalizers(finalizers: list[str]) -> Iterator[Cause]:
    for i, finalizer in enumerate(finalizers):
        if problem := names.qualified(finalizer):
            yield causes.bad_value(causes.member("metadata.finalizers", i), finalizer, problem)


def _owners(metadata: ObjectMeta) -> Iterator[Cause]:
    owners = metadata.owner_references or []
    controllers = [owner.name for owner in owners if owner.controller is True]
    if len(controllers) > 1:
        yield causes.bad_value(
            "metadata.ownerReferences",
            controllers,
            "Only one reference can have Controller set to true. "
            f'Found "true" in references for {controllers[0]} and {controllers[1]}',
        )


def carry(new: ObjectMeta, old: ObjectMeta) -> None:
    """Keeps the fields that an update cannot set."""
    new.name = old.name
    new.namespace = old.namespace
    new.generate_name = old.generate_name
    new.uid = old.uid
    new.self_link = UNSET
    new.generation = old.generation
    new.creation_timestamp = old.creation_timestamp
    new.deletion_timestamp = old.deletion_timestamp
    new.deletion_grace_period_seconds = old.deletion_grace_period_seconds
