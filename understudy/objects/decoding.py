"""Turns a plain document, or its JSON text, into the struct of its kind, or says which field is wrong and why."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from understudy.objects.cluster_objects import (
    Namespace,
    PersistentVolume,
    PersistentVolumeClaim,
    PodDisruptionBudget,
    PriorityClass,
    StorageClass,
)
from understudy.objects.drain_requests import DrainRequest
from understudy.objects.errors import BadObject, at
from understudy.objects.meta import KubeObject, title
from understudy.objects.nodes import Lease, Node
from understudy.objects.pod_groups import CoschedulingGroup, PodGroup, VolcanoGroup
from understudy.objects.pods import Pod
from understudy.objects.validation import ProblemsOf, check, no_problems

StructsByKind = Mapping[tuple[str, str], type[KubeObject]]  # by API group and kind

STRUCTS: StructsByKind = {
    ("", "Pod"): Pod,
    ("", "Node"): Node,
    ("", "Namespace"): Namespace,
    ("", "PersistentVolume"): PersistentVolume,
    ("", "PersistentVolumeClaim"): PersistentVolumeClaim,
    ("storage.k8s.io", "StorageClass"): StorageClass,
    ("coordination.k8s.io", "Lease"): Lease,
    ("scheduling.k8s.io", "PriorityClass"): PriorityClass,
    ("policy", "PodDisruptionBudget"): PodDisruptionBudget,
    ("scheduling.k8s.io", "PodGroup"): PodGroup,
    ("scheduling.x-k8s.io", "PodGroup"): CoschedulingGroup,
    ("scheduling.volcano.sh", "PodGroup"): VolcanoGroup,
    ("nvsentinel.nvidia.com", "DrainRequest"): DrainRequest,
}

_WORDS = {
    "str": "text", "int": "a whole number", "float": "a number", "bool": "true or false",
    "object": "a mapping", "array": "a list", "null": "nothing", "datetime": "a time",
}  # fmt: skip


class _Head(msgspec.Struct):
    api_version: str = msgspec.field(name="apiVersion", default="")
    kind: str = ""


class Decoder:
    """Decodes the objects of this package and those of the structs it is given: job kinds bring their own."""

    def __init__(self, more: StructsByKind, problems: Mapping[type, ProblemsOf]) -> None:
        self._problems = problems
        self._structs = {**STRUCTS, **more}
        self.kinds = frozenset(kind for _, kind in self._structs)

    def decode(self, document: Mapping[str, object]) -> KubeObject:
        struct = self._struct_for(document)
        try:
            obj = msgspec.convert(document, struct)
        except msgspec.ValidationError:
            obj = _converted_without_nulls(document, struct)
        return self._checked(obj)

    def decode_json(self, data: bytes) -> KubeObject:
        """The same for JSON text. No plain dictionaries are made on the way."""
        try:
            head = msgspec.json.decode(data, type=_Head)
            struct = self._structs[head.api_version.rpartition("/")[0], head.kind]
            return self._checked(msgspec.json.decode(data, type=struct))
        except (KeyError, msgspec.ValidationError):
            document = msgspec.json.decode(data)
            if not isinstance(document, dict):
                raise BadObject("", "", "expected an object with apiVersion, kind and metadata") from None
            return self.decode(document)
        except msgspec.DecodeError as error:
            raise BadObject("", "", f"not JSON: {error}") from None

    def _checked(self, obj: KubeObject) -> KubeObject:
        return check(obj, self._problems.get(type(obj), no_problems))

    def _struct_for(self, document: Mapping[str, object]) -> type[KubeObject]:
        version, kind = document.get("apiVersion"), document.get("kind")
        if isinstance(version, str) and isinstance(kind, str):
            struct = self._structs.get((version.rpartition("/")[0], kind))
            if struct is not None:
                return struct
        name = _title(document)
        understood = ", ".join(sorted(self.kinds))
        if not isinstance(kind, str) or not kind:
            raise BadObject(name, "kind", f"is missing; understood are {understood}")
        groups = sorted(group or "core (v1)" for group, known in self._structs if known == kind)
        if not groups:
            raise BadObject(name, "kind", f"{kind!r} is not understood; understood are {understood}")
        of = f"{kind} is of the group {', '.join(groups)}"
        if not isinstance(version, str) or not version:
            raise BadObject(name, "apiVersion", f"is missing; {kind} is understood of the group {', '.join(groups)}")
        raise BadObject(name, "apiVersion", f"{version!r} is not understood; {of}")


def _title(document: Mapping[str, object]) -> str:
    kind, metadata = document.get("kind"), document.get("metadata")
    fields = metadata if isinstance(metadata, Mapping) else {}
    name = fields.get("name") or fields.get("generateName") or "without a name"
    return title(str(kind or "object"), str(fields.get("namespace") or "default"), str(name))


def _converted_without_nulls(document: Mapping[str, object], struct: type[KubeObject]) -> KubeObject:
    """Kubernetes takes null for absent; only documents with nulls pay for that here."""
    tidy = _without_nulls(document)
    try:
        return msgspec.convert(tidy, struct)
    except msgspec.ValidationError as error:
        field, problem = _explained(tidy, struct, str(error))
        raise BadObject(_title(document), field, problem) from None


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_without_nulls(item) for item in value]
    return value


def _explained(document: Any, struct: type[KubeObject], message: str) -> tuple[str, str]:
    """msgspec's "what - at `$.path`" as a Kubernetes field path and words."""
    what, _, where = message.partition(" - at ")
    if where.startswith("`key` in "):
        return _path(document, struct, where.removeprefix("`key` in ").strip("`")), "every key must be text; quote it"
    field = _path(document, struct, where.strip("`"))
    if missing := re.match(r"Object missing required field `(.+)`", what):
        return at(field, missing[1]), "is missing"
    if kinds := re.match(r"Expected `(.+)`, got `(.+)`", what):
        expected, got = kinds.groups()
        options = [_WORDS.get(kind, kind) for kind in expected.split(" | ") if kind != "null"]
        hint = "; put it in quotes" if options == ["text"] and got in ("int", "float", "bool", "datetime") else ""
        return field, f"must be {' or '.join(options)}, not {_WORDS.get(got, got)}{hint}"
    if "RFC3339" in what or "timezone" in what:
        return field, "is not a time; write it like 2026-01-31T12:00:00Z"
    return field, what[:1].lower() + what[1:]


