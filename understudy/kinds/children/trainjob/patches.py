"""What a TrainJob changes in its runtime's pods beyond the trainer: patches, merged as Kubernetes merges them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from understudy.kinds.children.actions import Document
from understudy.objects.errors import BadObject

# The lists of a pod whose entries have a name of their own, and the field that is the name.
_NAMED = {
    "containers": "name",
    "initContainers": "name",
    "volumes": "name",
    "env": "name",
    "imagePullSecrets": "name",
    "schedulingGates": "name",
    "volumeMounts": "mountPath",
}


# An entry may be of one sort only (a value or a reference, one source of files): of two sorts the newer counts.
_EXCHANGED = frozenset({"env", "volumes"})


def merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> Document:
    """Both, the newer where they differ."""
    result = dict(old)
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            result[key] = merged(before, value)
        elif key in _NAMED and isinstance(value, list):
            result[key] = merged_list(key, before or [], value)
        elif value is not None:
            result[key] = value
    return result


def merged_list(key: str, old: Sequence[Document], new: Sequence[Document]) -> list[Document]:
    """In the order of the old ones, what is new behind them."""
    name = _NAMED[key]
    result = {each.get(name): each for each in old}
    for each in new:
        before = result.get(each.get(name))
        result[each.get(name)] = each if before is None or key in _EXCHANGED else merged(before, each)
    return list(result.values())


def found(document: Mapping[str, Any] | None, *path: str) -> Document:
    """The mapping at the end of a path; empty where there is none."""
    place: Any = document
    for part in path:
        place = (place or {}).get(part)
    return place or {}


def replaced(document: Mapping[str, Any], path: Sequence[str], value: Any) -> Document:
    """A copy with another value at the end of a path."""
    first, *rest = path
    return {**document, first: replaced(document.get(first) or {}, rest, value) if rest else value}


POD = ("template", "spec", "template", "spec")


# The environment of these is written elsewhere in the job.
_DRESSED = {
    "node": "spec.trainer.env",
    "dataset-initializer": "spec.initializer.dataset.env",
    "model-initializer": "spec.initializer.model.env",
}


class _Patch(msgspec.Struct, frozen=True):
    field: str  # where in the job it stands
    job: str  # the replicated job it is for
    template: Document  # of that job


def patched(groups: list[Document], spec: Document, title: str) -> list[Document]:
    """The replicated jobs with all patches of the job, in their order."""
    by_name = {group["name"]: group for group in groups}
    for patch in _patches(spec):
        group = by_name.get(patch.job)
        if group is None:
            known = ", ".join(by_name)
            raise BadObject(title, patch.field, f"its runtime has no replicated job {patch.job!r}; there are: {known}")
        _check(group, patch, title)
        by_name[patch.job] = replaced(group, ("template",), merged(found(group, "template"), patch.template))
    return list(by_name.values())


def patched_metadata(spec: Document, part: str) -> dict[str, str]:
    """The labels or annotations that the job wants on its JobSet."""
    wanted = dict(spec.get(part) or {})
    for patch in spec.get("runtimePatches") or ():
        wanted |= found(patch, "trainingRuntimeSpec", "template", "metadata").get(part) or {}
    return wanted


def _patches(spec: Document) -> Iterator[_Patch]:
    for i, override in enumerate(spec.get("podTemplateOverrides") or ()):
        pods = {key: override[key] for key in ("metadata", "spec") if override.get(key)}
        for target in override.get("targetJobs") or ():
            yield _Patch(f"spec.podTemplateOverrides[{i}]", target["name"], {"spec": {"template": pods}})
    for i, patch in enumerate(spec.get("runtimePatches") or ()):
        for group in found(patch, "trainingRuntimeSpec", "template", "spec").get("replicatedJobs") or ():
            yield _Patch(f"spec.runtimePatches[{i}]", group["name"], group.get("template") or {})


def _check(group: Document, patch: _Patch, title: str) -> None:
    """Containers are changed by patches, and never added."""
    pod = found(patch.template, *POD[1:])
    for kind in ("containers", "initContainers"):
        known = [each["name"] for each in found(group, *POD).get(kind) or ()]
        for container in pod.get(kind) or ():
            name = container["name"]
            if name not in known:
                there = ", ".join(known) or "none"
                words = f"replicated job {patch.job!r} has no {name!r} among its {kind}; there are: {there}"
                raise BadObject(title, patch.field, words)
            if container.get("env") and name in _DRESSED:
                raise BadObject(title, patch.field, f"the env of container {name!r} is written in {_DRESSED[name]}")
