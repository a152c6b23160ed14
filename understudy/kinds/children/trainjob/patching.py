"""What a TrainJob changes in its runtime's pods beyond the trainer itself: `runtimePatches`, and `podTemplateOverrides`
as they were called before, onto the replicated jobs of the template.
"""

from collections.abc import Iterator

import msgspec

from understudy.kinds.children.trainjob.merging import found, merged, replaced
from understudy.kinds.children.wanted import Document
from understudy.objects.errors import BadObject

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