def _path(document: Any, struct: type[KubeObject], path: str) -> str:
    """The field path. msgspec writes `[...]` for any entry of a mapping; we find it by leaving out the others."""
    field = ""
    for step in re.findall(r"\.([^.\[\]]+)|\[(\d+)\]|\[(\.\.\.)\]", path):
        name, index, anything = step
        if anything:
            field = at(field, _wrong_field(document, struct, field))
        else:
            field = at(field, name or int(index))
    return field


def _wrong_field(document: Any, struct: type[KubeObject], field: str) -> str:
    entries = _found(document, field)
    for key in list(entries):
        alone = _replaced(document, _steps(field), {key: entries[key]})
        try:
            msgspec.convert(alone, struct)
        except msgspec.ValidationError as error:
            if f"`$.{field}" in str(error) or "[...]" in str(error):
                return str(key)
    return "..."


def _steps(field: str) -> list[str | int]:
    found = re.findall(r"([^.\[\]]+)|\[(\d+)\]|\[([^\]]+)\]", field)
    return [name or key if not index else int(index) for name, index, key in found]


def _found(document: Any, field: str) -> dict[str, Any]:
    for step in _steps(field):
        document = document[step]
    return dict(document)


def _replaced(document: Any, steps: list[str | int], value: Any) -> Any:
    if not steps:
        return value
    copy: Any = dict(document) if isinstance(document, Mapping) else list(document)
    copy[steps[0]] = _replaced(copy[steps[0]], steps[1:], value)
    return copy
