"""What a job kind means: turns a job object, and the pods that were seen of it, into a Gang.

`KINDS` says for each kind which places it wants filled, `LEVERS` how it is paused and ended. To add a kind, write its
file and name it in both (its struct is named in objects.decoding, its resource in objects.resources).
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
from understudy.kinds.annotations import notes_of
from understudy.kinds.assembling import Head, assembled
from understudy.kinds.context import Context
from understudy.kinds.levers import Lever
from understudy.kinds.outlines import Outline
from understudy.kinds.ownership import owner_of
from understudy.kinds.sightings import Sighting, sighted
from understudy.model.gangs import Gang
from understudy.objects.jobs import Workload
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

LEVERS: dict[str, Callable[[Any], Lever]] = {
    "Job": lambda _: job.LEVER,
    "JobSet": jobset.lever,
    "PyTorchJob": lambda _: pytorchjob.LEVER,
    "TFJob": lambda _: tfjob.LEVER,
    "XGBoostJob": lambda _: xgboostjob.LEVER,
    "PaddleJob": lambda _: paddlejob.LEVER,
    "JAXJob": lambda _: jaxjob.LEVER,
    "MPIJob": mpijob.lever,
    "TrainJob": lambda _: trainjob.LEVER,
}

__all__ = ["KINDS", "LEVERS", "Context", "Sighting", "gang_of", "lever_of", "owner_of", "sighted"]


def gang_of(obj: Workload, context: Context, seen: Sequence[Sighting] = ()) -> Gang | None:
    """The gang of a job. None: it is finished, or wants no pods, and none of them is left."""
    meta = obj.metadata
    created = seconds(meta.creation_timestamp) or 0.0
    head = Head(obj.kind, meta.namespace, meta.name, created, notes_of(meta.annotations, obj))
    return assembled(head, KINDS[obj.kind](obj, context, seen), seen, context)


def lever_of(obj: Workload) -> Lever:
    return LEVERS[obj.kind](obj)
