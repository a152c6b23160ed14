"""What a job kind means: turns a job object, and the pods that were seen of it, into a Gang.

`KINDS` says for each kind which places it wants filled, `LEVERS` how it is paused and ended. To add a kind, write its
file and name it in both (its struct is named in objects.decoding, its resource in objects.resources).
"""

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from msgspec.structs import replace

from understudy.kinds import (
    jaxjob,
    job,
    jobset,
    kueue,
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
from understudy.kinds.groups.definitions import Definition
from understudy.kinds.groups.forming import formed, under
from understudy.kinds.levers import Lever
from understudy.kinds.outlines import Outline
from understudy.kinds.ownership import owner_of
from understudy.kinds.sightings import Sighting, State, sighted
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
    "JobSet": lambda _: jobset.LEVER,
    "PyTorchJob": lambda _: pytorchjob.LEVER,
    "TFJob": lambda _: tfjob.LEVER,
    "XGBoostJob": lambda _: xgboostjob.LEVER,
    "PaddleJob": lambda _: paddlejob.LEVER,
    "JAXJob": lambda _: jaxjob.LEVER,
    "MPIJob": mpijob.lever,
    "TrainJob": lambda _: trainjob.LEVER,
}

__all__ = ["KINDS", "LEVERS", "Context", "Sighting", "gang_of", "lever_of", "owner_of", "sighted"]


NO_GROUPS: Mapping[str, Definition] = {}


def gang_of(
    obj: Workload,
    context: Context,
    seen: Sequence[Sighting] = (),
    groups: Mapping[str, Definition] = NO_GROUPS,
    done: Set[str] = frozenset(),
) -> Gang | None:
    """The gang of a job. None: it is finished, or wants no pods, and none of them is left.

    `groups` are those its pods are said to belong to, by island; `done` are places that its children say are done.
    """
    meta = obj.metadata
    created = seconds(meta.creation_timestamp) or 0.0
    notes = notes_of(meta.annotations, obj)
    if kueue.owns(meta):  # whatever was written there before Kueue got it: its suspend is not ours to take back
        notes = replace(notes, requeued=False)
    outline, pods = kueue.constrained(KINDS[obj.kind](obj, context, seen), seen)
    if groups:
        outline, pods = under(outline, pods, groups)
    gang = assembled(Head(obj.kind, meta.namespace, meta.name, created, notes), outline, pods, context, done)
    if gang is None or not groups:
        return gang
    ended = max(sum(s.state is State.DONE for s in seen), getattr(obj.status, "succeeded", 0))
    for definition in {d.title: d for d in groups.values()}.values():
        gang = formed(gang, definition, gang.size + ended, f"{obj.title} has {gang.size + ended}")
    return gang


def lever_of(obj: Workload) -> Lever:
    """A job that Kueue queues cannot be paused: Kueue would let it go on at once, since it admitted it."""
    lever = LEVERS[obj.kind](obj)
    return replace(lever, pause=()) if lever.pause and kueue.owns(obj.metadata) else lever
