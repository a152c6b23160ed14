"""What a job kind means: turns a job object, and the pods that were seen of it, into a Gang.

`KINDS` says for each kind which places it wants filled. To add a kind, write its file and name it here (its struct is
named in objects.decoding).
"""

from collections.abc import Callable, Sequence
from typing import Any

from understudy.kinds import (
    jaxjob,
    job,
    jobset,
    mpijob,
    paddlejob,
    pytorchjob,
    tfjob,
    trainjob,
    xgboostjob,
)
from understudy.kinds.annotations import NO_NOTES, notes_of
from understudy.kinds.assembling import Head, assembled
from understudy.kinds.context import Context
from understudy.kinds.outlines import Outline
from understudy.kinds.ownership import owner_of
from understudy.kinds.pod import gang_of_one
from understudy.kinds.sightings import Sighting, State, sighted
from understudy.model.gangs import Gang
from understudy.objects.jobs import Job, Workload
from understudy.objects.meta import seconds

OutlineOf = Callable[[Any, Context, Sequence[Sighting]], Outline]

KINDS: dict[str, OutlineOf] = {
    "Job": lambda obj, _, seen: job.outline(obj, seen),
    "JobSet": lambda obj, *_: jobset.outline(obj),
    "PyTorchJob": lambda obj, *_: pytorchjob.outline(obj),
    "TFJob": lambda obj, *_: tfjob.outline(obj),
    "XGBoostJob": lambda obj, *_: xgboostjob.outline(obj),
    "PaddleJob": lambda obj, *_: paddlejob.outline(obj),
    "JAXJob": lambda obj, *_: jaxjob.outline(obj),
    "MPIJob": lambda obj, *_: mpijob.outline(obj),
    "TrainJob": lambda obj, context, _: trainjob.outline(obj, context),
}

__all__ = ["KINDS", "Context", "Sighting", "gang_of", "head_of", "owner_of", "sighted"]


def gang_of(obj: Workload, context: Context, seen: Sequence[Sighting] = ()) -> Gang | None:
    """The gang of a job. None: it is finished, or wants no pods, and none of them is left."""
    if len(seen) == 1 and isinstance(obj, Job) and _is_plain_single(obj, seen[0]):
        return gang_of_one(head_of(obj), seen[0])
    return assembled(head_of(obj), KINDS[obj.kind](obj, context, seen), seen, context)


def _is_plain_single(obj: Job, pod: Sighting) -> bool:
    spec = obj.spec
    return (
        pod.state is State.LIVE
        and not obj.metadata.annotations
        and not spec.suspend
        and spec.parallelism in (None, 1)
        and spec.completions in (None, 1)
        and not job.finished(obj)
    )


def head_of(obj: Workload) -> Head:
    meta = obj.metadata
    return Head(
        kind=obj.kind,
        namespace=meta.namespace,
        name=meta.name,
        title=obj.title,
        queued_at=seconds(meta.creation_timestamp) or 0.0,
        notes=notes_of(meta.annotations, obj.title) if meta.annotations else NO_NOTES,
    )
