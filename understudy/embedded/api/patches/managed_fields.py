"""Field ownership: metadata.managedFields into owners with sets of paths, and back."""

from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from understudy.embedded.api.patches.field_sets import Path, Paths, from_fields_v1, shown, to_fields_v1
from understudy.embedded.api.patches.json_values import same
from understudy.embedded.schema.errors import ApiError, Cause, Details, invalid

APPLY, UPDATE = "Apply", "Update"
MAX_UPDATERS = 10  # the oldest beyond that are merged into one
_ANCIENT = "ancient-changes"
_MAX_MANAGER = 128  # characters
_MOST_LISTED = 100


class Writer(msgspec.Struct, frozen=True):
    """The manager of a write, its API version and sub-resource, and the time (RFC 3339)."""

    manager: str
    api_version: str
    time: str
    subresource: str = ""


class Owner(msgspec.Struct, frozen=True):
    manager: str
    operation: str
    api_version: str
    time: str = ""
    subresource: str = ""
    paths: Paths = frozenset()

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """An applier is the same in every API version; an updater is not."""
        version = "" if self.operation == APPLY else self.api_version
        return (self.manager, self.operation, self.subresource, version)

    def owning(self, paths: Paths) -> "Owner":
        return msgspec.structs.replace(self, paths=paths)

    def __str__(self) -> str:
        through = f' with subresource "{self.subresource}"' if self.subresource else ""
        using = f" using {self.api_version}" if self.operation == UPDATE else ""
        return f'"{self.manager}"{through}{using}'


def applier(writer: Writer, paths: Paths) -> Owner:
    return Owner(writer.manager, APPLY, writer.api_version, writer.time, writer.subresource, paths)


def updater(writer: Writer, paths: Paths) -> Owner:
    return Owner(writer.manager, UPDATE, writer.api_version, writer.time, writer.subresource, paths)


def owners_of(document: Mapping[str, Any]) -> tuple[Owner, ...]:
    """Empty where managedFields is missing or cannot be read."""
    try:
        return tuple(_owner(entry) for entry in document.get("metadata", {}).get("managedFields") or ())
    except (AttributeError, TypeError, ValueError, msgspec.DecodeError, RecursionError):
        return ()


def _owner(entry: Mapping[str, Any]) -> Owner:
    read = msgspec.convert({key: value for key, value in entry.items() if value is not None}, _Entry)
    if read.operation not in (APPLY, UPDATE) or read.fields_type not in ("", "FieldsV1"):
        raise ValueError("neither applied nor updated")
    paths = from_fields_v1(read.fields_v1)
    return Owner(read.manager, read.operation, read.api_version, read.time, read.subresource, paths)


class _Entry(msgspec.Struct, rename="camel"):
    manager: str = ""
    operation: str = ""
    api_version: str = ""
    time: str = ""
    subresource: str = ""
    fields_type: str = ""
    fields_v1: dict[str, Any] = msgspec.field(name="fieldsV1", default_factory=dict)


def with_owners(document: Mapping[str, Any], owners: Iterable[Owner]) -> dict[str, Any]:
    """The document with these owners instead of its own. Owners without fields are left out."""
    entries = [_entry(owner) for owner in sorted(_fewer(list(owners)), key=_order) if owner.paths]
    metadata = {key: value for key, value in document.get("metadata", {}).items() if key != "managedFields"}
    return {**document, "metadata": metadata | ({"managedFields": entries} if entries else {})}


def differ_only_in_times(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether the documents differ in nothing but the times of managedFields."""
    return same(with_owners(old, ()), with_owners(new, ())) and same(_timeless(old), _timeless(new))


def _timeless(document: Mapping[str, Any]) -> dict[str, Any]:
    return with_owners(document, (msgspec.structs.replace(owner, time="") for owner in owners_of(document)))


def _order(owner: Owner) -> tuple[str, ...]:
    return (owner.operation, owner.time, *owner.identity)


def _fewer(owners: list[Owner]) -> list[Owner]:
    updaters = sorted((owner for owner in owners if owner.operation == UPDATE and owner.paths), key=_order)
    if len(updaters) <= MAX_UPDATERS:
        return owners
    surplus = updaters[: len(updaters) - MAX_UPDATERS + 1]
    paths = frozenset[Path]().union(*(owner.paths for owner in surplus))
    ancient = Owner(_ANCIENT, UPDATE, surplus[-1].api_version, surplus[-1].time, paths=paths)
    return [*(owner for owner in owners if owner not in surplus), ancient]


def _entry(owner: Owner) -> dict[str, Any]:
    entry: dict[str, Any] = {"manager": owner.manager, "operation": owner.operation, "apiVersion": owner.api_version}
    if owner.time:
        entry["time"] = owner.time
    entry |= {"fieldsType": "FieldsV1", "fieldsV1": to_fields_v1(owner.paths)}
    return entry | ({"subresource": owner.subresource} if owner.subresource else {})


def conflict_error(conflicts: Sequence[tuple[Owner, Path]]) -> ApiError:
    """A 409 with a cause for each field (the first hundred) of another owner that would change."""
    listed = conflicts[:_MOST_LISTED]
    causes = tuple(Cause("FieldManagerConflict", f"conflict with {owner}", shown(path)) for owner, path in listed)
    if len(conflicts) == 1:
        said = f"1 conflict: {causes[0].message}: {causes[0].field}"
    else:
        lines: list[str] = []
        for owner in dict.fromkeys(owner for owner, _ in listed):
            lines.append(f"conflicts with {owner}:")
            lines += [f"- {shown(path)}" for other, path in listed if other is owner]
        said = f"{len(conflicts)} conflicts: " + "\n".join(lines)
    return ApiError(HTTPStatus.CONFLICT, "Conflict", f"Apply failed with {said}", Details(causes=causes))


def manager_name(field_manager: str, user_agent: str) -> str:
    """The fieldManager of a request, else the program of its user agent. ApiError 422 for an invalid name."""
    if len(field_manager) > _MAX_MANAGER or not field_manager.isprintable():
        problem = f"may have at most {_MAX_MANAGER} printable characters"
        cause = Cause("FieldValueInvalid", f"Invalid value: {problem}", "fieldManager")
        raise invalid("PatchOptions", "meta.k8s.io", "", [cause])
    program = user_agent.partition("/")[0]
    return field_manager or "".join(letter for letter in program if letter.isprintable())[:_MAX_MANAGER] or "unknown"
