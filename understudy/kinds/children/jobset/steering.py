"""What a JobSet's templates say of the places of its pods, once they differ from those of its Jobs: a patch.

Clients such as Kueue change the templates of a suspended JobSet together with the patch that resumes it.
"""

from collections.abc import Mapping, Sequence

from understudy.kinds.children.actions import Document, PatchChild
from understudy.kinds.children.partial_objects import PartialJob
from understudy.objects.resources import JOBS

_MAPS = (("metadata", "labels"), ("metadata", "annotations"), ("spec", "nodeSelector"))
_LISTS = ("tolerations", "schedulingGates")


def resumption(job: PartialJob, template: Document) -> PatchChild:
    """The next step by which a suspended Job goes on. The template of a Job that has run before may change only once
    its startTime is removed, as JobSet's own controller does it."""
    about: Document = {"uid": job.metadata.uid}
    change = _template_change(job, template)
    if change and job.status.start_time is not None:
        return PatchChild(JOBS, job.metadata.name, {"metadata": about, "status": {"startTime": None}}, sub="status")
    spec: Document = {"suspend": False, **({"template": change} if change else {})}
    return PatchChild(JOBS, job.metadata.name, {"metadata": about, "spec": spec})


def _template_change(job: PartialJob, template: Document) -> Document:
    """A merge patch. What others have added to the Job stays."""
    current = job.spec.template
    change: Document = {}
    for part, name in _MAPS:
        wanted: Mapping[str, str] = (template.get(part) or {}).get(name) or {}
        before: Mapping[str, str] = (current.get(part) or {}).get(name) or {}
        if new := {key: value for key, value in wanted.items() if before.get(key) != value}:
            change.setdefault(part, {})[name] = new
    for name in _LISTS:
        listed: Sequence[Document] = (template.get("spec") or {}).get(name) or ()
        there: Sequence[Document] = (current.get("spec") or {}).get(name) or ()
        if added := [item for item in listed if item not in there]:
            change.setdefault("spec", {})[name] = [*there, *added]
    return change
